package api

// RequestKind says what a request asks for, on the wire.
type RequestKind string

// The kinds of requests.
const (
	RequestApproval RequestKind = "approval"
	RequestQuestion RequestKind = "question"
)

// RequestView is an approval or a question, open or settled, with its context.
type RequestView struct {
	SessionID string      `json:"session_id"`
	AgentID   string      `json:"agent_id"`
	RunID     string      `json:"run_id"`
	Run       RequestRun  `json:"run"`
	Kind      RequestKind `json:"kind"`
	// Requester is set for a parent clarification.
	Requester
	// Request is an [ApprovalRequest] or a [UserQuestionRequest], by Kind.
	Request JSON `json:"request"`
	// RecordedDecision and Resolution are nil while it is open.
	RecordedDecision *RecordedDecision `json:"recorded_decision,omitempty"`
	Resolution       *Resolution       `json:"resolution,omitempty"`
	// RequesterExcluded is set for whoever asks and may not allow it. Lists and streams do not have it.
	RequesterExcluded *RequesterExcluded `json:"requester_excluded,omitempty"`
}

// RequesterExcluded says that an open approval excludes its requesters, and that the caller is one: its
// allow would be refused with [CodeRequesterExcluded]. It may deny.
type RequesterExcluded struct {
	Detail string `json:"detail"` // why, for a person
}

// RequestRun is what a request's view shows of its run.
type RequestRun struct {
	RunID  string  `json:"run_id"`
	Kind   RunKind `json:"kind"`
	Status Status  `json:"status"`
}

// WorkersView is who holds which runs, at one moment of the service's clock.
type WorkersView struct {
	NowMs int64 `json:"now_ms"`
	// Workers are sorted by their ids.
	Workers []WorkerView `json:"workers"`
	// More: MaxLeasesShown leases are shown, and there are others.
	More bool `json:"more,omitzero"`
}

// WorkerView is a worker that holds at least one lease.
type WorkerView struct {
	WorkerID string      `json:"worker_id"`
	Leases   []HeldLease `json:"leases"` // by run_id
}

// HeldLease is a lease in force, and the run that is held. The fence belongs to its holder alone
// and is never shown.
type HeldLease struct {
	RunID     string `json:"run_id"`
	SessionID string `json:"session_id"`
	AgentID   string `json:"agent_id"`
	Status    Status `json:"status"`
	Attempt   int64  `json:"attempt,omitzero"`
	// HolderPrincipal is whose credential the run was claimed with.
	HolderPrincipal string `json:"holder_principal,omitempty"`
	// StartedAtMs is when the run was claimed for the first time.
	StartedAtMs int64 `json:"started_at_ms,omitzero"`
	// UpdatedAtMs is when the run last changed: a heartbeat, an event, or a decision about it.
	UpdatedAtMs int64 `json:"updated_at_ms"`
	ExpiresAtMs int64 `json:"expires_at_ms"`
}
