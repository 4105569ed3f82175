package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
)

// unsignedError is why an allow does not count.
type unsignedError struct{ error }

func (e unsignedError) Error() string { return "nothing was allowed: " + e.error.Error() }
func (e unsignedError) Unwrap() error { return e.error }

// onlySigned returns what an allow or an answer permits if one of the keys of --signed-by signed it: for
// this run, this tool, and the input that the agent will run, or the answer to the agent's own question.
// Another service at the same address, or something between the hook and the service, cannot allow or
// answer anything then. Errors: unsignedError.
func (c *HookRun) onlySigned(ctx context.Context, opened *client.Client, asked hookInput, answer *ask.Answer) (mcptools.Permission, error) {
	decided := mcptools.PermissionOf(answer, nil)
	if len(c.SignedBy) == 0 || decided.Behavior != api.BehaviorAllow {
		return decided, nil
	}
	var err error
	if mcptools.AsksQuestion(asked.ToolName) {
		answer, err = c.ownAnswer(ctx, opened, asked, answer)
		decided = mcptools.PermissionOf(answer, nil)
	} else {
		err = c.verify(ctx, opened, asked, answer, decided.UpdatedInput)
	}
	if err != nil {
		return mcptools.Permission{}, unsignedError{err}
	}
	return decided, nil
}

// decideSigned is decide with --signed-by: it permits what was checked while the decision was unread, so
// that a refused one is not used up.
func (c *HookRun) decideSigned(ctx context.Context, opened *client.Client, asker *ask.Asker, asked hookInput, until time.Time, terminal *console.Console) (mcptools.Permission, error) {
	checked := map[string]mcptools.Permission{} // by run
	asker.WithGrants = true
	asker.Check = func(ctx context.Context, answer *ask.Answer) (err error) {
		checked[answer.RunID], err = c.onlySigned(ctx, opened, asked, answer)
		return err
	}
	answer, decided, err := c.decide(ctx, asker, asked, until, terminal)
	if unsigned, is := errors.AsType[unsignedError](err); is {
		return mcptools.Permission{Behavior: api.BehaviorDeny, Message: unsigned.Error()}, err
	}
	if decided.Behavior == api.BehaviorAllow {
		if decided = checked[answer.RunID]; decided.Behavior != api.BehaviorAllow {
			return mcptools.Permission{Behavior: api.BehaviorDeny, Message: unsignedError{errUnchecked}.Error()}, err
		}
	}
	return decided, err
}

// errUnchecked: a decision counts as read that this process has not checked.
var errUnchecked = errors.New("the decision was not checked")

// ownAnswer returns the signed answer to the question as the agent asked it, instead of as the service
// repeats both.
func (c *HookRun) ownAnswer(ctx context.Context, opened *client.Client, asked hookInput, answer *ask.Answer) (*ask.Answer, error) {
	own := *answer
	call, err := mcptools.CallOf(ask.Call{Approval: &api.ApprovalRequest{ToolName: asked.ToolName, Input: asked.ToolInput}}, "")
	switch {
	case err != nil:
		return &own, err
	case call.Question == nil || answer.Outcome != api.OutcomeAnswered:
		return &own, errNotAnswered
	}
	keys, err := pinned(ctx, opened, c.SignedBy)
	switch {
	case err != nil:
		return &own, fmt.Errorf("the service's keys: %w", err)
	case answer.Signed == nil || answer.Signed.Signature == "":
		return &own, errors.New("the service sent no signed answer")
	}
	claims, err := client.VerifyAnswer(keys.known, answer.Signed)
	if err != nil {
		if _, other := client.VerifyAnswer(keys.others, answer.Signed); other == nil {
			return &own, errOtherKey
		}
	}
	switch {
	case errors.Is(err, client.ErrAnswerExpired):
		return &own, fmt.Errorf("%w; %s", err, compareClocks)
	case err != nil:
		return &own, err
	case claims.Sub != answer.RunID || claims.Aud != c.Agent || claims.RequestID != answer.RequestID:
		return &own, errors.New("the signed answer is for another call")
	}
	own.Question, own.Resolution.Answers, own.Resolution.ResolvedBy = call.Question, nil, claims.ResolvedBy
	for _, given := range answer.Signed.Answers {
		if !answers(call.Question, given) {
			return &own, errors.New("the signed answer is for another question")
		}
		own.Resolution.Answers = append(own.Resolution.Answers, api.UserQuestionAnswer{
			QuestionID: given.QuestionID, SelectedOptionIDs: given.SelectedOptionIDs, FreeformAnswer: given.FreeformAnswer,
		})
	}
	return &own, nil
}

