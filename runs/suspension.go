package runs

import (
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// checkSuspension adds the faults of a suspension and fills in its defaults
// (docs/spec/v1.md#question-request). The prefix locates it in the request body. Afterwards every
// request has its id, and equal suspensions have equal digests. A question with a response_schema
// is typed.
func checkSuspension(s *api.Suspension, prefix string, faults *refusal.Faults) {
	document.AbsentNull(&s.Checkpoint)
	faults.OptionalID(prefix+"/suspension_id", s.SuspensionID)
	if s.SettledAfter != nil && *s.SettledAfter < 0 {
		faults.Add(prefix+"/settled_after", "must not be negative")
	}
	if s.CancelWhenAbandoned && !s.Hold {
		faults.Add(prefix+"/cancel_when_abandoned", "needs hold: without it no worker stays that could be gone")
	}
	if after := s.AbandonedAfterMs; after != 0 {
		switch {
		case !s.Hold:
			faults.Add(prefix+"/abandoned_after_ms", "needs hold")
		case s.CancelWhenAbandoned:
			faults.Add(prefix+"/abandoned_after_ms", "stands in place of cancel_when_abandoned")
		case after < api.MinLeaseMs || after > api.MaxAbandonedAfterMs:
			faults.Add(prefix+"/abandoned_after_ms", "must be between %d and %d", api.MinLeaseMs, int64(api.MaxAbandonedAfterMs))
		}
	}
	count := len(s.Approvals) + len(s.Questions)
	if count == 0 {
		faults.Add(prefix+"/approvals", "ask for at least one approval or question")
	}
	if count > api.MaxRequestsPerSuspension {
		faults.Add(prefix+"/approvals", "ask for at most %d things at once", api.MaxRequestsPerSuspension)
		return
	}
	seen := map[string]bool{}
	for i := range s.Approvals {
		at := placeIn(prefix, "approvals", i)
		checkApprovalRequest(&s.Approvals[i], at, faults)
		uniqueID(at, s.Approvals[i].ID, seen, faults)
	}
	var work document.Work
	for i := range s.Questions {
		at := placeIn(prefix, "questions", i)
		checkQuestionRequest(&s.Questions[i], at, &work, faults)
		uniqueID(at, s.Questions[i].ID, seen, faults)
	}
}

// raisedSuspension is a checked suspension with data computed before any lock.
type raisedSuspension struct {
	*api.Suspension
	// digest distinguishes a repeated suspension from another one with the same id.
	digest string
	// inputDigests are the digests of the inputs of Approvals, in their order. They are stored
	// with the requests, and rules match them.
	inputDigests []string
	// matched is nil until MatchRules has run.
	matched *matchedRules
	// above are the requesters of the ancestor sessions, for approvals that exclude them.
	above ancestors
	// secrets is nil when nothing is sensitive and there is no callback.
	secrets *raisedSecrets
	forms   requestForms
}

// requestForms are the stored forms of a suspension's requests. The decision adds the times.
// Sensitive values are masked.
type requestForms struct {
	approvals, questions []document.Object
}

// makeForms encodes the requests. Call it after every change of them.
func (s *raisedSuspension) makeForms() error {
	s.forms = requestForms{make([]document.Object, len(s.Approvals)), make([]document.Object, len(s.Questions))}
	for i, question := range s.Questions {
		question.ExpiresAtMs, question.ExpiresAfterMs = nil, nil
		if err := makeForm(question, &s.forms.questions[i]); err != nil {
			return err
		}
	}
	for i, approval := range s.Approvals {
		approval.ExpiresAtMs, approval.ExpiresAfterMs = nil, nil
		if s.secrets != nil && s.secrets.masked != nil && s.secrets.masked[i] != nil {
			approval.Input = s.secrets.masked[i]
		}
		if err := makeForm(approval, &s.forms.approvals[i]); err != nil {
			return err
		}
	}
	return nil
}

func makeForm(request any, form *document.Object) error {
	made, err := document.ObjectOf(request)
	if err != nil {
		return noCanonicalForm()
	}
	*form = made
	return nil
}

// placeIn returns the JSON pointer to an entry of a list.
func placeIn(prefix, list string, at int) string { return fmt.Sprintf("%s/%s/%d", prefix, list, at) }

// uniqueID adds a fault when an id is used twice in its list.
func uniqueID(at, id string, seen map[string]bool, faults *refusal.Faults) {
	if id != "" && seen[id] {
		faults.Add(at+"/id", "%s is used twice", id)
	}
	seen[id] = true
}

func checkApprovalRequest(a *api.ApprovalRequest, at string, faults *refusal.Faults) {
	a.Handle, a.InputDigest, a.InputMembers, a.CreatedAtMs, a.Traceparent = "", "", 0, 0, ""
	document.AbsentNull(&a.InputSchema)
	document.AbsentNull(&a.Metadata)
	faults.ID(at+"/id", a.ID)
	faults.RequiredText(at+"/tool_call_id", a.ToolCallID, api.MaxToolCallIDLength)
	faults.RequiredText(at+"/tool_name", a.ToolName, api.MaxNameLength)
	if a.Input == nil {
		faults.Add(at+"/input", "is required")
	}
	faults.Text(at+"/directory", a.Directory, api.MaxDirectoryLength)
	faults.Text(at+"/scope", a.Scope, api.MaxNameLength)
	faults.Text(at+"/reason", a.Reason, api.MaxTextLength)
	faults.Text(at+"/description", a.Description, api.MaxTextLength)
	checkHints(a.Hints, at, faults)
	faults.Object(at+"/metadata", a.Metadata)
	faults.List = append(faults.List, document.CheckSchema(a.InputSchema, at+"/input_schema")...)
	if len(a.PatternKeys) > api.MaxPatternKeys {
		faults.Add(at+"/pattern_keys", "must have at most %d entries", api.MaxPatternKeys)
	}
	for i, key := range a.PatternKeys {
		faults.RequiredText(fmt.Sprintf("%s/pattern_keys/%d", at, i), key, api.MaxPatternKeyLength)
	}
	CheckSensitivePaths(at+"/sensitive_paths", a.SensitivePaths, a.Input, faults)
	checkDeadline(at, a.ExpiresAtMs, a.ExpiresAfterMs, faults)
	checkApprovalEscalation(a.Escalation, at, faults)
}

func checkQuestionRequest(q *api.UserQuestionRequest, at string, work *document.Work, faults *refusal.Faults) {
	known := len(faults.List)
	q.Handle, q.CreatedAtMs, q.PartialAnswers, q.Traceparent = "", 0, nil, ""
	document.AbsentNull(&q.Payload)
	document.AbsentNull(&q.ResponseSchema)
	document.AbsentNull(&q.Metadata)
	if q.Kind != "" && q.ResponseSchema == nil && len(q.Questions) == 0 {
		q.ResponseSchema = api.JSON("true") // any value
	}
	if q.ID == "" && q.ToolCallID != "" {
		q.ID = "question-request-" + q.ToolCallID
	}
	faults.ID(at+"/id", q.ID)
	if q.ToolCallID == "" {
		q.ToolCallID = q.ID
	}
	faults.Text(at+"/tool_call_id", q.ToolCallID, api.MaxToolCallIDLength)
	faults.Text(at+"/kind", q.Kind, api.MaxNameLength)
	checkHints(q.Hints, at, faults)
	faults.Object(at+"/metadata", q.Metadata)
	faults.List = append(faults.List, document.CheckSchema(q.ResponseSchema, at+"/response_schema")...)
	checkDeadline(at, q.ExpiresAtMs, q.ExpiresAfterMs, faults)

	switch {
	case q.ResponseSchema != nil && len(q.Questions) > 0:
		faults.Add(at+"/questions", "must be empty when there is a response_schema")
	case q.ResponseSchema == nil && len(q.Questions) == 0:
		faults.Add(at+"/questions", "ask 1 to %d questions, or give a response_schema or a kind", api.MaxQuestionsPerRequest)
	case len(q.Questions) > api.MaxQuestionsPerRequest:
		faults.Add(at+"/questions", "must have at most %d entries", api.MaxQuestionsPerRequest)
		return
	}
	if q.Questions == nil {
		q.Questions = []api.UserQuestion{}
	}
	seen := map[string]bool{}
	for i := range q.Questions {
		here := fmt.Sprintf("%s/questions/%d", at, i)
		checkQuestion(&q.Questions[i], here, i, faults)
		q.Questions[i].Sensitive = q.Questions[i].Sensitive || q.Sensitive
		uniqueID(here, q.Questions[i].ID, seen, faults)
	}
	checkQuestionEscalation(q, at, len(faults.List) == known, work, faults)
}

func checkHints(hints []api.Hint, at string, faults *refusal.Faults) {
	if len(hints) > api.MaxHints {
		faults.Add(at+"/hints", "must have at most %d entries", api.MaxHints)
		return
	}
	for i := range hints {
		checkHint(&hints[i], fmt.Sprintf("%s/hints/%d", at, i), faults)
	}
}

func checkHint(hint *api.Hint, at string, faults *refusal.Faults) {
	switch hint.Level {
	case api.HintInfo, api.HintWarn, api.HintDanger:
	default:
		faults.Add(at+"/level", "must be info, warn or danger")
	}
	if strings.TrimSpace(hint.Text) == "" {
		faults.Add(at+"/text", "is required")
	} else {
		faults.Text(at+"/text", hint.Text, api.MaxHintLength)
	}
	if hint.RuleID != "" {
		faults.Add(at+"/rule_id", "is set by the service")
	}
}

func checkQuestion(q *api.UserQuestion, at string, index int, faults *refusal.Faults) {
	if q.ID == "" {
		q.ID = fmt.Sprintf("question-%d", index+1)
	}
	if q.Header == "" {
		q.Header = fmt.Sprintf(api.QuestionHeader, index+1)
	}
	if q.Options == nil {
		q.Options = []api.QuestionOption{}
	}
	faults.ID(at+"/id", q.ID)
	faults.Text(at+"/header", q.Header, api.MaxNameLength)
	if strings.TrimSpace(q.Question) == "" {
		faults.Add(at+"/question", "is required")
	}
	faults.Text(at+"/question", q.Question, api.MaxTextLength)
	if len(q.Options) > api.MaxOptionsPerQuestion {
		faults.Add(at+"/options", "must have at most %d entries", api.MaxOptionsPerQuestion)
		return
	}
	takesFreeform := q.TakesFreeform()
	q.AllowFreeform = &takesFreeform
	if !takesFreeform && len(q.Options) == 0 {
		faults.Add(at+"/allow_freeform", "must be true without options: the question could not be answered")
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
		faults.Text(here+"/id", option.ID, api.MaxNameLength)
		faults.Text(here+"/label", option.Label, api.MaxTextLength)
		faults.Text(here+"/description", option.Description, api.MaxTextLength)
		faults.Text(here+"/preview", option.Preview, api.MaxTextLength)
		uniqueID(here, option.ID, seen, faults)
	}
}

func checkDeadline(at string, expiresAtMs, expiresAfterMs *int64, faults *refusal.Faults) {
	if expiresAtMs != nil && expiresAfterMs != nil {
		faults.Add(at+"/expires_after_ms", "must not be given together with expires_at_ms")
	}
	if expiresAtMs != nil && *expiresAtMs <= 0 {
		faults.Add(at+"/expires_at_ms", "must be positive")
	}
	if expiresAtMs != nil && *expiresAtMs > api.MaxTimeMs {
		faults.Add(at+"/expires_at_ms", "must be at most %d", int64(api.MaxTimeMs))
	}
	if expiresAfterMs != nil && *expiresAfterMs <= 0 {
		faults.Add(at+"/expires_after_ms", "must be positive")
	}
	if expiresAfterMs != nil && *expiresAfterMs > api.MaxExpiresAfterMs {
		faults.Add(at+"/expires_after_ms", "must be at most %d", int64(api.MaxExpiresAfterMs))
	}
}

func approvalIDs(s *api.Suspension) []string {
	ids := make([]string, len(s.Approvals))
	for i := range s.Approvals {
		ids[i] = s.Approvals[i].ID
	}
	return ids
}

func questionIDs(s *api.Suspension) []string {
	ids := make([]string, len(s.Questions))
	for i := range s.Questions {
		ids[i] = s.Questions[i].ID
	}
	return ids
}

func requestIDs(s *api.Suspension) []string {
	return append(questionIDs(s), approvalIDs(s)...)
}

// maxBodyBytes is roughly the maximum size of a request body.
const maxBodyBytes = 1 << 20

// checkOpenBytes returns an error when the run's open requests and the added ones are too large
// together. One body alone is never too large, so the added ones are rarely measured.
func checkOpenBytes(run *model.Run, open []*model.Request, added any) error {
	const seldom = api.MaxOpenRequestBytes - maxBodyBytes
	bytes := 0
	for _, request := range open {
		bytes += len(request.Body) + len(request.Sealed)
	}
	if bytes <= seldom {
		return nil
	}
	if bytes += len(document.Encode(added)); bytes <= api.MaxOpenRequestBytes {
		return nil
	}
	return refusal.New(api.CodeSuspensionTooLarge,
		"the open requests of run %s would have %d bytes; at most %d are allowed", run.RunID, bytes, api.MaxOpenRequestBytes)
}
