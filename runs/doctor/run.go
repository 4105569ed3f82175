package doctor

import (
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// run is a row of runs with related facts from other tables. Documents, which may be large, are
// dropped.
type run struct {
	model.Run
	hasOutput bool
	// redacted: some of its events are redacted.
	redacted bool
	// requester is nil if the row has none, and empty if it is unreadable.
	requester *api.Requester

	// numbers and settledNumbers are its requests' numbers.
	numbers, settledNumbers []int64
	openApprovals           int
	// openQuestions counts questions and the clarifications that the run is parked on;
	// openUnparked counts the clarifications that it does not wait for.
	openQuestions, openUnparked int
	questions                   int // open and settled
	newestNumber                int64
	newestSuspension            string
	history                     history
}

func newRun(row *model.Run) *run {
	r := &run{Run: *row, hasOutput: row.Output != nil}
	if row.Requester != nil {
		r.requester = new(api.Requester)
		if json.Unmarshal(row.Requester, r.requester) != nil {
			r.requester = new(api.Requester)
		}
	}
	r.Output, r.Metadata, r.Requester = nil, nil, nil
	return r
}

// add counts a request.
func (r *run) add(row *model.Request, known *request) {
	r.numbers = append(r.numbers, row.Number)
	// A question to the parent without parking does not suspend the run.
	suspends := row.Kind != model.KindClarification || known.parked
	if row.Number > r.newestNumber && suspends {
		r.newestNumber, r.newestSuspension = row.Number, row.SuspensionID
	}
	if row.Kind == model.KindQuestion {
		r.questions++
	}
	switch {
	case !row.Open():
		r.settledNumbers = append(r.settledNumbers, row.SettledNumber)
	case !suspends:
		r.openUnparked++
	case row.Kind == model.KindQuestion || row.Kind == model.KindClarification:
		r.openQuestions++
	default:
		r.openApprovals++
	}
}

func (r *run) over() bool { return model.Terminal(r.Status) }

// runInvariants are checked for each run after all rows of its session were read.
var runInvariants = table[*run]{
	{invariant(OutputMisplaced, "A run that is not completed has an output.", func(_ *examiner, r *run) string {
		return when(r.hasOutput && r.Status != api.StatusCompleted, "the run is %s and has an output", r.Status)
	})},
	{invariant(DataKeyMisplaced, "A run that is over still has the key of its sensitive values: they can be read.", func(_ *examiner, r *run) string {
		return when(r.over() && r.DataKey != "", "the run is %s and has a data key", r.Status)
	})},
	{
		invariant(RequesterMisplaced, "A run of another kind has a `requester`.", func(_ *examiner, r *run) string {
			return when(r.Kind != api.KindParentClarification && r.requester != nil, "the run is of kind %s and has a requester", r.Kind)
		}),
		invariant(RequesterUnreadable, "The parent's run does not name the session and run that ask. Nobody gets the answer.", func(_ *examiner, r *run) string {
			readable := r.requester != nil && r.requester.RequesterRunID != "" && r.requester.RequesterSessionID != ""
			return when(r.Kind == api.KindParentClarification && !readable, "the requester is not the JSON of one with a session and a run")
		}),
	},
	{invariant(ActiveRunTwice, "Two runs of a session hold its one slot.", func(e *examiner, r *run) string {
		if !slices.Contains(e.active, r) || e.active[0] == r {
			return ""
		}
		return when(true, "the run is %s while run %s is %s", r.Status, e.active[0].RunID, e.active[0].Status)
	})},
	{invariant(EndedSessionNotIdle, "The session has ended and a run of it has not, though no effect is there to end it.", func(e *examiner, r *run) string {
		drains := e.draining && (!model.TakesSlot(r.Kind) || r.ClaimableAtMs == 0 && r.Status == api.StatusQueued)
		return when(e.endedAtMs != 0 && !drains && model.KnownStatus(r.Status) && !r.over(), "the session has ended, but the run is %s", r.Status)
	})},
	{fatal(StatusUnknown, "The status is unknown. The run is not checked further.", func(_ *examiner, r *run) string {
		return unless(model.KnownStatus(r.Status), "the status is %q", r.Status)
	})},
	{fatal(ClarificationStatusWrong, "The parent's run neither waits for an answer nor is completed. It is not checked further.", func(_ *examiner, r *run) string {
		return when(r.Kind == api.KindParentClarification && r.Status != api.StatusWaitingForUserQuestion && r.Status != api.StatusCompleted,
			"the clarification is %s", r.Status)
	})},
	{fatal(ClarificationRequestsWrong, "The parent's run has not exactly one request, a question. It is not checked further.", func(_ *examiner, r *run) string {
		return when(r.Kind == api.KindParentClarification && (len(r.numbers) != 1 || r.questions != 1),
			"the clarification has %d requests, of which %d are questions", len(r.numbers), r.questions)
	})},
	{invariant(ClarificationClaimed, "The parent's run has a worker, a fence, an attempt or a lease. Nobody claims one.", func(_ *examiner, r *run) string {
		claimed := r.Fence != 0 || r.WorkerID != "" || r.LeaseExpiresAtMs != 0 || r.Attached || r.Attempt != 0
		return when(r.Kind == api.KindParentClarification && claimed, "the clarification was claimed: worker %q, fence %d, attempt %d, lease until %d",
			r.WorkerID, r.Fence, r.Attempt, r.LeaseExpiresAtMs)
	})},
	{invariant(AnswerWithoutEffect, "The parent's run is completed, but no effect delivers the answer to the child.", func(e *examiner, r *run) string {
		return when(r.Kind == api.KindParentClarification && r.over() && !e.effectIDs[model.EffectID(api.EffectDeliverAnswer, r.RunID)],
			"the clarification is completed, but no effect brings the child its answer")
	})},
	{
		invariant(LeaseMisplaced, "A run has a lease, or an attached worker, where it may have none.", leaseMisplaced),
		invariant(LeaseWithoutHolder, "The run is held, but by no worker or without a fence.", func(_ *examiner, r *run) string {
			held := r.Kind != api.KindParentClarification && r.LeaseExpiresAtMs != 0
			return when(held && (r.Fence <= 0 || r.WorkerID == ""), "the run is held by worker %q with fence %d", r.WorkerID, r.Fence)
		}),
	},
	{
		invariant(RunWaitsForNothing, "The run waits and nothing is open: nothing can end the wait.", func(_ *examiner, r *run) string {
			return when(model.Waiting(r.Status) && r.open() == 0, "the run is %s, but nothing is open on it", r.Status)
		}),
		invariant(RunDoesNotWait, "A request is open on a run that does not wait.", func(_ *examiner, r *run) string {
			if !model.Waiting(r.Status) && r.open() > 0 {
				return when(true, "the run is %s, but %d requests are open on it", r.Status, r.open())
			}
			return when(r.over() && r.openUnparked > 0, "the run is %s, but %d clarifications are open on it", r.Status, r.openUnparked)
		}),
		invariant(WaitingStatusWrong, "The run waits under the status of the other kind of request. Questions are shown first.", func(_ *examiner, r *run) string {
			return when(r.open() > 0 && r.Status != r.waitingStatus(), "the run is %s, but %d approvals and %d questions are open on it",
				r.Status, r.openApprovals, r.openQuestions)
		}),
	},
	{invariant(RaisedCountWrong, "`raised_count` is not the number of the run's requests.", func(_ *examiner, r *run) string {
		return unless(r.RaisedCount == int64(len(r.numbers)), "raised_count is %d, but the run has %d requests", r.RaisedCount, len(r.numbers))
	})},
	{invariant(RequestNumbersWrong, "The requests are not numbered 1, 2, 3, …", func(_ *examiner, r *run) string {
		return unless(gapless(r.numbers), "the requests are numbered %v", first20(r.numbers))
	})},
	{invariant(SettledCountWrong, "`settled_count` is not the number of settled requests.", func(_ *examiner, r *run) string {
		return unless(r.SettledCount == int64(len(r.settledNumbers)), "settled_count is %d, but %d requests are settled", r.SettledCount, len(r.settledNumbers))
	})},
	{invariant(SettledNumbersWrong, "The decisions are not numbered 1, 2, 3, …", func(_ *examiner, r *run) string {
		return unless(gapless(r.settledNumbers), "the decisions are numbered %v", first20(r.settledNumbers))
	})},
	{invariant(ResumeAfterWrong, "`resume_after` is negative or ahead of the decisions.", func(_ *examiner, r *run) string {
		most := max(r.SettledCount, int64(len(r.settledNumbers)))
		return when(r.ResumeAfter < 0 || r.ResumeAfter > most, "resume_after is %d, but only %d requests are settled", r.ResumeAfter, most)
	})},
	{invariant(SuspensionWrong, "`suspension_id` is not that of the newest request.", func(_ *examiner, r *run) string {
		return unless(r.SuspensionID == r.newestSuspension, "suspension_id is %q, but the newest request belongs to %q", r.SuspensionID, r.newestSuspension)
	})},
	{invariant(OutputCountWrong, "`output_count` is not the number of output events.", func(_ *examiner, r *run) string {
		return unless(r.OutputCount == r.history.outputs, "output_count is %d, but %d events are outputs", r.OutputCount, r.history.outputs)
	})},
	{
		invariant(FinishedAtMissing, "The run is over and has no `finished_at_ms`.", func(_ *examiner, r *run) string {
			return when(r.over() && r.FinishedAtMs == 0, "the run is %s, but finished_at_ms is not set", r.Status)
		}),
		invariant(FinishedAtMisplaced, "The run is not over and has a `finished_at_ms`.", func(_ *examiner, r *run) string {
			return when(!r.over() && r.FinishedAtMs != 0, "the run is %s, but finished_at_ms is %d", r.Status, r.FinishedAtMs)
		}),
	},
	{
		invariant(ClaimableMisplaced, "The run can be claimed although it waits, is over, is behind others in the queue, or is held.", claimableMisplaced),
		invariant(RunUnclaimable, "The run is running, or is next in the queue, and cannot be claimed.", unclaimable),
	},
	{fatal(RunWithoutEvents, "No event is about the run.", func(_ *examiner, r *run) string {
		return when(r.history.first == 0, "the session's log has no event of the run")
	})},
	{invariant(RunFirstEventWrong, "The run's `first_event_id` is not that of its first event.", func(_ *examiner, r *run) string {
		return unless(r.FirstEventID == r.history.first, "first_event_id is %d, but the run's first event is %d", r.FirstEventID, r.history.first)
	})},
	{invariant(RunLastEventWrong, "The run's `last_event_id` is not that of its last event.", func(_ *examiner, r *run) string {
		return unless(r.LastEventID == r.history.last, "last_event_id is %d, but the run's last event is %d", r.LastEventID, r.history.last)
	})},
	{
		invariant(TerminalEventMissing, "The run is over and no event ends it.", func(_ *examiner, r *run) string {
			return when(r.over() && !r.history.ended, "the run is %s, but no event says so", r.Status)
		}),
		invariant(HistoryWrong, "The events lead to another status than the run has.", func(_ *examiner, r *run) string {
			h := &r.history
			// A broken waiting invariant explains the status already, and events do not
			// distinguish the two waiting statuses.
			explained := h.illegal || r.waitsWrongly() || model.Waiting(h.status) && model.Waiting(r.Status)
			return when(!explained && h.status != r.Status, "the run is %s, but its events lead to %s", r.Status, h.status)
		}),
	},
}

// open counts the requests that the run waits for.
func (r *run) open() int { return r.openApprovals + r.openQuestions }

// waitingStatus is the status that a run must have for its open requests.
func (r *run) waitingStatus() api.Status {
	if r.openQuestions > 0 {
		return api.StatusWaitingForUserQuestion
	}
	return api.StatusWaitingForApproval
}

// waitsWrongly reports whether an invariant about waiting is broken.
func (r *run) waitsWrongly() bool {
	waits := model.Waiting(r.Status)
	return waits != (r.open() > 0) || waits && r.Status != r.waitingStatus() || r.over() && r.openUnparked > 0
}

// gapless sorts the numbers and reports whether they are 1, 2, 3, ….
func gapless(numbers []int64) bool {
	slices.Sort(numbers)
	for i, number := range numbers {
		if number != int64(i)+1 {
			return false
		}
	}
	return true
}

// first20 bounds the numbers in a finding.
func first20(numbers []int64) []int64 { return numbers[:min(len(numbers), 20)] }

// leaseMisplaced: only running runs, and waiting runs with an attached worker, have a lease.
func leaseMisplaced(_ *examiner, r *run) string {
	held := r.LeaseExpiresAtMs != 0
	why := ""
	switch {
	case r.Kind == api.KindParentClarification || !held && !r.Attached:
		return ""
	case !held:
		why = "has an attached worker without a lease"
	case r.Status == api.StatusQueued || r.over():
		why = "is held or has an attached worker"
	case model.Waiting(r.Status) && !r.Attached:
		why = "is held, but no worker is attached"
	case r.LeaseEnd != "":
		why = "is held by a lease that was " + string(r.LeaseEnd)
	}
	return when(why != "", "the run is %s and %s", r.Status, why)
}

// claimableMisplaced: a run is claimable if it is running without a lease, or next in the queue.
// The queue of an ended session is not checked.
func claimableMisplaced(e *examiner, r *run) string {
	switch {
	case r.Status == api.StatusQueued && r.Kind != api.KindParentClarification:
		return when(r.ClaimableAtMs != 0 && e.endedAtMs == 0 && !e.next(r), "the run is queued behind others, but claimable_at_ms is %d", r.ClaimableAtMs)
	case r.Status == api.StatusRunning:
		return when(r.ClaimableAtMs != 0 && r.ClaimableAtMs < r.LeaseExpiresAtMs, "claimable_at_ms is %d, but the run is held until %d", r.ClaimableAtMs, r.LeaseExpiresAtMs)
	}
	return when(r.ClaimableAtMs != 0, "the run is %s, but claimable_at_ms is %d", r.Status, r.ClaimableAtMs)
}

// unclaimable: a run is claimable now or when its lease lapses, and no lease is longer than
// [api.MaxLeaseMs].
func unclaimable(e *examiner, r *run) string {
	switch {
	case r.Status == api.StatusRunning && r.ClaimableAtMs == 0:
		return "the run is running, but claimable_at_ms is not set"
	case r.Status == api.StatusQueued && r.ClaimableAtMs == 0:
		return when(e.endedAtMs == 0 && e.next(r), "the run is next in the queue, but claimable_at_ms is not set")
	}
	return when(r.ClaimableAtMs > r.UpdatedAtMs+api.MaxLeaseMs, "the run was last changed at %d and cannot be claimed before %d", r.UpdatedAtMs, r.ClaimableAtMs)
}
