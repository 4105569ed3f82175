package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
)

// RunFacts is the input of [Run].
type RunFacts struct {
	NowMs  int64
	Record *model.RunRecord
	// Requests has the open approvals and questions, at most api.MaxExplainedRequests.
	Requests []RequestFacts
	// RequestsMore counts the rest.
	RequestsMore int64
	// QueuedAhead counts the runs of the session that come first.
	QueuedAhead int64
	// Before is the next of them; nil if the caller may not see it.
	Before *RunFacts
	// SessionEnded says that the run's session has ended.
	SessionEnded bool
	// WorkersWaiting counts the pending claims in this process that match the run.
	WorkersWaiting int64
	// OtherReplicas says that workers may ask other processes now.
	OtherReplicas bool
	// Asked is the run in the parent's session that asks this run's question; nil if it does not
	// exist or the caller may not see it.
	Asked *RunFacts
	// Child is a run with an open request in a session below, nil for none that the caller may see, and ChildrenMore
	// counts others.
	Child        *RunFacts
	ChildrenMore int64
	// Owed has its pending and failed effects.
	Owed []api.EffectView
}

// Run explains a run.
func Run(f *RunFacts) api.RunExplanation {
	run := &f.Record.Run
	e := api.RunExplanation{
		SessionID: run.SessionID, RunID: run.RunID, AgentID: run.AgentID, Status: run.Status, NowMs: f.NowMs, Owed: f.Owed,
	}
	if run.Leased(f.NowMs) {
		e.HeldBy = &api.ExplainedHolder{WorkerID: run.WorkerID, LeaseLeftMs: run.LeaseExpiresAtMs - f.NowMs, LastHeartbeatMs: run.UpdatedAtMs}
	}
	switch {
	case model.Terminal(run.Status):
		over(f, &e)
	case model.Waiting(run.Status):
		waiting(f, &e)
	case e.HeldBy != nil:
		e.State, e.SinceMs = api.ExplainHeld, run.StartedAtMs
		// Decisions change the run too, and the last heartbeat alone is not stored.
		e.Text = fmt.Sprintf("Worker %s has the run. The run last changed %s, and the worker's lease ends in %s.",
			run.WorkerID, ago(run.UpdatedAtMs, f.NowMs), span(e.HeldBy.LeaseLeftMs))
	case run.ClaimableAtMs > f.NowMs:
		e.State, e.SinceMs, e.ClaimableAtMs = api.ExplainDelayed, run.UpdatedAtMs, run.ClaimableAtMs
		e.Text = "Workers can claim the run again in " + span(run.ClaimableAtMs-f.NowMs) + "."
		if run.LastError != "" {
			e.Text = fmt.Sprintf("The last attempt failed (%s so far). ", plural(run.FailedAttempts, "failure")) + e.Text
		}
	case run.ClaimableAtMs != 0:
		claimable(f, &e)
	default:
		queued(f, &e)
	}
	if f.Child != nil {
		child(f, &e)
	}
	return e
}

// child adds a run in a session below: the worker may wait for it.
func child(f *RunFacts, e *api.RunExplanation) {
	of := Run(f.Child)
	e.WaitingOn = &api.ExplainedRelative{Relation: api.RelationChild, SessionID: of.SessionID, RunID: of.RunID, Explain: &of}
	e.ChildrenMore = f.ChildrenMore
	e.Text += " In child session " + of.SessionID + ": " + lowered(of.Text)
}

func over(f *RunFacts, e *api.RunExplanation) {
	run := &f.Record.Run
	e.State, e.SinceMs = api.ExplainOver, run.FinishedAtMs
	status := string(run.Status)
	e.Text = strings.ToUpper(status[:1]) + status[1:] + " " + ago(run.FinishedAtMs, f.NowMs) + "."
}

// claimable explains a run that any worker of its agent can claim.
func claimable(f *RunFacts, e *api.RunExplanation) {
	run := &f.Record.Run
	e.State, e.SinceMs, e.ClaimableSinceMs = api.ExplainNoWorker, run.ClaimableAtMs, run.ClaimableAtMs
	e.WorkersWaiting = &f.WorkersWaiting
	e.Text = "Ready for " + span(f.NowMs-run.ClaimableAtMs) + ". "
	if run.LeaseExpiresAtMs != 0 {
		e.Text = fmt.Sprintf("Worker %s stopped answering; its lease ended %s. ", run.WorkerID, ago(run.LeaseExpiresAtMs, f.NowMs))
	}
	if f.WorkersWaiting == 0 {
		e.Text += fmt.Sprintf("No worker is asking for runs of agent %q", run.AgentID)
		if f.OtherReplicas {
			e.Text += " at this replica"
		}
		e.Text += "."
		return
	}
	e.Text += fmt.Sprintf("%s waiting for runs of agent %q: one should claim it at once.", areWaiting(f.WorkersWaiting), run.AgentID)
}

