package doctor

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// checkSession checks what is about several runs of a session: the slot, which no
// clarification takes, and the queue, whose order is that of first_event_id.
func (e *examiner) checkSession(session *model.Session) {
	var active, queued, clarifications []*run
	for _, run := range e.orderedRuns {
		switch {
		case run.Kind == api.KindParentClarification:
			if !model.Terminal(run.Status) {
				clarifications = append(clarifications, run)
			}
		case run.Status == api.StatusQueued:
			queued = append(queued, run)
		case run.Status == api.StatusRunning || model.Waiting(run.Status):
			active = append(active, run)
		}
	}
	for i := 1; i < len(active); i++ {
		e.find(ActiveRunTwice, Finding{RunID: active[i].RunID}, "the run is %s beside run %s, which is %s", active[i].Status, active[0].RunID, active[0].Status)
	}
	named := func(run *run) bool { return run.RunID == session.ActiveRunID }
	held := e.runs[session.ActiveRunID]
	switch {
	case held != nil && held.Kind == api.KindParentClarification:
		e.find(ClarificationActive, Finding{RunID: held.RunID}, "active_run_id names a clarification, which takes no slot")
	case len(active) == 0 && session.ActiveRunID != "":
		e.find(ActiveRunWrong, Finding{RunID: session.ActiveRunID}, "active_run_id names a run that is not active, and none is")
	case len(active) > 0 && !slices.ContainsFunc(active, named):
		e.find(ActiveRunWrong, Finding{RunID: active[0].RunID}, "the run is %s, but active_run_id is %q", active[0].Status, session.ActiveRunID)
	}
	if session.QueuedCount != int64(len(queued)) {
		e.find(QueuedCountWrong, Finding{}, "queued_count is %d, but %d runs are queued", session.QueuedCount, len(queued))
	}
	if session.EndedAtMs != 0 {
		for _, run := range slices.Concat(active, queued, clarifications) {
			e.find(EndedSessionNotIdle, Finding{RunID: run.RunID}, "the session has ended, but the run is %s", run.Status)
		}
		return
	}
	for place, run := range queued {
		switch next := place == 0 && len(active) == 0; {
		case next && run.ClaimableAtMs == 0:
			e.find(RunUnclaimable, Finding{RunID: run.RunID}, "the run is next in the queue, but claimable_at_ms is not set")
		case !next && run.ClaimableAtMs != 0:
			e.find(ClaimableMisplaced, Finding{RunID: run.RunID}, "the run is queued behind others, but claimable_at_ms is %d", run.ClaimableAtMs)
		}
	}
}
