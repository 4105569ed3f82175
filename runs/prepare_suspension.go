package runs

import (
	"fmt"
	"strings"
)

// checkSuspension checks a suspension and fills in the defaults of what may be left out;
// prefix is where it stands in the caller's body. Afterwards every request has its
// id, typed and structured questions are told apart by their response_schema, and
// two suspensions that mean the same are the same.
func checkSuspension(s *Suspension, prefix string, faults *faultList) {
	absentNull(&s.Checkpoint)
	faults.optionalID(prefix+"/suspension_id", s.SuspensionID)
	if s.SettledAfter != nil && *s.SettledAfter < 0 {
		faults.add(prefix+"/settled_after", "must not be negative")
	}
	count := len(s.Approvals) + len(s.Questions)
	if count == 0 {
		faults.add(prefix+"/approvals", "ask for at least one approval or question")
	}
	if count > MaxRequestsPerSuspension {
		faults.add(prefix+"/approvals", "ask for at most %d things at once", MaxRequestsPerSuspension)
		return
	}
	seen := map[string]bool{}
	for i := range s.Approvals {
		at := fmt.Sprintf("%s/approvals/%d", prefix, i)
		checkApprovalRequest(&s.Approvals[i], at, faults)
		uniqueID(at, s.Approvals[i].ID, seen, faults)
	}
	for i := range s.Questions {
		at := fmt.Sprintf("%s/questions/%d", prefix, i)
		checkQuestionRequest(&s.Questions[i], at, faults)
		uniqueID(at, s.Questions[i].ID, seen, faults)
	}
}

// raisedSuspension is a suspension that was checked, with what is computed of it
// before any lock.
type raisedSuspension struct {
	*Suspension
	// digest tells the very same suspension from another one of its id.
	digest string
	// inputDigests are those of the inputs of Approvals, by which rules know them.
	inputDigests []string
}

// prepareSuspension makes the identifiers that are the service's to make, and the
// digests of a suspension that was checked.
func prepareSuspension(s *Suspension, newID IDSource) (raisedSuspension, error) {
	prepared := raisedSuspension{Suspension: s, inputDigests: make([]string, len(s.Approvals))}
	var err error
	if prepared.digest, err = digestOf(s); err != nil {
		return prepared, err
	}
	if s.SuspensionID == "" {
		s.SuspensionID = newID(PrefixSuspension)
	}
	for i := range s.Questions {
		s.Questions[i].Handle = newID(PrefixHandle)
	}
	for i := range s.Approvals {
		s.Approvals[i].Handle = newID(PrefixHandle)
		if prepared.inputDigests[i], err = digestOf(s.Approvals[i].Input); err != nil {
			return prepared, err
		}
	}
	return prepared, nil
}

func uniqueID(at, id string, seen map[string]bool, faults *faultList) {
	if id != "" && seen[id] {
		faults.add(at+"/id", "%s is used twice", id)
	}
	seen[id] = true
}

func checkApprovalRequest(a *ApprovalRequest, at string, faults *faultList) {
	a.Handle, a.CreatedAtMs = "", 0
	absentNull(&a.InputSchema)
	absentNull(&a.Metadata)
	faults.id(at+"/id", a.ID)
	faults.requiredText(at+"/tool_call_id", a.ToolCallID, MaxToolCallIDLength)
	faults.requiredText(at+"/tool_name", a.ToolName, MaxNameLength)
	if a.Input == nil {
		faults.add(at+"/input", "is required")
	}
	faults.text(at+"/scope", a.Scope, MaxNameLength)
	faults.text(at+"/reason", a.Reason, MaxTextLength)
	faults.text(at+"/description", a.Description, MaxTextLength)
	faults.object(at+"/metadata", a.Metadata)
	faults.faults = append(faults.faults, checkSchema(a.InputSchema, at+"/input_schema")...)
	if len(a.PatternKeys) > MaxPatternKeys {
		faults.add(at+"/pattern_keys", "must have at most %d entries", MaxPatternKeys)
	}
	for i, key := range a.PatternKeys {
		faults.requiredText(fmt.Sprintf("%s/pattern_keys/%d", at, i), key, MaxPatternKeyLength)
	}
	checkDeadline(at, a.ExpiresAtMs, a.ExpiresAfterMs, faults)
}

func checkQuestionRequest(q *UserQuestionRequest, at string, faults *faultList) {
	q.Handle, q.CreatedAtMs, q.PartialAnswers = "", 0, nil
	absentNull(&q.Payload)
	absentNull(&q.ResponseSchema)
	absentNull(&q.Metadata)
	if q.ID == "" && q.ToolCallID != "" {
		q.ID = "question-request-" + q.ToolCallID
	}
	faults.id(at+"/id", q.ID)
	if q.ToolCallID == "" {
		q.ToolCallID = q.ID
	}
	faults.text(at+"/tool_call_id", q.ToolCallID, MaxToolCallIDLength)
	faults.text(at+"/kind", q.Kind, MaxNameLength)
	faults.object(at+"/metadata", q.Metadata)
	faults.faults = append(faults.faults, checkSchema(q.ResponseSchema, at+"/response_schema")...)
	checkDeadline(at, q.ExpiresAtMs, q.ExpiresAfterMs, faults)

	switch {
	case q.ResponseSchema != nil && len(q.Questions) > 0:
		faults.add(at+"/questions", "must be empty beside a response_schema")
	case q.ResponseSchema == nil && len(q.Questions) == 0:
		faults.add(at+"/questions", "ask 1 to %d questions, or give a response_schema", MaxQuestionsPerRequest)
	case len(q.Questions) > MaxQuestionsPerRequest:
		faults.add(at+"/questions", "must have at most %d entries", MaxQuestionsPerRequest)
		return
	}
	if q.Questions == nil {
		q.Questions = []UserQuestion{}
	}
	seen := map[string]bool{}
	for i := range q.Questions {
		here := fmt.Sprintf("%s/questions/%d", at, i)
		checkQuestion(&q.Questions[i], here, i, faults)
		uniqueID(here, q.Questions[i].ID, seen, faults)
	}
}

