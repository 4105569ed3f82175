package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// attempt is one call that somebody wants to make, with a session, a run and an
// agent of its own, and what its caller remembers across the restart.
type attempt struct {
	ctx    context.Context
	client *client.Client
	// agentID is the agent of this attempt alone, so that a worker can ask for its run.
	runID, sessionID, agentID string
	// fence is that of the lease which the caller has, if it has one.
	fence string
	// clarificationID is the run in the parent's session that asks for this one.
	clarificationID string
	// impatient: the service has been killed, and effects that it had begun are tried
	// again before their lease has lapsed.
	impatient bool
	// dueAtMs is the deadline of the request that the attempt is about.
	dueAtMs int64
}

// scenario is a kind of call. Its functions return an error when something is not as
// it must be, whatever the point at which the program was killed.
type scenario struct {
	name string
	// prepare makes what the call needs; nil for nothing. No point is armed yet.
	prepare func(*attempt) error
	// call makes the call. nil is its acknowledgement.
	call func(*attempt) error
	// again repeats the call as a client would that had no reply; call when nil.
	again func(*attempt) error
	// onlyUnacknowledged: a caller who had its reply does not repeat the call.
	onlyUnacknowledged bool
	// inForce returns how often the call's effect is on record.
	inForce func(*attempt) (int, error)
	// finish takes everything to its end, as the users would, and checks what they
	// are handed on the way.
	finish func(*attempt) error
	// events are the types of the run's events at the end, all of them.
	events []string
	// alone: no second replica may be there, because it would do what the call does.
	alone bool
}

const (
	workerID = "worker"
	// shortLeaseMs is the shortest that the service grants.
	shortLeaseMs = 1_000
	longLeaseMs  = 3_600_000
)

func (a *attempt) params(suspension *api.Suspension, lease *api.ClaimOptions) client.CreateRunParams {
	return client.CreateRunParams{
		RunID: a.runID, SessionID: a.sessionID, AgentID: a.agentID, Input: "work", Suspend: suspension, Claim: lease,
	}
}

// makeWaiting makes the run, which waits from its first moment.
func (a *attempt) makeWaiting(suspension *api.Suspension) error {
	_, err := a.client.CreateRun(a.ctx, a.params(suspension, nil))
	return err
}

// makeHeld makes the run and takes its lease.
func (a *attempt) makeHeld() error {
	created, err := a.client.CreateRun(a.ctx, a.params(nil, &api.ClaimOptions{WorkerID: workerID}))
	if err != nil {
		return err
	}
	return a.took(created.Claim)
}

// took remembers a lease.
func (a *attempt) took(claim *api.Claim) error {
	if claim == nil {
		return errors.New("no lease was handed out")
	}
	a.fence = claim.Lease.Fence
	return nil
}

func (a *attempt) resolve(decisions ...api.ApprovalResolution) error {
	_, err := a.client.ResolveRunApprovals(a.ctx, a.runID, client.ResolveApprovalsParams{
		Resolutions: decisions, IdempotencyKey: "resolve-" + decisions[0].RequestID,
	})
	return err
}

func (a *attempt) answer(answers ...api.UserQuestionAnswer) error {
	_, err := a.client.AnswerRunQuestion(a.ctx, a.runID, client.AnswerQuestionParams{
		Resolution:     api.UserQuestionResolution{RequestID: "way", Answers: answers, Declined: len(answers) == 0},
		IdempotencyKey: "answer",
	})
	return err
}

