package api

// ExplainState is why a run or a request is waiting.
type ExplainState string

// The states of explanations.
const (
	// ExplainSettled: the request is decided.
	ExplainSettled ExplainState = "settled"
	// ExplainOver: the run is over.
	ExplainOver ExplainState = "over"
	// ExplainWaitingForPeople: a person has to decide.
	ExplainWaitingForPeople ExplainState = "waiting_for_people"
	// ExplainNobodyCanDecide: a person has to decide, and nobody may.
	ExplainNobodyCanDecide ExplainState = "nobody_can_decide"
	// ExplainWaitingForParent: the session above has to answer a question of the run.
	ExplainWaitingForParent ExplainState = "waiting_for_parent"
	// ExplainQueuedBehindRun: another run of the session comes first.
	ExplainQueuedBehindRun ExplainState = "queued_behind_run"
	// ExplainNoWorker: the run can be claimed, and no worker has claimed it.
	ExplainNoWorker ExplainState = "no_worker"
	// ExplainDelayed: the run failed, and can be claimed again after a pause.
	ExplainDelayed ExplainState = "delayed"
	// ExplainHeld: a worker has the run.
	ExplainHeld ExplainState = "held"
	// ExplainStuck: the rows contradict each other, and nothing goes on by itself.
	ExplainStuck ExplainState = "stuck"
)

// ExplainStates returns all states of explanations.
func ExplainStates() []ExplainState {
	return []ExplainState{
		ExplainSettled, ExplainOver, ExplainWaitingForPeople, ExplainNobodyCanDecide, ExplainWaitingForParent,
		ExplainQueuedBehindRun, ExplainNoWorker, ExplainDelayed, ExplainHeld, ExplainStuck,
	}
}

// Limits of explanations.
const (
	// MaxMayDecide bounds the names in RequestExplanation.MayDecide.
	MaxMayDecide = 50
	// MaxExplainChain bounds the runs of one explanation: those ahead in a queue, and those that are
	// asked, together.
	MaxExplainChain = 20
	// MaxExplainedRequests bounds the requests in a RunExplanation, and the effects.
	MaxExplainedRequests = 20
)

// RequestExplanation says what an approval or a question waits for.
type RequestExplanation struct {
	SessionID string       `json:"session_id"`
	RunID     string       `json:"run_id"`
	RequestID string       `json:"request_id"`
	Handle    string       `json:"handle"`
	Kind      RequestKind  `json:"kind"`
	State     ExplainState `json:"state"`
	// SinceMs is when the state began.
	SinceMs int64 `json:"since_ms"`
	// NowMs is the moment of the explanation, by the service's clock.
	NowMs int64 `json:"now_ms"`
	// Text is the explanation in English.
	Text string `json:"text"`
	// MayDecide are the principals with a credential that works whose allow or answer would be accepted,
	// sorted, at most MaxMayDecide. It is empty for a request that is settled, and with Anyone.
	MayDecide []string `json:"may_decide"`
	// MayDecideMore counts the others.
	MayDecideMore int64 `json:"may_decide_more,omitzero"`
	// Anyone says that the service asks nobody for a credential.
	Anyone bool `json:"anyone,omitzero"`
	// You says whether the caller may decide.
	You *ExplainedCaller `json:"you,omitempty"`
	// Deadline is absent once the request is settled.
	Deadline *ExplainedDeadline `json:"deadline,omitempty"`
}

// ExplainedCaller says whether the caller's allow or answer would be accepted now.
type ExplainedCaller struct {
	MayDecide bool `json:"may_decide"`
	// Code is why the caller may not decide; empty when MayDecide.
	Code Code `json:"code,omitempty"`
}

// ExplainedDeadline is when a request expires.
type ExplainedDeadline struct {
	AtMs int64 `json:"at_ms"`
	// Does is "deny" for an approval, "decline" for a question of a sub-agent, "cancel_run" for other
	// questions.
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
	// RequestsMore counts the others.
	RequestsMore int64 `json:"requests_more,omitzero"`
	// QueuedAhead counts the runs of the session that come first.
	QueuedAhead int64 `json:"queued_ahead,omitzero"`
	// QueuedBehind is the run before this one. It is absent when the caller may not see it.
	QueuedBehind *ExplainedRun `json:"queued_behind,omitempty"`
	// ClaimableSinceMs is since when a worker could claim the run.
	ClaimableSinceMs int64 `json:"claimable_since_ms,omitzero"`
	// WorkersWaiting counts the claims that wait at this replica for runs of this kind. It is there for
	// a run that can be claimed.
	WorkersWaiting *int64 `json:"workers_waiting,omitempty"`
	// ClaimableAtMs is when a delayed run can be claimed.
	ClaimableAtMs int64 `json:"claimable_at_ms,omitzero"`
	// HeldBy is the worker with the lease.
	HeldBy *ExplainedHolder `json:"held_by,omitempty"`
	// WaitingOn is the question that the run waits for in its parent's session.
	WaitingOn *ExplainedParent `json:"waiting_on,omitempty"`
	// Owed are effects of the run that are pending or were given up, at most MaxExplainedRequests.
	Owed []EffectView `json:"owed,omitempty"`
	// Finding is the code of holdpoint doctor for a run that is stuck.
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
	// LastHeartbeatMs is when the run last changed, by a heartbeat or otherwise.
	LastHeartbeatMs int64 `json:"last_heartbeat_ms"`
}

// ExplainedParent is the question of a run in its parent's session.
type ExplainedParent struct {
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"`
	// Explain is absent when the question has not arrived there, or the caller may not see the session.
	Explain *RunExplanation `json:"explain,omitempty"`
}
