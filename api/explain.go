package api

// ExplainState is why a run or a request is waiting.
type ExplainState string

// States of explanations.
const (
	// ExplainSettled: the request is decided.
	ExplainSettled ExplainState = "settled"
	// ExplainOver: the run has ended.
	ExplainOver ExplainState = "over"
	// ExplainWaitingForPeople: a person has to decide.
	ExplainWaitingForPeople ExplainState = "waiting_for_people"
	// ExplainNobodyCanDecide: a person has to decide, but no credential allows it.
	ExplainNobodyCanDecide ExplainState = "nobody_can_decide"
	// ExplainWaitingForParent: the parent session has to answer a question of the run.
	ExplainWaitingForParent ExplainState = "waiting_for_parent"
	// ExplainQueuedBehindRun: another run of the session is ahead in the queue.
	ExplainQueuedBehindRun ExplainState = "queued_behind_run"
	// ExplainNoWorker: the run is claimable, but no worker has claimed it.
	ExplainNoWorker ExplainState = "no_worker"
	// ExplainDelayed: the run failed and becomes claimable again after a delay.
	ExplainDelayed ExplainState = "delayed"
	// ExplainHeld: a worker holds the run.
	ExplainHeld ExplainState = "held"
	// ExplainStuck: the rows contradict each other, and the run cannot continue by itself.
	ExplainStuck ExplainState = "stuck"
)

// ExplainStates returns all states.
func ExplainStates() []ExplainState {
	return []ExplainState{
		ExplainSettled, ExplainOver, ExplainWaitingForPeople, ExplainNobodyCanDecide, ExplainWaitingForParent,
		ExplainQueuedBehindRun, ExplainNoWorker, ExplainDelayed, ExplainHeld, ExplainStuck,
	}
}

// Limits of explanations.
const (
	// MaxMayDecide is the maximum number of names in RequestExplanation.MayDecide.
	MaxMayDecide = 50
	// MaxExplainChain is the maximum number of runs in one explanation: runs ahead in a queue and
	// runs that are asked, together.
	MaxExplainChain = 20
	// MaxExplainedRequests is the maximum number of requests in a RunExplanation, and of effects.
	MaxExplainedRequests = 20
	// MaxExplainedRules is the maximum number of rules in a RequestExplanation.
	MaxExplainedRules = 20
)

// RequestExplanation says what an approval or a question waits for.
type RequestExplanation struct {
	SessionID string       `json:"session_id"`
	RunID     string       `json:"run_id"`
	RequestID string       `json:"request_id"`
	Handle    string       `json:"handle"`
	Kind      RequestKind  `json:"kind"`
	State     ExplainState `json:"state"`
	// SinceMs is the time when the state began.
	SinceMs int64 `json:"since_ms"`
	// NowMs is the time of the explanation by the service's clock.
	NowMs int64 `json:"now_ms"`
	// Text is the explanation in English.
	Text string `json:"text"`
	// MayDecide are the principals with a valid credential whose allow or answer would be accepted,
	// sorted, at most MaxMayDecide. It is empty for a settled request and with Anyone.
	MayDecide []string `json:"may_decide"`
	// MayDecideMore counts the principals beyond MaxMayDecide.
	MayDecideMore int64 `json:"may_decide_more,omitzero"`
	// Anyone is set when the service requires no credential.
	Anyone bool `json:"anyone,omitzero"`
	// You says whether the caller may decide.
	You *ExplainedCaller `json:"you,omitempty"`
	// Deadline is absent once the request is settled.
	Deadline *ExplainedDeadline `json:"deadline,omitempty"`
	// Notified has the notifications about the request by the channels of the replica, at most
	// MaxRecipients. Of a settled request it has no pending ones.
	Notified []ExplainedNotice `json:"notified,omitempty"`
	// NotReached has whom the steps of the open request's escalation selected and who got no message since, at
	// most MaxNotReached. Without an escalation it has the people who may decide and have no verified address.
	NotReached []ExplainedNotReached `json:"not_reached,omitempty"`
	// NotifyAtMs is when people will be notified of the request.
	NotifyAtMs int64 `json:"notify_at_ms,omitzero"`
	// Next is the next step of the request's escalation; absent without one.
	Next *ExplainedNext `json:"next,omitempty"`
	// EscalatedBy is the standing rule whose escalation the open request has.
	EscalatedBy *EscalationRule `json:"escalated_by,omitempty"`
	// Acknowledgement are the people who are looking at an open request now, oldest first.
	Acknowledgement []Acknowledgement `json:"acknowledgement,omitempty"`
	// SnoozedUntilMs is until when the caller snoozes the open request; 0 for not now.
	SnoozedUntilMs int64 `json:"snoozed_until_ms,omitzero"`
	// Rules are the standing rules about the tool and the input of an open approval, those that apply first, then the
	// newest, at most MaxExplainedRules. Requests with sensitive values have none.
	Rules []ExplainedRule `json:"rules,omitempty"`
	// RulesMore counts the others.
	RulesMore int64 `json:"rules_more,omitzero"`
	// NoWorkerSinceMs is as in PendingExplanation.
	NoWorkerSinceMs int64 `json:"no_worker_since_ms,omitzero"`
}

