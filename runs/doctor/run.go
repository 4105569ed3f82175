package doctor

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// run is a run with what was seen of it so far.
type run struct {
	model.Run
	// numbers and settledNumbers are those of its requests.
	numbers, settledNumbers []int64
	settled                 int64
	openApprovals           int64
	// openQuestions counts also the clarifications that the run waits for, and
	// openUnparked those that it does not.
	openQuestions    int64
	openUnparked     int64
	questions        int64 // open and settled
	newestNumber     int64
	newestSuspension string
	history          history
	// statusDoubted says that a finding has told why the status cannot be right.
	statusDoubted bool
}

func (e *examiner) readRuns(rows model.RowSequence[model.Run]) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		e.summary.Rows.Runs++
		if row.Output != nil && row.Status != api.StatusCompleted {
			e.find(OutputMisplaced, Finding{RunID: row.RunID}, "the run is %s and has an output", row.Status)
		}
		known := &run{Run: *row}
		e.checkRequester(known)
		known.Output, known.Metadata, known.Requester = nil, nil, nil // they may be large, and are not needed
		e.runs[row.RunID] = known
		e.orderedRuns = append(e.orderedRuns, known)
	}
	return nil
}

// checkRun checks a run once all its requests and events have been seen.
func (e *examiner) checkRun(r *run) {
	at := Finding{RunID: r.RunID}
	if !model.KnownStatus(r.Status) {
		e.find(StatusUnknown, at, "the status is %q", r.Status)
		return
	}
	if r.Kind == api.KindParentClarification {
		if !e.checkClarification(r, at) {
			return
		}
	} else {
		e.checkLease(r, at)
	}
	e.checkWait(r, at)
	e.checkNumbers(r, at)
	e.checkEnd(r, at)
	e.checkClaimable(r, at)
	e.checkHistory(r, at)
}

// checkWait: a run waits exactly while something is open on it, and says for what.
func (e *examiner) checkWait(r *run, at Finding) {
	open := r.openApprovals + r.openQuestions
	want := api.StatusWaitingForApproval
	if r.openQuestions > 0 {
		want = api.StatusWaitingForUserQuestion
	}
	switch {
	case model.Waiting(r.Status) && open == 0:
		e.find(RunWaitsForNothing, at, "the run is %s, but nothing is open on it", r.Status)
	case !model.Waiting(r.Status) && open > 0:
		e.find(RunDoesNotWait, at, "the run is %s, but %d requests are open on it", r.Status, open)
	case model.Terminal(r.Status) && r.openUnparked > 0:
		e.find(RunDoesNotWait, at, "the run is %s, but %d clarifications are open on it", r.Status, r.openUnparked)
	case open > 0 && r.Status != want:
		e.find(WaitingStatusWrong, at, "the run is %s, but %d approvals and %d questions are open on it", r.Status, r.openApprovals, r.openQuestions)
	default:
		return
	}
	r.statusDoubted = true
}

// checkNumbers: requests and decisions are numbered without gaps, and the run knows
// how many there are.
func (e *examiner) checkNumbers(r *run, at Finding) {
	if raised := int64(len(r.numbers)); r.RaisedCount != raised {
		e.find(RaisedCountWrong, at, "raised_count is %d, but the run has %d requests", r.RaisedCount, raised)
	}
	if !gapless(r.numbers) {
		e.find(RequestNumbersWrong, at, "the requests are numbered %v", shown(r.numbers))
	}
	if r.SettledCount != r.settled {
		e.find(SettledCountWrong, at, "settled_count is %d, but %d requests are settled", r.SettledCount, r.settled)
	}
	if !gapless(r.settledNumbers) {
		e.find(SettledNumbersWrong, at, "the decisions are numbered %v", shown(r.settledNumbers))
	}
	if most := max(r.SettledCount, r.settled); r.ResumeAfter < 0 || r.ResumeAfter > most {
		e.find(ResumeAfterWrong, at, "resume_after is %d, but only %d requests are settled", r.ResumeAfter, most)
	}
	if r.SuspensionID != r.newestSuspension {
		e.find(SuspensionWrong, at, "suspension_id is %q, but the newest request belongs to %q", r.SuspensionID, r.newestSuspension)
	}
	if r.OutputCount != r.history.outputs {
		e.find(OutputCountWrong, at, "output_count is %d, but %d events are outputs", r.OutputCount, r.history.outputs)
	}
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

// shown is as many numbers as a finding shows.
func shown(numbers []int64) []int64 { return numbers[:min(len(numbers), 20)] }

func (e *examiner) checkEnd(r *run, at Finding) {
	switch over := model.Terminal(r.Status); {
	case over && r.FinishedAtMs == 0:
		e.find(FinishedAtMissing, at, "the run is %s, but finished_at_ms is not set", r.Status)
	case !over && r.FinishedAtMs != 0:
		e.find(FinishedAtMisplaced, at, "the run is %s, but finished_at_ms is %d", r.Status, r.FinishedAtMs)
	}
}

// checkLease: only a run that goes on is held, or one that waits while its worker
// stays.
func (e *examiner) checkLease(r *run, at Finding) {
	held := r.LeaseExpiresAtMs != 0
	why := ""
	switch {
	case !held && !r.Attached:
		return
	case !held:
		why = "has an attached worker without a lease"
	case r.Status == api.StatusQueued || model.Terminal(r.Status):
		why = "is held or has an attached worker"
	case model.Waiting(r.Status) && !r.Attached:
		why = "is held, but no worker is attached"
	case r.LeaseEnd != "":
		why = "is held by a lease that was " + string(r.LeaseEnd)
	}
	if why != "" {
		e.find(LeaseMisplaced, at, "the run is %s and %s", r.Status, why)
		return
	}
	if r.Fence <= 0 || r.WorkerID == "" {
		e.find(LeaseWithoutHolder, at, "the run is held by worker %q with fence %d", r.WorkerID, r.Fence)
	}
}

// checkClaimable: a run that goes on can be claimed once nobody holds it, and no
// other can. Those that are queued are checked with their session's queue.
func (e *examiner) checkClaimable(r *run, at Finding) {
	running := r.Status == api.StatusRunning
	switch {
	case r.Status == api.StatusQueued && r.ClaimableAtMs == 0:
	case !running && r.Status != api.StatusQueued && r.ClaimableAtMs != 0:
		e.find(ClaimableMisplaced, at, "the run is %s, but claimable_at_ms is %d", r.Status, r.ClaimableAtMs)
	case running && r.ClaimableAtMs == 0:
		e.find(RunUnclaimable, at, "the run is running, but claimable_at_ms is not set")
	case running && r.ClaimableAtMs < r.LeaseExpiresAtMs:
		e.find(ClaimableMisplaced, at, "claimable_at_ms is %d, but the run is held until %d", r.ClaimableAtMs, r.LeaseExpiresAtMs)
	// A run is claimable at once or when its lease lapses, and no lease is longer.
	case r.ClaimableAtMs > r.UpdatedAtMs+api.MaxLeaseMs:
		e.find(RunUnclaimable, at, "the run was last changed at %d and cannot be claimed before %d", r.UpdatedAtMs, r.ClaimableAtMs)
	}
}