// wait waits until a moment of the services' clock, which is this machine's.
func (a *attempt) wait(untilMs int64) error {
	timer := time.NewTimer(time.Until(time.UnixMilli(untilMs)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-a.ctx.Done():
		return a.ctx.Err()
	}
}

// claim takes the run as a worker does that asks for what there is, and remembers
// the lease.
func (a *attempt) claim(leaseMs int64) (*api.Claim, error) {
	taken, err := a.client.ClaimRuns(a.ctx, client.ClaimRunsParams{
		WorkerID: workerID, AgentIDs: []string{a.agentID}, LeaseMs: leaseMs, WaitMs: rig.Patience.Milliseconds() / 2,
	})
	switch {
	case err != nil:
		return nil, err
	case len(taken) != 1:
		return nil, fmt.Errorf("handed %d runs", len(taken))
	}
	return &taken[0], a.took(&taken[0])
}

// claimOnce is claim of a run that nobody has had since its last suspension, and
// fails when somebody has.
func (a *attempt) claimOnce(fence string) (*api.Claim, error) {
	claim, err := a.claim(longLeaseMs)
	if err != nil {
		return nil, err
	}
	if claim.Lease.Fence != fence || claim.Attempt != 1 {
		return nil, fmt.Errorf("handed over as attempt %d with fence %s, want attempt 1 with fence %s", claim.Attempt, claim.Lease.Fence, fence)
	}
	return claim, nil
}

func (a *attempt) complete() error {
	run, err := a.client.CompleteRun(a.ctx, a.runID, a.fence, api.JSON(`"done"`))
	if err == nil && run.Status != api.StatusCompleted {
		err = fmt.Errorf("completed, and %s", run.Status)
	}
	return err
}

// resume claims the run for the first time since its suspension, checks that it is
// handed these outcomes and no others, and completes it.
func (a *attempt) resume(fence string, outcomes ...api.Outcome) error {
	claim, err := a.claimOnce(fence)
	if err != nil {
		return err
	}
	if err := handed(claim.Resume, outcomes...); err != nil {
		return err
	}
	return a.complete()
}

// handed checks what a Resume holds, approvals before questions.
func handed(resume *api.Resume, outcomes ...api.Outcome) error {
	var got []api.Outcome
	if resume != nil {
		for _, approval := range resume.Approvals {
			got = append(got, approval.Resolution.Outcome)
		}
		for _, question := range resume.Questions {
			got = append(got, question.Resolution.Outcome)
		}
	}
	if !slices.Equal(got, outcomes) {
		return fmt.Errorf("resumed with %v, want %v", got, outcomes)
	}
	return nil
}

// settled checks what an attached worker is handed since its suspension, in the
// order of the decisions, and how much is open.
func (a *attempt) settled(open int, outcomes ...api.Outcome) error {
	got, err := a.client.AwaitSettled(a.ctx, a.runID, a.fence, "0", rig.Patience/2)
	if err != nil {
		return err
	}
	var seen []api.Outcome
	for _, text := range got.Settled {
		var one struct {
			Resolution struct {
				Outcome api.Outcome `json:"outcome"`
			} `json:"resolution"`
		}
		if err := json.Unmarshal(text, &one); err != nil {
			return err
		}
		seen = append(seen, one.Resolution.Outcome)
	}
	if !slices.Equal(seen, outcomes) || got.Open != open {
		return fmt.Errorf("attached worker was handed %v with %d open, want %v with %d", seen, got.Open, outcomes, open)
	}
	return nil
}

// log returns the run's events by their types, and how often each request was
// settled with which outcome.
func (a *attempt) log(runID string) (types []string, settled map[string][]api.Outcome, err error) {
	settled = map[string][]api.Outcome{}
	for entry, err := range a.client.AllRunEvents(a.ctx, runID, client.EventListParams{}) {
		if err != nil {
			return nil, nil, err
		}
		var event struct {
			Type        string           `json:"type"`
			Resolutions []api.Resolution `json:"resolutions"`
			Resolution  *api.Resolution  `json:"resolution"`
		}
		if err := json.Unmarshal(entry.Event, &event); err != nil {
			return nil, nil, err
		}
		types = append(types, event.Type)
		if event.Resolution != nil {
			event.Resolutions = append(event.Resolutions, *event.Resolution)
		}
		for _, resolution := range event.Resolutions {
			settled[resolution.RequestID] = append(settled[resolution.RequestID], resolution.Outcome)
		}
	}
	return types, settled, nil
}

// runsMade counts the runs of the session.
func runsMade(a *attempt) (int, error) {
	page, err := a.client.ListRuns(a.ctx, client.RunListParams{SessionID: a.sessionID})
	if err != nil {
		return 0, err
	}
	return len(page.Items), nil
}

// logged counts the run's events of a type.
func logged(eventType string) func(*attempt) (int, error) {
	return func(a *attempt) (int, error) {
		types, _, err := a.log(a.runID)
		return count(types, eventType), err
	}
}

func count(types []string, eventType string) int {
	n := 0
	for _, logged := range types {
		if logged == eventType {
			n++
		}
	}
	return n
}

// recorded counts how often these outcomes were recorded, and fails when only some
// of them were, or others.
func recorded(want map[string]api.Outcome) func(*attempt) (int, error) {
	return func(a *attempt) (int, error) {
		_, settled, err := a.log(a.runID)
		if err != nil {
			return 0, err
		}
		times := -1
		for requestID, outcome := range want {
			for _, got := range settled[requestID] {
				if got != outcome {
					return 0, fmt.Errorf("request %s is %s, want %s", requestID, got, outcome)
				}
			}
			if times >= 0 && len(settled[requestID]) != times {
				return 0, fmt.Errorf("half of it is in force: %v", settled)
			}
			times = len(settled[requestID])
		}
		return times, nil
	}
}

// requireLog compares the run's events with those of the scenario.
func (a *attempt) requireLog(want []string) error {
	got, _, err := a.log(a.runID)
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("the run's log is\n\t%q, want\n\t%q", got, want)
	}
	return err
}

// The requests that scenarios raise.

func approval(id string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: id, ToolCallID: "call-" + id, ToolName: "deploy", Input: api.JSON(`{"to":"production"}`)}
}

func approvals(count int) *api.Suspension {
	suspension := &api.Suspension{SuspensionID: "suspension"}
	for i := range count {
		suspension.Approvals = append(suspension.Approvals, approval("ask-"+strconv.Itoa(i+1)))
	}
	return suspension
}

func question() *api.Suspension {
	return &api.Suspension{SuspensionID: "suspension", Questions: []api.UserQuestionRequest{{
		ID: "way", ToolCallID: "call-way", Questions: []api.UserQuestion{{
			ID: "which", Question: "Which way?",
			Options: []api.QuestionOption{{ID: "left", Label: "Left"}, {ID: "right", Label: "Right"}},
		}},
	}}}
}

var left = api.UserQuestionAnswer{QuestionID: "which", SelectedOptionIDs: []string{"left"}}

// held makes a suspension one whose worker stays.
func held(suspension *api.Suspension) *api.Suspension {
	suspension.Hold = true
	return suspension
}

func allow(id string) api.ApprovalResolution {
	return api.ApprovalResolution{RequestID: id, Behavior: api.BehaviorAllow}
}

func deny(id string) api.ApprovalResolution {
	return api.ApprovalResolution{RequestID: id, Behavior: api.BehaviorDeny}
}
