package doctor

// Code is the stable name of a broken [Invariant]. docs/doctor.md lists all codes.
type Code string

// The codes. [Invariants] says what each means.
const (
	StorageDamaged        Code = "storage_damaged"
	SessionMissing        Code = "session_missing"
	ActiveRunTwice        Code = "active_run_twice"
	ActiveRunWrong        Code = "active_run_wrong"
	QueuedCountWrong      Code = "queued_count_wrong"
	EndedSessionNotIdle   Code = "ended_session_not_idle"
	EventGap              Code = "event_gap"
	EventRepeated         Code = "event_repeated"
	SessionLastEventWrong Code = "session_last_event_wrong"
	EventWithoutRun       Code = "event_without_run"
	EventUnreadable       Code = "event_unreadable"
	EventChainBroken      Code = "event_chain_broken"
	SessionLastHashWrong  Code = "session_last_hash_wrong"
	SessionLifeWrong      Code = "session_life_wrong"
	SessionOutputsWrong   Code = "session_outputs_wrong"

	RunWaitsForNothing  Code = "run_waits_for_nothing"
	RunDoesNotWait      Code = "run_does_not_wait"
	WaitingStatusWrong  Code = "waiting_status_wrong"
	RaisedCountWrong    Code = "raised_count_wrong"
	RequestNumbersWrong Code = "request_numbers_wrong"
	SettledCountWrong   Code = "settled_count_wrong"
	SettledNumbersWrong Code = "settled_numbers_wrong"
	ResumeAfterWrong    Code = "resume_after_wrong"
	SuspensionWrong     Code = "suspension_wrong"
	OutputCountWrong    Code = "output_count_wrong"
	OutputMisplaced     Code = "output_misplaced"
	DataKeyMisplaced    Code = "data_key_misplaced"
	LeaseMisplaced      Code = "lease_misplaced"
	LeaseWithoutHolder  Code = "lease_without_holder"
	ClaimableMisplaced  Code = "claimable_misplaced"
	RunUnclaimable      Code = "run_unclaimable"
	FinishedAtMissing   Code = "finished_at_missing"
	FinishedAtMisplaced Code = "finished_at_misplaced"
	StatusUnknown       Code = "status_unknown"

	ClarificationStatusWrong   Code = "clarification_status_wrong"
	ClarificationRequestsWrong Code = "clarification_requests_wrong"
	ClarificationClaimed       Code = "clarification_claimed"
	ClarificationActive        Code = "clarification_active"
	RequesterUnreadable        Code = "requester_unreadable"
	RequesterMisplaced         Code = "requester_misplaced"
	WaitingOnWrong             Code = "waiting_on_wrong"
	DueMisplaced               Code = "due_misplaced"
	ClarificationWithoutEffect Code = "clarification_without_effect"
	AnswerWithoutEffect        Code = "answer_without_effect"
	AnswerWithoutMessage       Code = "answer_without_message"
	AnswerNotRecorded          Code = "answer_not_recorded"

	EffectUnreadable      Code = "effect_unreadable"
	EffectIDWrong         Code = "effect_id_wrong"
	EffectStateWrong      Code = "effect_state_wrong"
	EffectWithoutDecision Code = "effect_without_decision"
	MessageUnreadable     Code = "message_unreadable"
	MessageIDWrong        Code = "message_id_wrong"
	MessageStateWrong     Code = "message_state_wrong"
	MessageWithoutRun     Code = "message_without_run"

	RunWithoutEvents      Code = "run_without_events"
	RunFirstEventWrong    Code = "run_first_event_wrong"
	RunLastEventWrong     Code = "run_last_event_wrong"
	TerminalEventMissing  Code = "terminal_event_missing"
	TerminalEventRepeated Code = "terminal_event_repeated"
	EventAfterEnd         Code = "event_after_end"
	HistoryIllegal        Code = "history_illegal"
	HistoryWrong          Code = "history_wrong"

	RequestWithoutRun       Code = "request_without_run"
	RequestUnreadable       Code = "request_unreadable"
	RequestHalfSettled      Code = "request_half_settled"
	DueAfterSettled         Code = "due_after_settled"
	OutcomeOfOtherKind      Code = "outcome_of_other_kind"
	ResolutionUnreadable    Code = "resolution_unreadable"
	ResolutionWrong         Code = "resolution_wrong"
	ResolutionRuleWrong     Code = "resolution_rule_wrong"
	PartialAnswersMisplaced Code = "partial_answers_misplaced"
	PartialAnswersWrong     Code = "partial_answers_wrong"
	AcknowledgementWrong    Code = "acknowledgement_wrong"
	EscalationStateWrong    Code = "escalation_state_wrong"
	RequestNotAnnounced     Code = "request_not_announced"
	RequestAnnouncedTwice   Code = "request_announced_twice"
	ResolutionWithoutEvent  Code = "resolution_without_event"
	ResolutionEventRepeated Code = "resolution_event_repeated"
	ResolutionEventWrong    Code = "resolution_event_wrong"
	OpenRequestResolved     Code = "open_request_resolved"
	EventWithoutRequest     Code = "event_without_request"
	RecordWithoutRun        Code = "record_without_run"
	NameEventWrong          Code = "name_event_wrong"

	RuleOutlivesSession Code = "rule_outlives_session"
	RuleUsesWrong       Code = "rule_uses_wrong"
	RuleRevocationWrong Code = "rule_revocation_wrong"

	AuditEntryMissing Code = "audit_entry_missing"
	AuditChainBroken  Code = "audit_chain_broken"
)

// Finding is one broken invariant with the row that breaks it. Ids that do not apply are empty.
type Finding struct {
	Code      Code   `json:"code"`
	SessionID string `json:"session_id,omitempty"`
	RunID     string `json:"run_id,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	// EventID is the number of the event, or of the line of the audit's own log.
	EventID        int64  `json:"event_id,omitzero"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	EffectID       string `json:"effect_id,omitempty"`
	MessageID      string `json:"message_id,omitempty"`
	RuleID         string `json:"rule_id,omitempty"`
	// Detail says what the row holds and what it contradicts.
	Detail string `json:"detail"`
}
