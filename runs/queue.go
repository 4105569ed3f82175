package runs

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// enqueue puts a new run at the end of its session's queue.
func (w *workingCopy) enqueue(run *model.Run) {
	w.session.QueuedCount++
	w.emit(run, api.EventQueued, queuedEvent{api.EventQueued, run.QueuedAhead + 1})
	w.promote()
}

// startRun starts a run that is not in the queue any more. A call takes no slot of the session.
func (w *workingCopy) startRun(run *model.Run) {
	run.QueuedAhead = 0
	w.moveRun(run, api.StatusRunning)
	run.StartedAtMs = w.nowMs
	run.ClaimableAtMs = w.nowMs
	if model.TakesSlot(run.Kind) {
		w.session.ActiveRunID = run.RunID
	}
	w.emit(run, api.EventStarted, plainEvent{api.EventStarted})
}

// makeSession creates the session and inserts its row. Without an AgentID it belongs to the default
// agent.
func (w *workingCopy) makeSession(session model.Session) {
	session.AgentID, session.CreatedAtMs = cmp.Or(session.AgentID, model.DefaultAgentID), w.nowMs
	w.session = &session
	w.sessionNew = true
	w.saveSession()
}

// freeSlot takes the session's slot from a finished run. No decision leaves such a slot; without the
// repair the session would be stuck.
func (w *workingCopy) freeSlot() {
	if w.session == nil || w.session.ActiveRunID == "" {
		return
	}
	if run := w.state.Runs[w.session.ActiveRunID]; run != nil && model.Terminal(run.Status) {
		w.session.ActiveRunID = ""
		w.saveSession()
		w.promote()
	}
}

// promote makes the head of the queue claimable when the slot is free.
func (w *workingCopy) promote() {
	if w.session.ActiveRunID != "" || w.session.QueuedCount == 0 || w.session.EndedAtMs != 0 {
		return
	}
	if head := w.queueHead(); head != nil && head.ClaimableAtMs == 0 {
		head.ClaimableAtMs = w.nowMs
		w.saveRun(head)
	}
}

// queueHead returns the queued run that starts next, or nil.
func (w *workingCopy) queueHead() *model.Run {
	var head *model.Run
	consider := func(run *model.Run) {
		if run.Status == api.StatusQueued && run.SessionID == w.state.SessionID &&
			(head == nil || run.FirstEventID < head.FirstEventID) {
			head = run
		}
	}
	for runID, row := range w.state.Runs {
		if w.runs[runID] == nil {
			consider(row)
		}
	}
	for _, run := range w.runs {
		consider(run)
	}
	if head == nil {
		return nil
	}
	return w.run(head.RunID)
}

// unfinished returns the session's loaded non-terminal runs, in the order in which they were
// accepted.
func (w *workingCopy) unfinished() []*model.Run {
	ids := make(map[string]bool, len(w.state.Runs)+len(w.runs))
	for runID := range w.state.Runs {
		ids[runID] = true
	}
	for runID := range w.runs {
		ids[runID] = true
	}
	list := make([]*model.Run, 0, len(ids))
	for runID := range ids {
		if run := w.run(runID); run != nil && !model.Terminal(run.Status) {
			list = append(list, run)
		}
	}
	slices.SortFunc(list, func(a, b *model.Run) int { return cmp.Compare(a.FirstEventID, b.FirstEventID) })
	return list
}

// leaveQueue removes a run that starts or ends from the queue.
func (w *workingCopy) leaveQueue(run *model.Run) {
	w.session.QueuedCount--
	w.saveSession()
	w.changes.dequeued = append(w.changes.dequeued, run.FirstEventID)
	run.QueuedAhead = 0
}

// finishRun ends a run and its lease, and removes it from the queue or the slot. Settle its open
// requests first.
func (w *workingCopy) finishRun(run *model.Run, to api.Status, leaseEnd model.LeaseEnd, eventType api.EventType, body any) {
	queued := run.Status == api.StatusQueued
	w.moveRun(run, to)
	run.FinishedAtMs = w.nowMs
	run.ClaimableAtMs = 0
	run.LeaseExpiresAtMs = 0
	if leaseEnd != model.LeaseRevoked || run.LeaseEnd == "" { // a lease that its holder ended is not revoked
		run.LeaseEnd = leaseEnd
	}
	run.Attached = false
	run.SecretsErased = run.SecretsErased || run.DataKey != ""
	run.DataKey = ""
	w.emit(run, eventType, body)
	if queued {
		w.leaveQueue(run)
	}
	if w.session.ActiveRunID == run.RunID {
		w.session.ActiveRunID = ""
	}
	w.saveSession()
	w.promote()
}