// answers reports whether the person who gave an answer saw these questions and options.
func answers(own *api.UserQuestionRequest, given api.LabelledAnswer) bool {
	at := slices.IndexFunc(own.Questions, func(one api.UserQuestion) bool { return one.ID == given.QuestionID })
	if at < 0 || own.Questions[at].Question != given.Question || len(given.SelectedOptionIDs) != len(given.SelectedOptions) {
		return false
	}
	for i, selected := range given.SelectedOptions {
		if selected.ID != given.SelectedOptionIDs[i] || !slices.ContainsFunc(own.Questions[at].Options, func(one api.QuestionOption) bool {
			return one.ID == selected.ID && one.Label == selected.Label && one.Description == selected.Description
		}) {
			return false
		}
	}
	return true
}

// errNotAnswered: the service allowed a question tool without an answer.
var errNotAnswered = errors.New("the service sent no answer to the question")

// errNoPinnedKey says what to do after the service has changed its key.
var errNoPinnedKey = errors.New("the service has none of the keys that this hook was installed with: if it has a new one, run hook install again")

// errOtherKey says the same when the service still shows the old key next to the new one.
var errOtherKey = errors.New("the service signs with a key that this hook was not installed with: if it has a new one, run hook install again")

// compareClocks says what to do when a new signature has expired.
const compareClocks = "compare the clocks of this machine and the service's"

func (c *HookRun) verify(ctx context.Context, opened *client.Client, asked hookInput, answer *ask.Answer, input api.JSON) error {
	keys, err := pinned(ctx, opened, c.SignedBy)
	switch {
	case err != nil:
		return fmt.Errorf("the service's keys: %w", err)
	case answer.Grant == "":
		return errors.New("the service sent no signed grant")
	}
	claims, err := client.VerifyGrant(keys.known, answer.Grant, asked.ToolName, input)
	if err != nil {
		if _, other := client.VerifyGrant(keys.others, answer.Grant, asked.ToolName, input); other == nil {
			return errOtherKey
		}
	}
	switch {
	case errors.Is(err, client.ErrGrantExpired):
		return fmt.Errorf("%w; %s", err, compareClocks)
	case err != nil:
		return err
	case claims.Sub != answer.RunID || claims.Aud != c.Agent:
		return errors.New("the grant is for another call")
	}
	return nil
}

// keysOf are the public keys of a service.
type keysOf struct {
	// known are those that a hook was installed with.
	known, others api.KeySet
	// newer reports that the service's newest key is not known.
	newer bool
}

// pinned reads the service's public keys. An id is the thumbprint of its key, so the service cannot show
// another key under it.
func pinned(ctx context.Context, opened *client.Client, ids []string) (keys keysOf, err error) {
	read, err := opened.Keys(ctx)
	if err != nil {
		return keys, err
	}
	checked, err := signing.NewPublic(*read)
	if err != nil {
		return keys, err
	}
	for i, key := range checked.Set().Keys { // the newest is the first
		if slices.Contains(ids, key.Kid) {
			keys.known.Keys = append(keys.known.Keys, key)
			continue
		}
		keys.others.Keys = append(keys.others.Keys, key)
		keys.newer = keys.newer || i == 0
	}
	if len(keys.known.Keys) == 0 {
		return keys, errNoPinnedKey
	}
	return keys, nil
}
