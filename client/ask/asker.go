package ask

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// madeBy marks this package's runs in their metadata.
const madeBy = "holdpoint agent call"

// ErrForeign means that the run was not made by this package, or that the decision on it is
// about a different request.
var ErrForeign = errors.New("the decision is not about this request")

// Asker asks on behalf of one agent. It is safe for concurrent use.
type Asker struct {
	Client *client.Client
	// AgentID names the agent to the people who decide.
	AgentID string
	// Session labels the sessions of the calls; nil for no label and origin.
	Session *api.SessionAbout
	// Escalation says who is notified of the requests, and when; nil for the service's default. A call
	// with an escalation keeps its own.
	Escalation *api.Escalation
	// Patience is how long a wait continues while the service does not answer; 10 minutes
	// if 0. Every answer resets it.
	Patience time.Duration
	// Lease is how long a process may be silent about the calls that it holds; 15 seconds
	// if 0.
	Lease time.Duration
	// WithGrants has answers carry what the service signed: the grant of an allowed call, for
	// [client.VerifyGrant], or the answer to a question, for [client.VerifyAnswer]. It costs one
	// more call.
	WithGrants bool
	// Check, if set, is given an allow or an answer with what the service signed, before the decision
	// counts as read. Its error is returned, and the same call with the same key may still read the
	// decision. It is called again after [client.ErrUnavailable]. It needs WithGrants.
	Check func(context.Context, *Answer) error
	// NowMs, if set, is the clock by which a polled call is renewed; see [Asker.RaisePolled].
	NowMs func() int64
	// OnRaised, if set, is told the handle of a request that this process has raised.
	OnRaised func(handle string)
}

// Call is a request to a person: one of Approval and Question.
type Call struct {
	// SessionID is the session of the call; a new one if empty.
	SessionID string
	// Key makes the call repeatable until its decision is read: until then, the same call
	// with the same key in the same session finds the same request. A different call, and
	// the same call after the decision was read, asks again. A call without a key cannot be
	// found again. Once retention has deleted the run of an earlier call with the key, the same
	// call may ask again although a later one is open.
	Key string
	// Approval and Question need no ID; it is derived from the key.
	Approval *api.ApprovalRequest
	Question *api.UserQuestionRequest
	// checkpoint is for the worker that claims the decided run.
	checkpoint api.JSON
	// keptBy and keptFor are set for a kept or polled call; see [Asker.RaiseKept].
	keptBy  string
	keptFor time.Duration
}

// Answer is the result of a call.
type Answer struct {
	// Run is the run when it was read.
	Run       *api.RunView
	RunID     string
	RequestID string
	// Outcome is empty until somebody has decided.
	Outcome api.Outcome
	// Approval and Question are the recorded request.
	Approval *api.ApprovalRequest
	Question *api.UserQuestionRequest
	// Grant is the JWS that the service signed for this process, if the call is allowed and
	// [Asker.WithGrants] is set. It is empty if the service gave none.
	Grant string
	// Signed is the answer to an answered question as the service gave it to this process, if
	// [Asker.WithGrants] is set. Its Signature is empty if the service signed none.
	Signed *api.AnswerForWorker
	// Resolution is the recorded decision. It is empty until somebody has decided, and if
	// the run ended without a decision.
	Resolution api.Resolution
	// Ended is the run's status if it ended without a decision, or if it was cancelled, interrupted or
	// failed before an allow or an answer was read.
	Ended api.Status
	// Spent reports that the decision was already read. It does not allow another call.
	Spent bool
}

// Allowed returns the input that a person or a rule allowed, original or edited. It returns
// false for every other outcome.
func (a *Answer) Allowed() (input api.JSON, edited, allowed bool) {
	if a.Approval == nil || a.Outcome != api.OutcomeAllowed || a.Resolution.Behavior != api.BehaviorAllow {
		return nil, false, false
	}
	if a.Resolution.UpdatedInput != nil {
		return a.Resolution.UpdatedInput, true, true
	}
	return a.Approval.Input, false, true
}

// identity tells whether a later call with the same key is the same call.
type identity struct {
	MadeBy string `json:"made_by"`
	Digest string `json:"digest"`
	// Asker tells apart the process that created the run from one that repeats the call.
	Asker string `json:"asker"`
}

// Raised is a call that was raised.
type Raised struct {
	RunID string
	// Joined reports that an earlier call with the key has already asked.
	Joined bool
	// fence is set while this process holds the run.
	fence string
	// unseen: no reply has shown that the URL is right, so a proxy's 404 may mean that it is wrong.
	unseen bool
}

// Raise raises a call and returns its run, or finds the run of an earlier call with the
// same key whose decision nobody has read. It does not wait. The request stays open when
// this process ends. Errors: as [client.Client.CreateRun].
func (a *Asker) Raise(ctx context.Context, call Call) (*Raised, error) {
	return a.raise(ctx, call, 0)
}

