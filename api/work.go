package api

// ClaimOptions claim a run when it is created.
type ClaimOptions struct {
	WorkerID string `json:"worker_id" body:"required"`
	LeaseMs  int64  `json:"lease_ms,omitzero"` // MinLeaseMs to MaxLeaseMs; DefaultLeaseMs when 0
}

// ClaimRunBody claims the run that the path names.
type ClaimRunBody struct {
	WorkerID string `json:"worker_id" body:"required"`
	LeaseMs  *int64 `json:"lease_ms,omitzero"` // MinLeaseMs to MaxLeaseMs; DefaultLeaseMs when absent
}

// ClaimRunsBody claims runs that are ready.
type ClaimRunsBody struct {
	WorkerID string `json:"worker_id" body:"required"`
	// AgentIDs limit the claim to runs of these agents, at most MaxAgentsPerClaim. Empty means all
	// agents.
	AgentIDs []string `json:"agent_ids,omitempty"`
	MaxRuns  *int64   `json:"max_runs,omitzero"` // 1 to MaxRunsPerClaim; 1 when absent
	LeaseMs  *int64   `json:"lease_ms,omitzero"` // MinLeaseMs to MaxLeaseMs; DefaultLeaseMs when absent
	// WaitMs is the longest time the reply is held while no run is claimable, 0 to MaxWaitMs.
	WaitMs int64 `json:"wait_ms,omitzero"`
}

// ClaimsReply is the reply to a [ClaimRunsBody].
type ClaimsReply struct {
	// Claims are the oldest claimable runs, in the order in which they became claimable. Empty when
	// the wait timed out.
	Claims []Claim `json:"claims"`
}

// Claim is a run with its lease, as its worker receives it.
type Claim struct {
	Run        RunView `json:"run"`
	Input      JSON    `json:"input"`
	Checkpoint JSON    `json:"checkpoint,omitzero"` // the newest
	Resume     *Resume `json:"resume,omitempty"`
	// Attempt counts the claims since the last suspension, from 1.
	Attempt int64        `json:"attempt"`
	Lease   ClaimedLease `json:"lease"`
}

// ClaimedLease is a lease as its holder sees it.
type ClaimedLease struct {
	// Fence is the run's claim number as decimal text. Every later call of the holder sends it.
	Fence       string `json:"fence"`
	WorkerID    string `json:"worker_id"`
	ExpiresAtMs int64  `json:"expires_at_ms"`
}

// HeartbeatBody extends a lease and may store a checkpoint.
type HeartbeatBody struct {
	Fence *string `json:"fence,omitzero" body:"required"`
	// LeaseMs counts from now, MinLeaseMs to MaxLeaseMs; DefaultLeaseMs when absent.
	LeaseMs      *int64 `json:"lease_ms,omitzero"`
	Checkpoint   JSON   `json:"checkpoint,omitzero"`            // not stored when absent
	SettledAfter *int64 `json:"settled_after,omitempty,string"` // see Suspension
}

// HeartbeatReply is the reply to a [HeartbeatBody].
type HeartbeatReply struct {
	ExpiresAtMs int64 `json:"expires_at_ms"`
	// CancelRequested: the run was cancelled or interrupted. Stop working on it.
	CancelRequested bool `json:"cancel_requested"`
}

// WithdrawBody withdraws a request that an attached worker no longer needs.
type WithdrawBody struct {
	Fence  *string `json:"fence,omitzero" body:"required"`
	Reason string  `json:"reason,omitempty"`
}

// CompleteBody ends a run with its output.
type CompleteBody struct {
	Fence  *string `json:"fence,omitzero" body:"required"`
	Output JSON    `json:"output,omitzero"`
}

// FailBody ends a run with an error.
type FailBody struct {
	Fence *string `json:"fence,omitzero" body:"required"`
	Error string  `json:"error" body:"required"` // at most MaxTextLength bytes
}