// PendingExplanation says in one line of a list what to know about an open request besides its deadline.
type PendingExplanation struct {
	// Text is the line in English.
	Text string `json:"text"`
	// NoWorkerSinceMs is set if a decision would wait for a worker: none has asked for runs of the agent
	// since then, and none has one. It is 0 if a worker is there, if the run needs none, and if that is not
	// known, for example because another replica may have the worker.
	NoWorkerSinceMs int64 `json:"no_worker_since_ms,omitzero"`
	// Notified are the people to whom the steps of the escalation have written, at most MaxRecipients. The
	// explanation of the request says whether a message has arrived.
	Notified []string `json:"notified,omitempty"`
	// Next is the next step of the request's escalation.
	Next *ExplainedNext `json:"next,omitempty"`
}

// NoticeState is the state of a notification.
type NoticeState string

// The states of notifications.
const (
	NoticePending NoticeState = "pending"
	NoticeSent    NoticeState = "sent"
	NoticeFailed  NoticeState = "failed" // given up, at the person's last address
	// NoticeMoved: given up at this address, and sent on to the person's next one.
	NoticeMoved NoticeState = "moved"
	// NoticeWithdrawn: the channel has put the outcome in the place of the message, or removed it, because the
	// request was settled.
	NoticeWithdrawn NoticeState = "withdrawn"
	// NoticeSkipped: there was no message of its own. Because of a flood another one counts it, a newer one took its
	// place, or the person could no longer decide.
	NoticeSkipped NoticeState = "skipped"
)

// ExplainedNotice is a notification of a person. It has no address.
type ExplainedNotice struct {
	Who     string      `json:"who"`
	Channel string      `json:"channel"`
	State   NoticeState `json:"state"`
	// AtMs is when the state began.
	AtMs int64 `json:"at_ms"`
	// Attempts counts the attempts, NextAtMs is when the next one may start, and Error is the error of
	// the last one.
	Attempts int64  `json:"attempts"`
	NextAtMs int64  `json:"next_at_ms,omitzero"`
	Error    string `json:"error,omitempty"`
	// AtInbox says that a pending message waits while the person is looking at their inbox.
	AtInbox bool `json:"at_inbox,omitzero"`
	// NextChannel is the channel of the next address, with the state [NoticeMoved].
	NextChannel string `json:"next_channel,omitempty"`
}

// ExplainedNotReached says why somebody got no message.
type ExplainedNotReached struct {
	// Who is a principal or a selector.
	Who string `json:"who"`
	// WhyNot is the reason, as in the event request_notified, or "nobody" if the selector fits nobody who may decide.
	WhyNot string `json:"why_not"`
}

// ExplainedCaller says whether the caller's allow or answer would be accepted now.
type ExplainedCaller struct {
	MayDecide bool `json:"may_decide"`
	// Code says why the caller may not decide; empty with MayDecide.
	Code Code `json:"code,omitempty"`
}