func areWaiting(workers int64) string {
	if workers == 1 {
		return "1 worker is"
	}
	return fmt.Sprintf("%d workers are", workers)
}

// queued explains a run that cannot be claimed and does not wait for a person.
func queued(f *RunFacts, e *api.RunExplanation) {
	run := &f.Record.Run
	e.SinceMs, e.QueuedAhead = run.SubmittedAtMs, f.QueuedAhead
	switch {
	case run.Status == api.StatusQueued && f.SessionEnded:
		e.State, e.Text = api.ExplainQueuedBehindRun, "Its session has ended. The service is about to cancel the run."
	case run.Status != api.StatusQueued:
		stuck(e, doctor.RunUnclaimable, "No worker has the run, and none can claim it.")
	case f.QueuedAhead == 0:
		stuck(e, doctor.RunUnclaimable, "The run is first in the queue, and no worker can claim it.")
	case f.Before != nil && model.Terminal(f.Before.Record.Run.Status):
		stuck(e, doctor.ActiveRunWrong, "Run "+f.Before.Record.Run.RunID+" is over and still has the session's place.")
		e.QueuedBehind = &api.ExplainedRun{RunID: f.Before.Record.Run.RunID, Status: f.Before.Record.Run.Status}
	default:
		behind(f, e)
	}
}

func behind(f *RunFacts, e *api.RunExplanation) {
	e.State = api.ExplainQueuedBehindRun
	e.Text = "Queued behind " + plural(f.QueuedAhead, "run") + " of the session"
	if f.Before == nil {
		e.Text += " that you may not see."
		return
	}
	before := Run(f.Before)
	e.QueuedBehind = &api.ExplainedRun{RunID: before.RunID, Status: before.Status, Explain: &before}
	// The first run blocks all the others.
	front := &before
	for front.QueuedBehind != nil && front.QueuedBehind.Explain != nil {
		front = front.QueuedBehind.Explain
	}
	e.Text += ". Run " + front.RunID + " is first: " + lowered(front.Text)
}

func stuck(e *api.RunExplanation, finding doctor.Code, text string) {
	e.State, e.Finding = api.ExplainStuck, string(finding)
	e.Text = text + " Run holdpoint doctor."
}

// waiting explains a run that waits for people, in its own or its parent's session.
func waiting(f *RunFacts, e *api.RunExplanation) {
	run := &f.Record.Run
	e.RequestsMore, e.SinceMs = f.RequestsMore, run.UpdatedAtMs
	for i := range f.Requests {
		explained := Request(&f.Requests[i])
		e.SinceMs = min(e.SinceMs, explained.SinceMs)
		e.Requests = append(e.Requests, explained)
	}
	parked := slices.IndexFunc(f.Record.Requests, func(r model.Request) bool { return r.Open() && r.Parked() })
	switch {
	case parked >= 0:
		forParent(f, e, &f.Record.Requests[parked])
	case len(e.Requests) == 0:
		stuck(e, doctor.RunWaitsForNothing, "The run waits, and nothing is open.")
	default:
		forPeople(e)
	}
}

func forPeople(e *api.RunExplanation) {
	e.State = api.ExplainNobodyCanDecide
	shown := &e.Requests[0]
	for i := range e.Requests {
		if e.Requests[i].State == api.ExplainWaitingForPeople {
			e.State, shown = api.ExplainWaitingForPeople, &e.Requests[i]
			break
		}
	}
	e.Text = shown.Text
	if others := int64(len(e.Requests)) - 1 + e.RequestsMore; others > 0 {
		e.Text = plural(others+1, "request") + " open. " + e.Text
	}
}

func forParent(f *RunFacts, e *api.RunExplanation, request *model.Request) {
	on := request.Clarification().WaitingOn
	e.State, e.SinceMs = api.ExplainWaitingForParent, request.CreatedAtMs
	e.WaitingOn = &api.ExplainedRelative{Relation: api.RelationParent, SessionID: on.SessionID, RunID: on.RunID, RequestID: on.RequestID}
	e.Text = "Waiting for an answer from session " + on.SessionID
	if f.Asked == nil {
		e.Text += "."
		return
	}
	asked := Run(f.Asked)
	e.WaitingOn.Explain = &asked
	e.Text += ": " + lowered(asked.Text)
}