// raise raises a call and holds it with a lease, unless that is 0.
func (a *Asker) raise(ctx context.Context, call Call, lease time.Duration) (*Raised, error) {
	digest, err := digestOfCall(call)
	if err != nil {
		return nil, err
	}
	mine := identity{MadeBy: madeBy, Digest: digest, Asker: rand.Text()}
	for generation := 0; ; {
		params := a.paramsOf(call, mine, generation, lease)
		created, err := a.Client.CreateRun(ctx, params)
		switch {
		case err == nil:
			raised := &Raised{RunID: params.RunID}
			if created.Claim != nil { // nil after a lost reply if the lease has expired meanwhile
				raised.fence = created.Claim.Lease.Fence
			}
			a.tell(created)
			return raised, nil
		case !errors.Is(err, client.ErrIDConflict) || call.Key == "":
			return &Raised{RunID: params.RunID}, err
		}
		// Members that decide nothing, such as the deadline, may differ; the first call
		// stands.
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

func (a *Asker) tell(created *client.CreatedRun) {
	if a.OnRaised == nil {
		return
	}
	for _, one := range created.PendingApprovals {
		a.OnRaised(one.Handle)
	}
	for _, one := range created.PendingQuestions {
		a.OnRaised(one.Handle)
	}
}

// unspent returns the first generation of a call, after an existing one, whose decision
// nobody has read: an existing run to join, or a new one to create. A generation is only
// created after the previous one was spent, so a doubling and then a binary search finds
// it.
func (a *Asker) unspent(ctx context.Context, call Call, mine identity, from int) (generation int, joined bool, err error) {
	spent, step := from-1, 1
	for {
		state, err := a.generation(ctx, call, runIDOf(call, mine, spent+step), mine)
		if state == generationNone && spent+step == from {
			state = generationSpent // it exists, for another process to read
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

// generation returns the state of a generation. A run made by someone else counts as spent.
func (a *Asker) generation(ctx context.Context, call Call, runID string, mine identity) (int, error) {
	run, err := a.Client.GetRun(ctx, runID)
	switch {
	case errors.Is(err, client.ErrNotFound) && !client.Away(err):
		return generationNone, nil
	case err != nil:
		return 0, err
	case run.Status.Terminal() || identityOf(run).Digest != mine.Digest:
		return generationSpent, nil
	}
	// A run of an earlier build has the digest of a call without these members even if it has some.
	if has := leftOutOf(call.Approval, call.Question); !has.directory && !has.previews {
		asked, err := a.requestOf(ctx, run)
		if err != nil || leftOutOf(asked.Approval, asked.Question) != has {
			return generationSpent, err
		}
	}
	return generationOpen, nil
}

// requestOf returns the request of a run.
func (a *Asker) requestOf(ctx context.Context, run *api.RunView) (*Answer, error) {
	asked := &Answer{}
	asked.take(&api.Change{Approvals: run.PendingApprovals, Questions: run.PendingQuestions})
	if asked.RequestID != "" {
		return asked, nil
	}
	return asked, (&reading{Asker: a}).recorded(ctx, run, asked)
}

// paramsOf returns the run of a call, which waits from the start.
func (a *Asker) paramsOf(call Call, mine identity, generation int, lease time.Duration) client.CreateRunParams {
	runID := runIDOf(call, mine, generation)
	suspension := a.suspensionOf(call, strings.TrimPrefix(runID, runPrefix))
	params := client.CreateRunParams{
		SessionID: call.SessionID, RunID: runID, Kind: api.KindCall, AgentID: a.AgentID, Metadata: mine,
		Input: summaryOf(call), SourcePlugin: "holdpoint", SourceKind: "agent_call", Session: a.Session, Suspend: &suspension,
	}
	if params.SessionID == "" {
		params.SessionID = params.RunID
		if call.Key != "" {
			params.SessionID = runIDOf(call, mine, 0)
		}
	}
	if lease > 0 {
		params.Claim = &api.ClaimOptions{WorkerID: workerID(), LeaseMs: lease.Milliseconds()}
		suspension.Hold = true
		if call.keptFor > 0 {
			params.Claim.WorkerID, suspension.AbandonedAfterMs = call.keptBy, call.keptFor.Milliseconds()
		} else {
			suspension.CancelWhenAbandoned = true
		}
	}
	return params
}

// summaryOf returns the input of a run, for lists of runs.
func summaryOf(call Call) string {
	if call.Approval != nil {
		return call.Approval.ToolName
	}
	for _, question := range call.Question.Questions {
		return question.Question
	}
	return "question"
}

// runPrefix is the prefix of the ids of runs.
const runPrefix = "call-"

// runIDOf returns the run id of a generation of a call. Different calls with the same key
// have different ids.
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

// suspensionOf returns the call as a suspension.
func (a *Asker) suspensionOf(call Call, suffix string) api.Suspension {
	raised := api.Suspension{SuspensionID: "call-" + suffix, Checkpoint: call.checkpoint}
	if call.Approval != nil {
		request := *call.Approval
		request.ID, request.Escalation = "approval-"+suffix[:10], cmp.Or(request.Escalation, a.Escalation)
		if request.ToolCallID == "" {
			request.ToolCallID = request.ID
		}
		raised.Approvals = []api.ApprovalRequest{request}
	} else {
		request := *call.Question
		request.ID, request.Escalation = "question-"+suffix[:10], cmp.Or(request.Escalation, a.Escalation)
		if request.ToolCallID == "" {
			request.ToolCallID = request.ID
		}
		raised.Questions = []api.UserQuestionRequest{request}
	}
	return raised
}

// identityOf returns the identity in a run's metadata; the zero value for other runs.
func identityOf(run *api.RunView) identity {
	var read identity
	if json.Unmarshal(run.Metadata, &read) != nil || read.MadeBy != madeBy {
		return identity{}
	}
	return read
}

// Withdraw cancels an obsolete call. If it was decided meanwhile, the
// decision stands.
func (a *Asker) Withdraw(ctx context.Context, runID, reason string) error {
	_, err := a.Client.CancelRun(ctx, runID, reason)
	return err
}
