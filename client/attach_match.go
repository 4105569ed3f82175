package client

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/canonical"
)

// pendingRequest is an open approval or question; one of the two is set.
type pendingRequest struct {
	approval *api.ApprovalRequest
	question *api.UserQuestionRequest
}

// pendingRequests returns approvals and then questions.
func pendingRequests(approvals []api.ApprovalRequest, questions []api.UserQuestionRequest) []pendingRequest {
	var all []pendingRequest
	for i := range approvals {
		all = append(all, pendingRequest{approval: &approvals[i]})
	}
	for i := range questions {
		all = append(all, pendingRequest{question: &questions[i]})
	}
	return all
}

func (p pendingRequest) id() string {
	if p.approval != nil {
		return p.approval.ID
	}
	return p.question.ID
}

func (p pendingRequest) suspension() api.Suspension {
	if p.approval != nil {
		return api.Suspension{Approvals: []api.ApprovalRequest{*p.approval}, Hold: true}
	}
	return api.Suspension{Questions: []api.UserQuestionRequest{*p.question}, Hold: true}
}

// same returns nil if both ask the same thing, otherwise ErrIDConflict: a decision only
// counts for the request it was made about.
func (p pendingRequest) same(other pendingRequest) error {
	switch {
	case (p.approval != nil) != (other.approval != nil):
	case p.approval != nil:
		if sameTool(p.approval, other.approval) && sameJSON(p.approval.Input, other.approval.Input) {
			return nil
		}
	case sameQuestion(p.question, other.question):
		return nil
	}
	return fmt.Errorf("%w: request %s was raised for something else", ErrIDConflict, p.id())
}

// shows is same for an open request as a run's view shows it. The view masks the values at
// sensitive paths, so that only the decision, which has them, can be compared with the input.
func (p pendingRequest) shows(asked pendingRequest) error {
	if p.approval != nil && asked.approval != nil && len(p.approval.SensitivePaths) > 0 && sameTool(p.approval, asked.approval) {
		return nil
	}
	return p.same(asked)
}

// sameTool compares the tool and the directory in which it would run.
func sameTool(a, b *api.ApprovalRequest) bool {
	return a.ToolName == b.ToolName && a.Directory == b.Directory
}

// sameQuestion ignores members that the service fills in by default: ids, headers, missing
// labels, and the schema of a question with only a kind.
func sameQuestion(a, b *api.UserQuestionRequest) bool {
	return a.Kind == b.Kind && sameJSON(a.Payload, b.Payload) && sameJSON(schemaOf(a), schemaOf(b)) &&
		slices.EqualFunc(a.Questions, b.Questions, func(a, b api.UserQuestion) bool {
			return a.Question == b.Question && a.MultiSelect == b.MultiSelect && a.TakesFreeform() == b.TakesFreeform() &&
				slices.EqualFunc(a.Options, b.Options, func(a, b api.QuestionOption) bool {
					return sameIfGiven(a.ID, b.ID) && sameIfGiven(a.Label, b.Label) && a.Description == b.Description && a.Preview == b.Preview
				})
		})
}

// schemaOf returns the schema of a question. A question with only a kind takes any value.
func schemaOf(q *api.UserQuestionRequest) api.JSON {
	if q.Kind != "" && len(q.Questions) == 0 && sameJSON(q.ResponseSchema, nil) {
		return api.JSON("true")
	}
	return q.ResponseSchema
}

func sameIfGiven(a, b string) bool { return a == "" || b == "" || a == b }

// sameJSON compares values, not texts. An absent value equals null.
func sameJSON(a, b api.JSON) bool {
	return bytes.Equal(canonicalOf(a), canonicalOf(b))
}

func canonicalOf(value api.JSON) []byte {
	if value == nil {
		return []byte("null")
	}
	text, err := canonical.Text(value)
	if err != nil {
		// A value without a canonical form only equals the same text.
		return value
	}
	return text
}

// settledRequest is an approval or a question with its decision; one of the two is set.
type settledRequest struct {
	approval *api.SettledApproval
	question *api.SettledQuestion
}

func (s settledRequest) id() string {
	if s.approval != nil {
		return s.approval.Request.ID
	}
	return s.question.Request.ID
}

// expired reports that nobody decided. A question that expires ends its run, and is returned all the same.
func (s settledRequest) expired() bool {
	return s.approval != nil && s.approval.Resolution.Outcome == api.OutcomeExpired ||
		s.question != nil && s.question.Resolution.Outcome == api.OutcomeExpired
}

// answers returns nil if the decision was made about this request.
func (s settledRequest) answers(request pendingRequest) error {
	if s.approval != nil {
		return pendingRequest{approval: &s.approval.Request}.same(request)
	}
	return pendingRequest{question: &s.question.Request}.same(request)
}
