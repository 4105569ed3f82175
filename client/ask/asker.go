package ask

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/canonical"
)

// madeBy marks the runs of this package in their metadata. Any process that asks in the
// same session may carry them on.
const madeBy = "holdpoint agent call"

// Errors of this package, besides those of the client.
var (
	// ErrKeyUsed: the key stands for another call of this session.
	ErrKeyUsed = errors.New("the key was used for a different call")
	// ErrForeign: the run is not one of this package, or what was decided on it is not what
	// was asked.
	ErrForeign = errors.New("what was decided is not what was asked")
)

// Asker asks on behalf of one agent. It may be used by several goroutines at once.
type Asker struct {
	Client *client.Client
	// AgentID names the agent to the people who decide.
	AgentID string
	// Patience is how long a wait goes on while the service does not answer; 10 minutes
	// when 0. It begins anew with each answer.
	Patience time.Duration
	// Lease is for how long a process of [Asker.Once] may be silent; 15 seconds when 0.
	Lease time.Duration
}

// Call is what a person is asked: one of Approval and Question.
type Call struct {
	// SessionID is the session that it belongs to; one of its own when empty.
	SessionID string
	// Key makes the call repeatable: the same key in the same session is the same call. One
	// that can never be repeated is made when it is empty.
	Key string
	// Approval and Question need no ID; it is made from the key.
	Approval *api.ApprovalRequest
	Question *api.UserQuestionRequest
}

// Answer is what became of a call.
type Answer struct {
	// Run is as it was read.
	Run       *api.RunView
	RunID     string
	RequestID string
	// Outcome is empty while nobody has decided.
	Outcome api.Outcome
	// Approval and Question are what was put before the person, as it is on record.
	Approval *api.ApprovalRequest
	Question *api.UserQuestionRequest
	// Resolution is what was recorded. It is empty while nobody has decided, and when the run
	// was ended without a decision.
	Resolution api.Resolution
	// Ended says how the run was ended when that was not by a decision.
	Ended api.Status
}

// Allowed returns the input that a person or a rule allowed: as it was asked, or as it was
// edited. It reports false for every other outcome.
func (a *Answer) Allowed() (input api.JSON, edited, allowed bool) {
	if a.Approval == nil || a.Outcome != api.OutcomeAllowed || a.Resolution.Behavior != api.BehaviorAllow {
		return nil, false, false
	}
	if a.Resolution.UpdatedInput != nil {
		return a.Resolution.UpdatedInput, true, true
	}
	return a.Approval.Input, false, true
}

// identity is how a later call with the same key knows whether it is the same one.
type identity struct {
	MadeBy string `json:"made_by"`
	Digest string `json:"digest"`
}

// input is the input of a run: all that any process needs to carry it on.
type input struct {
	Suspend api.Suspension `json:"suspend"`
}

// Raise puts a call before people and returns its run, or finds the run of an earlier
// call with the same key. It does not wait. Errors: [ErrKeyUsed], and those of
// [client.Client.CreateRun].
func (a *Asker) Raise(ctx context.Context, call Call) (runID string, err error) {
	params, err := a.paramsOf(call)
	if err != nil {
		return "", err
	}
	runID = params.RunID
	_, err = a.Client.CreateRun(ctx, params)
	if errors.Is(err, client.ErrRunNotClaimable) {
		// The session has another run. This one queues behind it and asks in its turn.
		params.Suspend = nil
		_, err = a.Client.CreateRun(ctx, params)
	}
	if !errors.Is(err, client.ErrIDConflict) {
		return runID, err
	}
	// What decides nothing, such as the deadline, may differ: the first call stands.
	found, err := a.Client.GetRun(ctx, runID)
	if err != nil {
		return "", err
	}
	if identityOf(found) != params.Metadata {
		return "", fmt.Errorf("%w: run %s", ErrKeyUsed, runID)
	}
	return runID, nil
}

// paramsOf returns the run of a call, which waits from its first moment.
func (a *Asker) paramsOf(call Call) (client.CreateRunParams, error) {
	suffix := suffixOf(call)
	suspension, err := suspensionOf(call, suffix)
	if err != nil {
		return client.CreateRunParams{}, err
	}
	mine := identity{MadeBy: madeBy}
	if mine.Digest, err = digestOf(suspension.Approvals, suspension.Questions); err != nil {
		return client.CreateRunParams{}, err
	}
	params := client.CreateRunParams{
		SessionID: call.SessionID, RunID: "call-" + suffix, AgentID: a.AgentID, Metadata: mine,
		Input: input{suspension}, SourcePlugin: "holdpoint", SourceKind: "agent_call", Suspend: &suspension,
	}
	if params.SessionID == "" {
		params.SessionID = params.RunID
	}
	return params, nil
}

// suffixOf returns what tells the ids of a call from those of all others.
func suffixOf(call Call) string {
	if call.Key == "" {
		return hexOf([]byte(rand.Text()))
	}
	kind := "approval"
	if call.Question != nil {
		kind = "question"
	}
	return hexOf([]byte(kind + "\x00" + call.SessionID + "\x00" + call.Key))
}

func hexOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// suspensionOf returns the call as it is raised.
func suspensionOf(call Call, suffix string) (api.Suspension, error) {
	raised := api.Suspension{SuspensionID: "call-" + suffix}
	switch {
	case call.Approval != nil && call.Question == nil:
		request := *call.Approval
		request.ID = "approval-" + suffix[:10]
		if request.ToolCallID == "" {
			request.ToolCallID = request.ID
		}
		raised.Approvals = []api.ApprovalRequest{request}
	case call.Question != nil && call.Approval == nil:
		request := *call.Question
		request.ID = "question-" + suffix[:10]
		if request.ToolCallID == "" {
			request.ToolCallID = request.ID
		}
		raised.Questions = []api.UserQuestionRequest{request}
	default:
		return raised, fmt.Errorf("%w: a call is an approval or a question", client.ErrInvalid)
	}
	return raised, nil
}

// digestOf returns the digest of what two calls with one key must agree on, and what a
// decision must have been about.
func digestOf(approvals []api.ApprovalRequest, questions []api.UserQuestionRequest) (string, error) {
	if len(approvals)+len(questions) != 1 {
		return "", ErrForeign
	}
	var same any
	if len(approvals) == 1 {
		same = map[string]any{"tool_name": approvals[0].ToolName, "input": approvals[0].Input}
	} else {
		type shown struct {
			Question string   `json:"question"`
			Options  []string `json:"options"`
			Multi    bool     `json:"multi_select"`
		}
		asked := []shown{}
		for _, one := range questions[0].Questions {
			entry := shown{Question: one.Question, Multi: one.MultiSelect}
			for _, option := range one.Options {
				entry.Options = append(entry.Options, option.Label)
			}
			asked = append(asked, entry)
		}
		same = asked
	}
	text, err := json.Marshal(same)
	if err == nil {
		text, err = canonical.Text(text)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// identityOf reads a run's metadata; the zero value for a run of others.
func identityOf(run *api.RunView) identity {
	var read identity
	if json.Unmarshal(run.Metadata, &read) != nil || read.MadeBy != madeBy {
		return identity{}
	}
	return read
}

// Withdraw cancels a call that nobody waits for any more. One that was decided meanwhile
// stays decided.
func (a *Asker) Withdraw(ctx context.Context, runID, reason string) error {
	_, err := a.Client.CancelRun(ctx, runID, reason)
	return err
}
