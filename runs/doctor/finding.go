package doctor

// Code is the stable name of a broken invariant; docs/doctor.md lists them all.
type Code string

// Sessions and their logs.
const (
	// SessionMissing: there are rows that carry the id of a session that is not
	// there. They are not checked any further.
	SessionMissing Code = "session_missing"
	// ActiveRunTwice: two runs of a session hold its one slot.
	ActiveRunTwice Code = "active_run_twice"
	// ActiveRunWrong: active_run_id does not name the run that holds the slot.
	ActiveRunWrong Code = "active_run_wrong"
	// QueuedCountWrong: queued_count is not the number of queued runs.
	QueuedCountWrong Code = "queued_count_wrong"
	// EndedSessionNotIdle: the session has ended and a run of it has not.
	EndedSessionNotIdle Code = "ended_session_not_idle"
	// EventGap: numbers are missing in a session's log.
	EventGap Code = "event_gap"
	// EventRepeated: a session's log has a number twice.
	EventRepeated Code = "event_repeated"
	// SessionLastEventWrong: last_event_id is not the number of the newest event.
	SessionLastEventWrong Code = "session_last_event_wrong"
	// EventWithoutRun: an event is about a run that its session does not have.
	EventWithoutRun Code = "event_without_run"
	// EventUnreadable: an event's body is not the JSON object of its type.
	EventUnreadable Code = "event_unreadable"
)

// Runs.
const (
	// RunWaitsForNothing: the run waits and nothing is open. Nobody can end the wait.
	RunWaitsForNothing Code = "run_waits_for_nothing"
	// RunDoesNotWait: something is open on a run that does not wait.
	RunDoesNotWait Code = "run_does_not_wait"
	// WaitingStatusWrong: the run waits under the status of the other kind of
	// request; questions are shown first.
	WaitingStatusWrong Code = "waiting_status_wrong"
	// RaisedCountWrong: raised_count is not the number of the run's requests.
	RaisedCountWrong Code = "raised_count_wrong"
	// RequestNumbersWrong: the requests are not numbered 1, 2, 3, ….
	RequestNumbersWrong Code = "request_numbers_wrong"
	// SettledCountWrong: settled_count is not the number of settled requests.
	SettledCountWrong Code = "settled_count_wrong"
	// SettledNumbersWrong: the decisions are not numbered 1, 2, 3, ….
	SettledNumbersWrong Code = "settled_numbers_wrong"
	// ResumeAfterWrong: resume_after is the number of no decision.
	ResumeAfterWrong Code = "resume_after_wrong"
	// SuspensionWrong: suspension_id is not that of the newest request.
	SuspensionWrong Code = "suspension_wrong"
	// OutputCountWrong: output_count is not the number of output events.
	OutputCountWrong Code = "output_count_wrong"
	// OutputMisplaced: a run that is not completed has an output.
	OutputMisplaced Code = "output_misplaced"
	// LeaseMisplaced: there is a lease, or an attached worker, where there may be
	// none.
	LeaseMisplaced Code = "lease_misplaced"
	// LeaseWithoutHolder: nobody is named who holds the lease.
	LeaseWithoutHolder Code = "lease_without_holder"
	// ClaimableMisplaced: the run may be claimed although it must not: it waits, is
	// over, is behind others in the queue, or somebody holds it.
	ClaimableMisplaced Code = "claimable_misplaced"
	// RunUnclaimable: the run goes on, or is next, and nobody can ever claim it.
	RunUnclaimable Code = "run_unclaimable"
	// FinishedAtMissing: the run is over and has no finished_at_ms.
	FinishedAtMissing Code = "finished_at_missing"
	// FinishedAtMisplaced: the run is not over and has a finished_at_ms.
	FinishedAtMisplaced Code = "finished_at_misplaced"
	// StatusUnknown: the status is none that there is.
	StatusUnknown Code = "status_unknown"
)

// Parent clarifications, and what the child's session has of them.
const (
	// ClarificationStatusWrong: the clarification neither waits for its answer nor is
	// completed.
	ClarificationStatusWrong Code = "clarification_status_wrong"
	// ClarificationRequestsWrong: the clarification has not exactly one request, a
	// question.
	ClarificationRequestsWrong Code = "clarification_requests_wrong"
	// ClarificationClaimed: somebody has claimed the clarification.
	ClarificationClaimed Code = "clarification_claimed"
	// ClarificationActive: the clarification holds its session's slot.
	ClarificationActive Code = "clarification_active"
	// RequesterUnreadable: nobody is named who asks the clarification, so that nobody
	// gets the answer.
	RequesterUnreadable Code = "requester_unreadable"
	// RequesterMisplaced: a run that is no clarification has a requester.
	RequesterMisplaced Code = "requester_misplaced"
	// WaitingOnWrong: the child's request waits for another request than its own, or
	// for another session than its parent.
	WaitingOnWrong Code = "waiting_on_wrong"
	// DueMisplaced: the child's request may expire; its deadline is the parent's.
	DueMisplaced Code = "due_misplaced"
	// ClarificationWithoutEffect: no effect asks the parent what the child has asked.
	ClarificationWithoutEffect Code = "clarification_without_effect"
	// AnswerWithoutEffect: no effect brings the child the answer that was recorded.
	AnswerWithoutEffect Code = "answer_without_effect"
	// AnswerWithoutMessage: the child's request has the parent's answer, but its
	// message is not there.
	AnswerWithoutMessage Code = "answer_without_message"
	// AnswerNotRecorded: the message with the answer is there, but the child's request
	// is open.
	AnswerNotRecorded Code = "answer_not_recorded"
)

