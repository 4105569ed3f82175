package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
)

// onlySigned turns an allow into a denial unless one of the keys of --signed-by signed it: for this
// run, this tool, and the input that the agent will run. Another service at the same address, or
// something between the hook and the service, cannot allow anything then.
//
// An answer to a question tool is not signed. A question tool may only get an answer to the question that
// the agent asked, and nothing else of its input changes: no other service can put words into the question.
func (c *HookRun) onlySigned(ctx context.Context, opened *client.Client, asked hookInput, answer *ask.Answer, decided mcptools.Permission) mcptools.Permission {
	switch {
	case len(c.SignedBy) == 0 || decided.Behavior != api.BehaviorAllow:
		return decided
	case mcptools.AsksQuestion(asked.ToolName):
		return ownAnswer(asked, answer)
	}
	if err := c.verify(ctx, opened, asked, answer, decided.UpdatedInput); err != nil {
		return mcptools.Permission{Behavior: api.BehaviorDeny, Message: "nothing was allowed: " + err.Error()}
	}
	return decided
}

// ownAnswer returns the permission for an answer, with the questions as the agent asked them instead of as
// the service repeats them.
func ownAnswer(asked hookInput, answer *ask.Answer) mcptools.Permission {
	call, err := mcptools.CallOf(ask.Call{Approval: &api.ApprovalRequest{ToolName: asked.ToolName, Input: asked.ToolInput}}, "")
	if err == nil && (call.Question == nil || answer.Outcome != api.OutcomeAnswered) {
		err = errNotAnswered
	}
	if err != nil {
		return mcptools.Permission{Behavior: api.BehaviorDeny, Message: "nothing was allowed: " + err.Error()}
	}
	own := *answer
	own.Question = call.Question
	return mcptools.PermissionOf(&own, nil)
}

// errNotAnswered: the service allowed a question tool without an answer.
var errNotAnswered = errors.New("the service sent no answer to the question")

// errNoPinnedKey says what to do after the service has changed its key.
var errNoPinnedKey = errors.New("the service has none of the keys that this hook was installed with: if it has a new one, run hook install again")

func (c *HookRun) verify(ctx context.Context, opened *client.Client, asked hookInput, answer *ask.Answer, input api.JSON) error {
	keys, err := pinned(ctx, opened, c.SignedBy)
	switch {
	case err != nil:
		return fmt.Errorf("the service's keys: %w", err)
	case answer.Grant == "":
		return errors.New("the service sent no signed grant")
	}
	claims, err := client.VerifyGrant(keys, answer.Grant, asked.ToolName, input)
	switch {
	case errors.Is(err, client.ErrGrantExpired):
		return fmt.Errorf("%w; compare the clocks of this machine and the service's", err)
	case err != nil:
		return err
	case claims.Sub != answer.RunID || claims.Aud != c.Agent:
		return errors.New("the grant is for another call")
	}
	return nil
}

// pinned reads the service's public keys and returns those with the given ids. An id is the
// thumbprint of its key, so the service cannot show another key under it.
func pinned(ctx context.Context, opened *client.Client, ids []string) (api.KeySet, error) {
	read, err := opened.Keys(ctx)
	if err != nil {
		return api.KeySet{}, err
	}
	checked, err := signing.NewPublic(*read)
	if err != nil {
		return api.KeySet{}, err
	}
	keys := checked.Set().Keys
	keys = slices.DeleteFunc(keys, func(key api.PublicKey) bool { return !slices.Contains(ids, key.Kid) })
	if len(keys) == 0 {
		return api.KeySet{}, errNoPinnedKey
	}
	return api.KeySet{Keys: keys}, nil
}
