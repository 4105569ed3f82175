package api

// ClaimOptions ask for a lease together with the making of a run.
type ClaimOptions struct {
	WorkerID string `json:"worker_id"`
	LeaseMs  int64  `json:"lease_ms,omitzero"` // DefaultLeaseMs when 0
}

// Claim is what a worker is handed with a run (v1-work.md "Work").
type Claim struct {
	Run        RunView      `json:"run"`
	Input      JSON         `json:"input"`
	Checkpoint JSON         `json:"checkpoint,omitzero"`
	Resume     *Resume      `json:"resume,omitempty"`
	Attempt    int64        `json:"attempt"`
	Lease      ClaimedLease `json:"lease"`
}

// ClaimedLease is a lease as its holder sees it.
type ClaimedLease struct {
	// Fence is the decimal text of the run's claim number; every later call of the
	// holder shows it.
	Fence       string `json:"fence"`
	WorkerID    string `json:"worker_id"`
	ExpiresAtMs int64  `json:"expires_at_ms"`
}

// Resume is what a run goes on with: everything that was settled since it was
// suspended.
type Resume struct {
	SuspensionID string            `json:"suspension_id"`
	Approvals    []SettledApproval `json:"approvals"`
	Questions    []SettledQuestion `json:"questions"`
	// Clarification is the answer from the parent's session, when the run was parked
	// for one.
	Clarification *ClarificationAnswer `json:"clarification,omitempty"`
}

// SettledApproval is an approval and what was decided about it.
type SettledApproval struct {
	Request    ApprovalRequest `json:"request"`
	Resolution Resolution      `json:"resolution"`
	// SettledNumber is its place in the order of the run's decisions. It is given to an
	// attached worker only, who says by it what a checkpoint has taken in.
	SettledNumber int64 `json:"settled_number,omitzero,string"`
}

// SettledQuestion is a question and its answer.
type SettledQuestion struct {
	Request       UserQuestionRequest `json:"request"`
	Resolution    AnswerForWorker     `json:"resolution"`
	SettledNumber int64               `json:"settled_number,omitzero,string"` // see SettledApproval
}

// AnswerForWorker is the answer to a question in the form that a worker hands to
// its model (kheish.md 1.6): labelled, and summed up in a text.
type AnswerForWorker struct {
	RequestID     string           `json:"request_id"`
	Outcome       Outcome          `json:"outcome"`
	Declined      bool             `json:"declined"`
	Summary       string           `json:"summary"`
	Answers       []LabelledAnswer `json:"answers"`
	Value         JSON             `json:"value,omitzero"`
	Justification *string          `json:"justification"`
	Reason        string           `json:"reason,omitempty"`
	ResolvedBy    string           `json:"resolved_by"`
	ResolvedAtMs  int64            `json:"resolved_at_ms"`
	Via           string           `json:"via"`
	// RuntimePayload is what a dialect owes the worker's runtime.
	RuntimePayload JSON `json:"runtime_payload,omitzero"`
}

// LabelledAnswer is the answer to one structured question with the words that the
// person saw.
type LabelledAnswer struct {
	QuestionID        string           `json:"question_id"`
	Header            string           `json:"header"`
	Question          string           `json:"question"`
	SelectedOptionIDs []string         `json:"selected_option_ids"`
	SelectedOptions   []QuestionOption `json:"selected_options"`
	FreeformAnswer    string           `json:"freeform_answer,omitempty"`
}

// Settled is the reply of an attached wait (v1-work.md "Attached waiting").
type Settled struct {
	// After is the cursor to ask with the next time, in decimal.
	After string `json:"after"`
	// Settled holds SettledApproval and SettledQuestion documents in the order of
	// the decisions.
	Settled         []JSON `json:"settled"`
	Open            int    `json:"open"`
	CancelRequested bool   `json:"cancel_requested"`
}