// Effects and messages.
const (
	// EffectUnreadable: the kind is none that there is, or the payload is not the JSON
	// of its kind. Nobody can carry it out.
	EffectUnreadable Code = "effect_unreadable"
	// EffectIDWrong: the id is not derived from the kind and from what was decided, or
	// from what is reviewed.
	EffectIDWrong Code = "effect_id_wrong"
	// EffectStateWrong: state, due_at_ms, finished_at_ms and last_error contradict
	// each other.
	EffectStateWrong Code = "effect_state_wrong"
	// EffectWithoutDecision: nothing was decided that owes the effect.
	EffectWithoutDecision Code = "effect_without_decision"
	// MessageUnreadable: the subject is none that there is, or the payload is not the
	// JSON of its subject.
	MessageUnreadable Code = "message_unreadable"
	// MessageIDWrong: the id is not derived from the request that is answered.
	MessageIDWrong Code = "message_id_wrong"
	// MessageStateWrong: state, acknowledged_at_ms, lease_expires_at_ms,
	// delivery_attempts and last_error contradict each other.
	MessageStateWrong Code = "message_state_wrong"
	// MessageWithoutRun: the message is for a run that the session does not have.
	MessageWithoutRun Code = "message_without_run"
)

// Runs and their events.
const (
	// RunWithoutEvents: no event is about the run.
	RunWithoutEvents Code = "run_without_events"
	// RunFirstEventWrong: first_event_id is not that of the run's first event.
	RunFirstEventWrong Code = "run_first_event_wrong"
	// RunLastEventWrong: last_event_id is not that of the run's last event.
	RunLastEventWrong Code = "run_last_event_wrong"
	// TerminalEventMissing: the run is over and no event says so.
	TerminalEventMissing Code = "terminal_event_missing"
	// TerminalEventRepeated: two events say that the run is over.
	TerminalEventRepeated Code = "terminal_event_repeated"
	// EventAfterEnd: something happened to a run after it was over.
	EventAfterEnd Code = "event_after_end"
	// HistoryIllegal: the events tell of a move that is not a legal one.
	HistoryIllegal Code = "history_illegal"
	// HistoryWrong: the events lead to another status than the run has.
	HistoryWrong Code = "history_wrong"
)

// Requests and idempotency records.
const (
	// RequestWithoutRun: the session has no such run.
	RequestWithoutRun Code = "request_without_run"
	// RequestUnreadable: the body is not the JSON of the request.
	RequestUnreadable Code = "request_unreadable"
	// RequestHalfSettled: outcome, resolution, settled_number and settled_at_ms are
	// there in part.
	RequestHalfSettled Code = "request_half_settled"
	// DueAfterSettled: a settled request may still expire.
	DueAfterSettled Code = "due_after_settled"
	// OutcomeOfOtherKind: the outcome is none of the request's kind.
	OutcomeOfOtherKind Code = "outcome_of_other_kind"
	// ResolutionUnreadable: the resolution is not the JSON of one.
	ResolutionUnreadable Code = "resolution_unreadable"
	// ResolutionWrong: the resolution says something else than the request's row.
	ResolutionWrong Code = "resolution_wrong"
	// ResolutionRuleWrong: rule_id and the resolution's via name different rules, or one
	// of them none.
	ResolutionRuleWrong Code = "resolution_rule_wrong"
	// PartialAnswersMisplaced: there is a part of an answer to a request that is
	// settled, or is no question.
	PartialAnswersMisplaced Code = "partial_answers_misplaced"
	// PartialAnswersWrong: the part is not the JSON of one, answers a question twice or
	// one that was not asked, or is the whole answer.
	PartialAnswersWrong Code = "partial_answers_wrong"
	// RequestNotAnnounced: no event says that the request is waited for.
	RequestNotAnnounced Code = "request_not_announced"
	// RequestAnnouncedTwice: two events do.
	RequestAnnouncedTwice Code = "request_announced_twice"
	// ResolutionWithoutEvent: no event reports the resolution.
	ResolutionWithoutEvent Code = "resolution_without_event"
	// ResolutionEventRepeated: two events report the resolution.
	ResolutionEventRepeated Code = "resolution_event_repeated"
	// ResolutionEventWrong: the event reports another outcome.
	ResolutionEventWrong Code = "resolution_event_wrong"
	// OpenRequestResolved: an event reports a resolution of an open request.
	OpenRequestResolved Code = "open_request_resolved"
	// EventWithoutRequest: an event is about a request that its run does not have.
	EventWithoutRequest Code = "event_without_request"
	// RecordWithoutRun: an idempotency record names a run that is not there.
	RecordWithoutRun Code = "record_without_run"
)

// Standing rules.
const (
	// RuleOutlivesSession: the session has ended and a rule of it was not revoked.
	RuleOutlivesSession Code = "rule_outlives_session"
	// RuleUsesWrong: uses is not within max_uses, or max_uses stands where there is none.
	RuleUsesWrong Code = "rule_uses_wrong"
	// RuleRevocationWrong: revoked_at_ms and revoked_by are there in part.
	RuleRevocationWrong Code = "rule_revocation_wrong"
)

// Finding is one broken invariant and where it is broken. Ids that do not apply are
// empty.
type Finding struct {
	Code           Code   `json:"code"`
	SessionID      string `json:"session_id,omitempty"`
	RunID          string `json:"run_id,omitempty"`
	RequestID      string `json:"request_id,omitempty"`
	EventID        int64  `json:"event_id,omitzero"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	EffectID       string `json:"effect_id,omitempty"`
	MessageID      string `json:"message_id,omitempty"`
	RuleID         string `json:"rule_id,omitempty"`
	// Detail says what is there and what should be.
	Detail string `json:"detail"`
}
