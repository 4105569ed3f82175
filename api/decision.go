package api

// RequestKind is the kind of a request on the wire.
type RequestKind string

// Kinds of requests.
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
	// ParentSessionID is the parent of the session that asks, empty without one.
	ParentSessionID string `json:"parent_session_id,omitempty"`
	// Session is how people recognise the session.
	Session *SessionAbout `json:"session,omitempty"`
	// Request is an [ApprovalRequest] or a [UserQuestionRequest], by Kind.
	Request JSON `json:"request"`
	// Acknowledgement are the people who are looking at an open request, oldest first. Some may have
	// lapsed.
	Acknowledgement []Acknowledgement `json:"acknowledgement,omitempty"`
	// SnoozedUntilMs is until when the caller snoozes the request; 0 for never. It may have passed.
	SnoozedUntilMs int64 `json:"snoozed_until_ms,omitzero"`
	// RecordedDecision and Resolution are nil while the request is open.
	RecordedDecision *RecordedDecision `json:"recorded_decision,omitempty"`
	Resolution       *Resolution       `json:"resolution,omitempty"`
	// RequesterExcluded is set when the caller asked for this approval and may not allow it. Lists
	// and streams do not have it.
	RequesterExcluded *RequesterExcluded `json:"requester_excluded,omitempty"`
	// MayDecide says whether the caller's allow or answer would be accepted now. It is nil for a settled request, and so
	// in the list of decisions.
	MayDecide *bool `json:"may_decide,omitempty"`
	// SameAsOpen counts the other open approvals with the same tool and input that the caller can
	// read, up to MaxSameOpen. Only an open approval has it, where it is read by its handle.
	SameAsOpen *int64 `json:"same_as_open,omitempty"`
	// Context has the newest settled requests of the session, oldest first, when ?context= asked for
	// them. Inputs are cut as in a summary.
	Context []RequestView `json:"context,omitzero"`
}

// RequesterExcluded says that the caller is one of the approval's excluded requesters: its allow
// fails with [CodeRequesterExcluded]. It may deny.
type RequesterExcluded struct {
	Detail string `json:"detail"` // why, for a person
}

// RequestRun is the part of a run that a request's view shows.
type RequestRun struct {
	RunID  string  `json:"run_id"`
	Kind   RunKind `json:"kind"`
	Status Status  `json:"status"`
}

// WorkersView lists the workers that hold runs, at one moment of the service's clock.
type WorkersView struct {
	NowMs int64 `json:"now_ms"`
	// Workers are sorted by id.
	Workers []WorkerView `json:"workers"`
	// More is set when there are more than MaxLeasesShown leases.
	More bool `json:"more,omitzero"`
}

// WorkerView is a worker that holds at least one lease.
type WorkerView struct {
	WorkerID string      `json:"worker_id"`
	Leases   []HeldLease `json:"leases"` // by run_id
}

// HeldLease is an active lease and its run. The fence is never shown: only the holder knows it.
type HeldLease struct {
	RunID     string `json:"run_id"`
	SessionID string `json:"session_id"`
	AgentID   string `json:"agent_id"`
	// Session is how people recognise the session. Absent for one that the caller cannot read.
	Session *SessionAbout `json:"session,omitempty"`
	Status  Status        `json:"status"`
	Attempt int64         `json:"attempt,omitzero"`
	// HolderPrincipal is the principal that claimed the run.
	HolderPrincipal string `json:"holder_principal,omitempty"`
	// StartedAtMs is the time of the first claim.
	StartedAtMs int64 `json:"started_at_ms,omitzero"`
	// UpdatedAtMs is the time of the run's last change: a heartbeat, an event, or a decision about
	// it.
	UpdatedAtMs int64 `json:"updated_at_ms"`
	ExpiresAtMs int64 `json:"expires_at_ms"`
}