// ReleaseBody releases an unfinished run. The body may be absent when the query has the fence.
type ReleaseBody struct {
	Fence        *string `json:"fence,omitzero"`
	Checkpoint   JSON    `json:"checkpoint,omitzero"`            // not stored when absent
	SettledAfter *int64  `json:"settled_after,omitempty,string"` // see Suspension
	// LastError says why the handler failed, when the run is to be retried.
	LastError string `json:"last_error,omitempty"`
	// Attempt is the number of failed attempts, including this one. When absent, the previous
	// number plus one. It needs LastError.
	Attempt *int64 `json:"attempt,omitzero"`
	// DelayMs is how long the run is not claimable, 0 to MaxLeaseMs.
	DelayMs *int64 `json:"delay_ms,omitzero"`
}

// RetryRunBody retries a failed run. It may be absent.
type RetryRunBody struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`
}

// Resume contains everything that was settled since the run was suspended.
type Resume struct {
	SuspensionID string            `json:"suspension_id"`
	Approvals    []SettledApproval `json:"approvals"`
	Questions    []SettledQuestion `json:"questions"`
	// Clarification is the parent session's answer, when the run was parked for one.
	Clarification *ClarificationAnswer `json:"clarification,omitempty"`
}

// SettledApproval is an approval with its decision.
type SettledApproval struct {
	Request    ApprovalRequest `json:"request"`
	Resolution Resolution      `json:"resolution"`
	// SettledNumber is the position in the order of the run's decisions, from 1, as decimal text.
	// Only an attached worker receives it, for settled_after.
	SettledNumber int64 `json:"settled_number,omitzero,string"`
}

// SettledQuestion is a question with its answer.
type SettledQuestion struct {
	Request       UserQuestionRequest `json:"request"`
	Resolution    AnswerForWorker     `json:"resolution"`
	SettledNumber int64               `json:"settled_number,omitzero,string"` // see SettledApproval
}

// AnswerForWorker is the answer to a question in the form that a worker passes to its model:
// labelled, with a text summary.
type AnswerForWorker struct {
	RequestID     string           `json:"request_id"`
	Outcome       Outcome          `json:"outcome"`
	Declined      bool             `json:"declined"`
	Summary       string           `json:"summary"`
	Answers       []LabelledAnswer `json:"answers"`
	Value         JSON             `json:"value,omitzero"` // of a typed question
	Justification *string          `json:"justification"`
	Reason        string           `json:"reason,omitempty"`
	ResolvedBy    string           `json:"resolved_by"`
	ResolvedAtMs  int64            `json:"resolved_at_ms"`
	Via           string           `json:"via"`
	// ViaPrincipal is the principal of the credential when it acted for ResolvedBy.
	ViaPrincipal string `json:"via_principal,omitempty"`
	// RuntimePayload is added by a dialect for the worker's runtime.
	RuntimePayload JSON `json:"runtime_payload,omitzero"`
	// Signature is a compact JWS (EdDSA) of [AnswerClaims]. Only the holder of the fence receives
	// it, and only for an answered question. It is never stored.
	Signature string `json:"signature,omitempty"`
}

// LabelledAnswer is the answer to one structured question with the texts that the
// person saw.
type LabelledAnswer struct {
	QuestionID        string           `json:"question_id"`
	Header            string           `json:"header"`
	Question          string           `json:"question"`
	SelectedOptionIDs []string         `json:"selected_option_ids"`
	SelectedOptions   []QuestionOption `json:"selected_options"`
	FreeformAnswer    string           `json:"freeform_answer,omitempty"`
	// Sensitive marks an answer that is not shown here.
	Sensitive bool `json:"sensitive,omitzero"`
}

// Settled is the reply of an attached wait.
type Settled struct {
	// After is the settled_number to send as after in the next call, as decimal text.
	After string `json:"after"`
	// Settled holds SettledApproval and SettledQuestion documents in the order of the
	// decisions.
	Settled []JSON `json:"settled"`
	// Open counts the open requests of the run, and one more if the next call returns more decisions.
	Open            int  `json:"open"`
	CancelRequested bool `json:"cancel_requested"`
}