func checkQuestion(q *UserQuestion, at string, index int, faults *faultList) {
	if q.ID == "" {
		q.ID = fmt.Sprintf("question-%d", index+1)
	}
	if q.Header == "" {
		q.Header = fmt.Sprintf("Question %d", index+1)
	}
	if q.Options == nil {
		q.Options = []QuestionOption{}
	}
	faults.id(at+"/id", q.ID)
	faults.text(at+"/header", q.Header, MaxNameLength)
	if strings.TrimSpace(q.Question) == "" {
		faults.add(at+"/question", "is required")
	}
	faults.text(at+"/question", q.Question, MaxTextLength)
	if len(q.Options) > MaxOptionsPerQuestion {
		faults.add(at+"/options", "must have at most %d entries", MaxOptionsPerQuestion)
		return
	}
	seen := map[string]bool{}
	for i := range q.Options {
		option, here := &q.Options[i], fmt.Sprintf("%s/options/%d", at, i)
		if option.ID == "" {
			option.ID = fmt.Sprintf("option-%d", i+1)
		}
		if option.Label == "" {
			option.Label = option.ID
		}
		faults.text(here+"/id", option.ID, MaxNameLength)
		faults.text(here+"/label", option.Label, MaxTextLength)
		faults.text(here+"/description", option.Description, MaxTextLength)
		faults.text(here+"/preview", option.Preview, MaxTextLength)
		uniqueID(here, option.ID, seen, faults)
	}
}

func checkDeadline(at string, expiresAtMs, expiresAfterMs *int64, faults *faultList) {
	if expiresAtMs != nil && expiresAfterMs != nil {
		faults.add(at+"/expires_after_ms", "must not be given together with expires_at_ms")
	}
	if expiresAtMs != nil && *expiresAtMs <= 0 {
		faults.add(at+"/expires_at_ms", "must be positive")
	}
	if expiresAfterMs != nil && *expiresAfterMs <= 0 {
		faults.add(at+"/expires_after_ms", "must be positive")
	}
	if expiresAfterMs != nil && *expiresAfterMs > MaxExpiresAfterMs {
		faults.add(at+"/expires_after_ms", "must be at most %d", int64(MaxExpiresAfterMs))
	}
}

// raise makes the rows of a suspension's requests and announces them. The ids have
// been checked to be new in the run.
func (w *work) raise(run *Run, s *raisedSuspension) {
	number := run.RaisedCount
	raise := func(kind RequestKind, id, handle string, dueAtMs *int64, body any) {
		number++
		request := &Request{
			SessionID: run.SessionID, RunID: run.RunID, RequestID: id, Handle: handle,
			SuspensionID: s.SuspensionID, SuspensionDigest: s.digest,
			Number: number, Kind: kind, Body: encode(body), CreatedAtMs: w.nowMs,
		}
		if dueAtMs != nil {
			request.DueAtMs = *dueAtMs
		}
		w.addRequest(request)
	}
	questions := make([]UserQuestionRequest, len(s.Questions))
	for i, question := range s.Questions {
		question.CreatedAtMs = w.nowMs
		question.ExpiresAtMs, question.ExpiresAfterMs = w.deadline(question.ExpiresAtMs, question.ExpiresAfterMs), nil
		questions[i] = question
		raise(KindQuestion, question.ID, question.Handle, question.ExpiresAtMs, question)
	}
	approvals := make([]ApprovalRequest, len(s.Approvals))
	for i, approval := range s.Approvals {
		approval.CreatedAtMs = w.nowMs
		approval.ExpiresAtMs, approval.ExpiresAfterMs = w.deadline(approval.ExpiresAtMs, approval.ExpiresAfterMs), nil
		approvals[i] = approval
		raise(KindApproval, approval.ID, approval.Handle, approval.ExpiresAtMs, approval)
	}
	run.RaisedCount = number
	if len(questions) > 0 {
		w.emit(run, EventWaitingForUserQuestion, waitingEvent[UserQuestionRequest]{
			Type: EventWaitingForUserQuestion, RequestIDs: questionIDs(s.Suspension), Requests: questions,
		})
	}
	if len(approvals) > 0 {
		w.emit(run, EventWaitingForApproval, waitingEvent[ApprovalRequest]{
			Type: EventWaitingForApproval, RequestIDs: approvalIDs(s.Suspension), Requests: approvals,
		})
	}
}

func (w *work) deadline(atMs, afterMs *int64) *int64 {
	if afterMs == nil {
		return atMs
	}
	due := w.nowMs + *afterMs
	return &due
}

type waitingEvent[R any] struct {
	Type       EventType `json:"type"`
	RequestIDs []string  `json:"request_ids"`
	Requests   []R       `json:"requests"`
}

func approvalIDs(s *Suspension) []string {
	ids := make([]string, len(s.Approvals))
	for i := range s.Approvals {
		ids[i] = s.Approvals[i].ID
	}
	return ids
}

func questionIDs(s *Suspension) []string {
	ids := make([]string, len(s.Questions))
	for i := range s.Questions {
		ids[i] = s.Questions[i].ID
	}
	return ids
}

func requestIDs(s *Suspension) []string {
	return append(questionIDs(s), approvalIDs(s)...)
}
