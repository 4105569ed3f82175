package ask

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/canonical"
)

// madeBy marks the runs of this package in their metadata.
const madeBy = "holdpoint agent call"

// ErrForeign means that the run is not one of this package, or what was decided on it is not what was
// asked.
var ErrForeign = errors.New("what was decided is not what was asked")

// Asker asks on behalf of one agent. It may be used by several goroutines at once.
type Asker struct {
	Client *client.Client
	// AgentID names the agent to the people who decide.
	AgentID string
	// Patience is how long a wait goes on while the service does not answer; 10 minutes
	// when 0. It begins anew with each answer.
	Patience time.Duration
	// Lease is for how long a process may be silent about what it holds; 15 seconds when 0.
	Lease time.Duration
}

// Call is what a person is asked: one of Approval and Question.
type Call struct {
	// SessionID is the session that it belongs to; one of its own when empty.
	SessionID string
	// Key makes the call repeatable while its decision was not read: the same call with the same
	// key in the same session finds the same request. Another call, and one after the decision was
	// read, asks anew. A call without a key is never found again.
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
	// Spent: the decision had been read before. It does not allow another call.
	Spent bool
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
	// Asker tells the process that made the run from one that repeats the call.
	Asker string `json:"asker"`
}

// Raised is a call that is before people.
type Raised struct {
	RunID string
	// Joined: an earlier call with the key had asked already.
	Joined bool
	// fence is set while this process holds the run.
	fence string
}

// Raise puts a call before people and returns its run, or finds the run of an earlier call with
// the same key that nobody has read the decision of. It does not wait, and what it raised stays
// open when this process ends. Errors: those of [client.Client.CreateRun].
func (a *Asker) Raise(ctx context.Context, call Call) (*Raised, error) {
	return a.raise(ctx, call, 0)
}

// raise raises a call, held with a lease unless that is 0.
func (a *Asker) raise(ctx context.Context, call Call, lease time.Duration) (*Raised, error) {
	digest, err := digestOfCall(call)
	if err != nil {
		return nil, err
	}
	mine := identity{MadeBy: madeBy, Digest: digest, Asker: rand.Text()}
	for generation := 0; ; {
		params, err := a.paramsOf(call, mine, generation, lease)
		if err != nil {
			return nil, err
		}
		created, err := a.Client.CreateRun(ctx, params)
		switch {
		case err == nil:
			raised := &Raised{RunID: params.RunID}
			if created.Claim != nil { // nil after a lost reply, when the lease has lapsed meanwhile
				raised.fence = created.Claim.Lease.Fence
			}
			return raised, nil
		case !errors.Is(err, client.ErrIDConflict) || call.Key == "":
			return &Raised{RunID: params.RunID}, err
		}
		// What decides nothing, such as the deadline, may differ: the first call stands.
		next, joined, err := a.unspent(ctx, call, mine, generation)
		if err != nil {
			return nil, err
		}
		if joined {
			return &Raised{RunID: runIDOf(call, mine, next), Joined: true}, nil
		}
		generation = next
	}
}

// unspent returns the first generation of a call, after one that exists, whose decision nobody has
// read: of a run that is joined, or of one that is to be made. A generation is made only after the
// one before it was spent, so the search doubles its steps and then halves them.
func (a *Asker) unspent(ctx context.Context, call Call, mine identity, from int) (generation int, joined bool, err error) {
	spent, step := from-1, 1
	for {
		state, err := a.generation(ctx, runIDOf(call, mine, spent+step), mine)
		if state == generationNone && spent+step == from {
			state = generationSpent // it is there, for somebody else to read
		}
		switch {
		case err != nil:
			return 0, false, err
		case state == generationOpen:
			return spent + step, true, nil
		case state == generationSpent:
			spent, step = spent+step, 2*step
			continue
		}
		if step == 1 {
			return spent + 1, false, nil
		}
		step = 1
	}
}

// The states of a generation of a call.
const (
	generationNone = iota
	generationOpen
	generationSpent
)

// generation returns how a generation of a call stands. A run of somebody else counts as spent.
func (a *Asker) generation(ctx context.Context, runID string, mine identity) (int, error) {
	run, err := a.Client.GetRun(ctx, runID)
	switch {
	case errors.Is(err, client.ErrNotFound):
		return generationNone, nil
	case err != nil:
		return 0, err
	case over(run.Status) || identityOf(run).Digest != mine.Digest:
		return generationSpent, nil
	default:
		return generationOpen, nil
	}
}

// paramsOf returns the run of a call, which waits from its first moment.
func (a *Asker) paramsOf(call Call, mine identity, generation int, lease time.Duration) (client.CreateRunParams, error) {
	runID := runIDOf(call, mine, generation)
	suspension, err := suspensionOf(call, strings.TrimPrefix(runID, runPrefix))
	if err != nil {
		return client.CreateRunParams{}, err
	}
	params := client.CreateRunParams{
		SessionID: call.SessionID, RunID: runID, Kind: api.KindCall, AgentID: a.AgentID, Metadata: mine,
		Input: summaryOf(call), SourcePlugin: "holdpoint", SourceKind: "agent_call", Suspend: &suspension,
	}
	if params.SessionID == "" {
		params.SessionID = params.RunID
		if call.Key != "" {
			params.SessionID = runIDOf(call, mine, 0)
		}
	}
	if lease > 0 {
		params.Claim = &api.ClaimOptions{WorkerID: workerID(), LeaseMs: lease.Milliseconds()}
		suspension.Hold, suspension.CancelWhenAbandoned = true, true
	}
	return params, nil
}

// summaryOf is the input of a run, for the lists that show runs.
func summaryOf(call Call) string {
	if call.Approval != nil {
		return call.Approval.ToolName
	}
	for _, question := range call.Question.Questions {
		return question.Question
	}
	return "question"
}

// runPrefix begins the id of every call's run.
const runPrefix = "call-"

// runIDOf returns the id of a generation of a call. Another call with the key has another id.
func runIDOf(call Call, mine identity, generation int) string {
	if call.Key == "" {
		return runPrefix + hexOf([]byte(mine.Asker))
	}
	kind := "approval"
	if call.Question != nil {
		kind = "question"
	}
	return runPrefix + hexOf([]byte(strings.Join([]string{kind, call.SessionID, call.Key, mine.Digest, strconv.Itoa(generation)}, "\x00")))
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

// digestOfCall returns the digest of a call that is to be raised.
func digestOfCall(call Call) (string, error) {
	switch {
	case call.Approval != nil && call.Question == nil:
		return digestOf([]api.ApprovalRequest{*call.Approval}, nil)
	case call.Question != nil && call.Approval == nil:
		return digestOf(nil, []api.UserQuestionRequest{*call.Question})
	default:
		return "", fmt.Errorf("%w: a call is an approval or a question", client.ErrInvalid)
	}
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
		same = map[string]any{"questions": asked, "metadata": questions[0].Metadata}
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