// ExplainedNext is the next step of an escalation.
type ExplainedNext struct {
	AtMs int64 `json:"at_ms"`
	// Does is "notify".
	Does string `json:"does"`
	Step int64  `json:"step"`
	// Who are the selectors of the step.
	Who []string `json:"who"`
}

// ExplainedDeadline is when a request expires.
type ExplainedDeadline struct {
	AtMs int64 `json:"at_ms"`
	// Does is a DeadlineAction. Without an escalation it is "deny" for an approval, "decline" for a question
	// of a sub-agent, and "cancel_run" for other questions.
	Does string `json:"does"`
}

// RunExplanation says what a run waits for.
type RunExplanation struct {
	SessionID string       `json:"session_id"`
	RunID     string       `json:"run_id"`
	AgentID   string       `json:"agent_id"`
	Status    Status       `json:"status"`
	State     ExplainState `json:"state"`
	SinceMs   int64        `json:"since_ms"`
	NowMs     int64        `json:"now_ms"`
	Text      string       `json:"text"`
	// Requests are the open approvals and questions, at most MaxExplainedRequests.
	Requests []RequestExplanation `json:"requests,omitempty"`
	// RequestsMore counts the requests beyond MaxExplainedRequests.
	RequestsMore int64 `json:"requests_more,omitzero"`
	// QueuedAhead counts the runs of the session that are ahead in the queue.
	QueuedAhead int64 `json:"queued_ahead,omitzero"`
	// QueuedBehind is the run directly ahead. It is absent when the caller may not see it.
	QueuedBehind *ExplainedRun `json:"queued_behind,omitempty"`
	// ClaimableSinceMs is the time since which the run is claimable.
	ClaimableSinceMs int64 `json:"claimable_since_ms,omitzero"`
	// WorkersWaiting counts the waiting claims at this replica that accept runs of this kind. Set
	// for a claimable run.
	WorkersWaiting *int64 `json:"workers_waiting,omitempty"`
	// ClaimableAtMs is the time when a delayed run becomes claimable.
	ClaimableAtMs int64 `json:"claimable_at_ms,omitzero"`
	// HeldBy is the worker that holds the lease.
	HeldBy *ExplainedHolder `json:"held_by,omitempty"`
	// WaitingOn is the question in the parent's session that the run waits for. Of a run that a worker has, it is a
	// run that waits for people in a session below: the worker may wait for it.
	WaitingOn *ExplainedRelative `json:"waiting_on,omitempty"`
	// ChildrenMore counts other such runs below; there may be still more if it is at least
	// MaxExplainedRequests - 1.
	ChildrenMore int64 `json:"children_more,omitzero"`
	// Owed are the run's pending and failed effects, at most MaxExplainedRequests.
	Owed []EffectView `json:"owed,omitempty"`
	// Finding is the holdpoint doctor code for a run that is stuck.
	Finding string `json:"finding,omitempty"`
}

// ExplainedRun is another run, and what it waits for.
type ExplainedRun struct {
	RunID   string          `json:"run_id"`
	Status  Status          `json:"status"`
	Explain *RunExplanation `json:"explain,omitempty"`
}

// ExplainedHolder is the worker that holds a run.
type ExplainedHolder struct {
	WorkerID    string `json:"worker_id"`
	LeaseLeftMs int64  `json:"lease_left_ms"`
	// LastHeartbeatMs is the time of the run's last change, by a heartbeat or otherwise.
	LastHeartbeatMs int64 `json:"last_heartbeat_ms"`
}

// Relation says whose run another run is.
type Relation string

// The relations.
const (
	RelationParent Relation = "parent" // it asks the run's question, in the parent's session
	RelationChild  Relation = "child"  // it waits for people, in a session below
)

// ExplainedRelative is a run of the parent's session, or of a child, that a run waits for.
type ExplainedRelative struct {
	Relation  Relation `json:"relation"`
	SessionID string   `json:"session_id"`
	RunID     string   `json:"run_id"`
	// RequestID is the question in the parent's session; empty for a child.
	RequestID string `json:"request_id,omitempty"`
	// Explain is absent when the question has not arrived there yet, or the caller may not see that
	// session.
	Explain *RunExplanation `json:"explain,omitempty"`
}
