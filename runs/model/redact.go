package model

import (
	"reflect"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// redactedBody is the body of a redacted event.
type redactedBody struct {
	Type       api.EventType `json:"type"`
	Redacted   bool          `json:"redacted"`
	BodyDigest string        `json:"body_digest"`
	// Output is the placeholder for readers of outputs.
	Output *api.OutputRecord `json:"output,omitempty"`
}

// Redacted reports whether the body is the event's placeholder and nothing else: no digest covers
// other members. A worker cannot fake this: the digest of its body would differ.
func (e *Event) Redacted() bool {
	var body redactedBody
	return json.Unmarshal(e.Body, &body, json.RejectUnknownMembers(true)) == nil && reflect.DeepEqual(body, e.placeholder())
}

// RedactedBody returns the placeholder for the event's body.
func (e *Event) RedactedBody() api.JSON { return document.Encode(e.placeholder()) }

func (e *Event) placeholder() redactedBody {
	body := redactedBody{Type: e.Type, Redacted: true, BodyDigest: e.BodyDigest}
	if e.Type == api.EventOutput {
		body.Output = &api.OutputRecord{SessionID: e.SessionID, RunID: e.RunID, CreatedAtMs: e.TimestampMs, Redacted: true}
	}
	return body
}

// RedactedText replaces a required text.
const RedactedText = "redacted"

var redactedInput = api.JSON(`{"redacted":true}`)

// Redact removes the question and the answer from a settled request. What remains is the tool,
// the times, the outcome, and the callback while its delivery is pending. Redact returns the id
// of that delivery, "" without a callback.
func (r *Request) Redact() (callbackEffectID string) {
	switch r.Kind {
	case KindApproval:
		approval := r.Approval()
		r.Body = document.Encode(api.ApprovalRequest{
			ID: approval.ID, Handle: approval.Handle, ToolCallID: approval.ToolCallID, ToolName: approval.ToolName, Input: redactedInput,
			ExcludeRequester: approval.ExcludeRequester, CreatedAtMs: approval.CreatedAtMs, ExpiresAtMs: approval.ExpiresAtMs,
		})
	case KindQuestion:
		r.Body = document.Encode(redactQuestion(r.Question()))
	case KindClarification:
		clarification := r.Clarification()
		clarification.Request = redactQuestion(clarification.Request)
		r.Body = document.Encode(clarification)
	}
	before := r.Recorded()
	after := api.Resolution{
		RequestID: before.RequestID, Outcome: before.Outcome, Behavior: before.Behavior, Declined: before.Declined,
		ResolvedBy: before.ResolvedBy, ResolvedAtMs: before.ResolvedAtMs, Via: before.Via, ViaPrincipal: before.ViaPrincipal, Reason: RedactedText,
	}
	if before.Rule != nil {
		after.Rule = &api.AppliedRule{RuleID: before.Rule.RuleID, Text: RedactedText}
	}
	r.Resolution = document.Encode(after)
	if !r.HasCallback() {
		r.Sealed = nil
		return ""
	}
	callback := r.SealedValues().Callback
	r.Sealed = document.Encode(SealedValues{Callback: callback})
	return CallbackEffectID(callback.Origin, r.Handle)
}

func redactQuestion(q api.UserQuestionRequest) api.UserQuestionRequest {
	after := api.UserQuestionRequest{
		ID: q.ID, Handle: q.Handle, ToolCallID: q.ToolCallID, Kind: q.Kind, Sensitive: q.Sensitive,
		CreatedAtMs: q.CreatedAtMs, ExpiresAtMs: q.ExpiresAtMs, Questions: []api.UserQuestion{},
	}
	for i := range q.Questions {
		after.Questions = append(after.Questions, api.UserQuestion{
			ID: q.Questions[i].ID, Question: RedactedText, MultiSelect: q.Questions[i].MultiSelect, Options: []api.QuestionOption{},
			AllowFreeform: q.Questions[i].AllowFreeform,
		})
	}
	return after
}

// RequestIDs returns the ids of the requests named in a request event.
func (e *Event) RequestIDs() map[string]bool {
	var body struct {
		RequestIDs []string `json:"request_ids"`
		RequestID  string   `json:"request_id"`
		Resolution struct {
			RequestID string `json:"request_id"`
		} `json:"resolution"`
		Resolutions []struct {
			RequestID string `json:"request_id"`
		} `json:"resolutions"`
	}
	named := map[string]bool{}
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return named // the doctor finds it
	}
	for _, id := range body.RequestIDs {
		named[id] = true
	}
	for _, one := range body.Resolutions {
		named[one.RequestID] = true
	}
	named[body.RequestID], named[body.Resolution.RequestID] = true, true
	return named
}
