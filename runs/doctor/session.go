package doctor

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// orderRuns orders the session's runs by their first events, and collects the runs in the slot
// and in the queue. Calls and clarifications are in neither.
func (e *examiner) orderRuns() {
	e.active, e.queued = e.active[:0], e.queued[:0]
	for _, run := range e.orderedRuns {
		switch {
		case !model.TakesSlot(run.Kind):
		case run.Status == api.StatusQueued:
			e.queued = append(e.queued, run)
		case run.Status == api.StatusRunning || model.Waiting(run.Status):
			e.active = append(e.active, run)
		}
	}
}

// next reports whether a run is the next to be claimed: the slot is free and it is first in the
// queue.
func (e *examiner) next(r *run) bool { return len(e.active) == 0 && e.queued[0] == r }

// activeRunInvariants are checked for each session. The finding names the run in active_run_id
// or, if that is not a run of the slot, the run that holds the slot.
var activeRunInvariants = table[*model.Session]{{
	invariant(ClarificationActive, "A parent's run or a call holds its session's slot. Neither takes it.", func(e *examiner, session *model.Session) string {
		named := e.runs[session.ActiveRunID]
		return when(named != nil && !model.TakesSlot(named.Kind), "active_run_id names a run of kind %s, which takes no slot", kindOf(named))
	}),
	invariant(ActiveRunWrong, "`active_run_id` does not name the run that holds the slot.", func(e *examiner, session *model.Session) string {
		named := func(run *run) bool { return run.RunID == session.ActiveRunID }
		switch {
		case len(e.active) == 0:
			return when(session.ActiveRunID != "", "active_run_id names a run that is not active, and none is")
		case !slices.ContainsFunc(e.active, named):
			return when(true, "the run is %s, but active_run_id is %q", e.active[0].Status, session.ActiveRunID)
		}
		return ""
	}),
}}

func kindOf(r *run) api.RunKind {
	if r == nil {
		return ""
	}
	return r.Kind
}

// activeRunAt locates a finding about the session's slot.
func (e *examiner) activeRunAt(session *model.Session) Finding {
	if named := e.runs[session.ActiveRunID]; len(e.active) > 0 && (named == nil || model.TakesSlot(named.Kind)) {
		return Finding{RunID: e.active[0].RunID}
	}
	return Finding{RunID: session.ActiveRunID}
}

// sessionInvariants are checked for each session.
var sessionInvariants = table[*model.Session]{
	{invariant(QueuedCountWrong, "`queued_count` is not the number of queued runs.", func(e *examiner, session *model.Session) string {
		return unless(session.QueuedCount == int64(len(e.queued)), "queued_count is %d, but %d runs are queued", session.QueuedCount, len(e.queued))
	})},
	{invariant(SessionOutputsWrong, "The session's `output_count` is not the number of its output events that are kept.", func(e *examiner, session *model.Session) string {
		return unless(session.OutputCount == e.outputs, "output_count is %d, but %d events are outputs", session.OutputCount, e.outputs)
	})},
	{invariant(SessionLastEventWrong, "The session's `last_event_id` is not the number of its newest event.", func(e *examiner, session *model.Session) string {
		return unless(session.LastEventID == max(e.lastEventID, e.firstKept-1), "last_event_id is %d, but the newest event is %d", session.LastEventID, e.lastEventID)
	})},
	{invariant(SessionLastHashWrong, "The session's `last_event_hash` is not the hash of its newest event.", func(e *examiner, session *model.Session) string {
		known := e.lastEventID > max(e.firstKept-1, 0) && session.LastEventID == e.lastEventID
		return when(known && session.LastEventHash != e.lastEventHash, "last_event_hash is not the hash of event %d", e.lastEventID)
	})},
	{invariant(SessionLifeWrong, "The session's `life` is not the hash of its first event.", func(e *examiner, session *model.Session) string {
		return when(e.firstEventHash != "" && session.Life != "" && session.Life != e.firstEventHash, "life is not the hash of event 1")
	})},
}

// recordInvariants are checked for each idempotency record. A key outlives its run, so it may be of
// an earlier session or run with the same id.
var recordInvariants = table[*model.IdempotencyRecord]{{invariant(RecordWithoutRun, "An idempotency record names a run that its session does not have.", func(e *examiner, record *model.IdempotencyRecord) string {
	deleted := record.Operation != model.OperationName && (e.firstKept > 0 || record.CreatedAtMs < e.createdAtMs)
	return unless(e.runs[record.RunID] != nil || deleted, "the %s record of scope %s names a run that the session does not have", record.Operation, record.Scope)
}), invariant(NameEventWrong, "A name of a part of a run begins after no event of that run.", func(e *examiner, record *model.IdempotencyRecord) string {
	of := e.runs[record.RunID]
	return when(of != nil && record.EventID != 0 && record.CreatedAtMs >= of.SubmittedAtMs && (record.EventID < of.FirstEventID || record.EventID > of.LastEventID),
		"the name %s begins after event %d, which is none of its run", record.IdempotencyKey, record.EventID)
})}}

// ruleInvariants are checked for each standing rule, including rules of missing sessions and of
// all sessions.
var ruleInvariants = table[*rules.Rule]{
	{
		invariant(RuleRevocationWrong, "Only one of `revoked_at_ms` and `revoked_by` is set.", func(_ *examiner, rule *rules.Rule) string {
			return unless((rule.RevokedAtMs != 0) == (rule.RevokedBy != ""), "revoked_at_ms is %d and revoked_by %q", rule.RevokedAtMs, rule.RevokedBy)
		}),
		invariant(RuleOutlivesSession, "The session has ended and one of its rules that was in force was not revoked.", func(e *examiner, rule *rules.Rule) string {
			return when(e.endedAtMs != 0 && rule.WhyOver(e.endedAtMs) == "", "the session has ended, but its rule was not revoked")
		}),
	},
	{invariant(RuleUsesWrong, "`uses` is more than `max_uses`, or a rule of all sessions has a `max_uses`.", func(_ *examiner, rule *rules.Rule) string {
		if rule.MaxUses < 0 || rule.Uses < 0 || rule.Uses > rule.MaxUses {
			return when(true, "uses is %d and max_uses %d", rule.Uses, rule.MaxUses)
		}
		return when(rule.MaxUses != 0 && rule.SessionID == rules.AllSessions, "max_uses is %d, but the rule holds in all sessions", rule.MaxUses)
	})},
}
