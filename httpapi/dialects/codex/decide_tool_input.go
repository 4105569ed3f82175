package codex

import (
	"errors"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// toolInputReply is the body of the replies to a decision about a tool input, except for validation
// errors.
type toolInputReply struct {
	Status    string `json:"status"`
	RequestID string `json:"requestId"`
	ThreadID  string `json:"threadId,omitempty"`
}

type toolInputBody struct {
	Decision api.JSON `json:"decision"`
	Answers  api.JSON `json:"answers"`
	// Response is nil when the member is absent; null is a value.
	Response api.JSON `json:"response"`
}

// toolInputDecision is a caller's decision.
type toolInputDecision struct {
	decision string
	// answers are the texts by question; nil when the member is absent.
	answers map[string][]string
	// given is the original member, for the runtime.
	given    api.JSON
	response api.JSON
}

func (b *toolInputBody) check() (toolInputDecision, error) {
	given := toolInputDecision{given: b.Answers, response: b.Response}
	var issues []issue
	given.decision, issues = choose(b.Decision, "decision", accept, decline, cancel)
	if b.Answers != nil {
		var faults []issue
		given.answers, faults = readAnswers(b.Answers)
		issues = append(issues, faults...)
	}
	if issues != nil {
		return given, invalid(issues...)
	}
	return given, nil
}

// readAnswers reads {"<question id>": {"answers": ["<text>"]}}. It returns at most one issue of each list, and at most
// api.MaxFaults: the caller chooses how many there could be, and how long the names in their paths are.
func readAnswers(value api.JSON) (map[string][]string, []issue) {
	if document.Kind(value) != '{' {
		return nil, []issue{mistyped("object", value, "answers")}
	}
	answers := map[string][]string{}
	var issues []issue
	for questionID, answer := range kit.Members(value) {
		if len(issues) >= api.MaxFaults {
			break
		}
		list := kit.Get(answer, "answers")
		if document.Kind(answer) != '{' {
			issues = append(issues, mistyped("object", answer, "answers", questionID))
			continue
		}
		if document.Kind(list) != '[' {
			issues = append(issues, mistyped("array", list, "answers", questionID, "answers"))
			continue
		}
		for i, element := range kit.Elements(list) {
			if document.Kind(element) != '"' {
				issues = append(issues, mistyped("string", element, "answers", questionID, "answers", i))
				break
			}
		}
		answers[questionID], _ = kit.Texts(list)
	}
	return answers, issues
}

// decideToolInput answers a question (docs/spec/codex.md#tool-input-decision). A late decision gets
// 404, even if the same answers were given before.
func (f *face) decideToolInput(w http.ResponseWriter, r *http.Request) error {
	var body toolInputBody
	if err := f.decode(w, r, &body); err != nil {
		return err
	}
	given, err := body.check()
	if err != nil {
		return err
	}
	actor, err := f.Actor(r)
	if err != nil {
		return err
	}
	requestID := wire.PathID(r, "requestId")
	request, err := f.OpenRequest(r.Context(), model.KindQuestion, requestID)
	recorded := false
	if err == nil && request != nil {
		recorded, err = f.answerRequest(r, request, &given, actor)
	}
	var refused *kit.Error
	switch {
	case recorded:
		return wire.Respond(w, r, http.StatusOK, toolInputReply{statusOK, requestID, request.SessionID})
	case err == nil || kit.LateOf(err) != kit.NotLate:
		return &kit.Error{Status: http.StatusNotFound, Body: toolInputReply{Status: statusNotFound, RequestID: wire.Shown(requestID)}}
	case errors.As(err, &refused):
		return refused
	case kit.Denied(err):
		return err
	}
	return &kit.Error{Status: http.StatusInternalServerError, Cause: err, Body: toolInputReply{Status: statusError, RequestID: requestID}}
}

// answerRequest sends a decision to the door. recorded is false when the same decision was made
// before, which counts as late here.
func (f *face) answerRequest(r *http.Request, request *model.Request, given *toolInputDecision, actor runs.Actor) (recorded bool, err error) {
	if given.decision == cancel {
		_, err := f.Store.Do(r.Context(), &runs.DecideRequests{
			RunID: request.RunID, CancelRequestID: request.RequestID, CancelRuntimePayload: given.payload(), Actor: actor,
		})
		return err == nil, err
	}
	question := request.Question()
	resolution, err := given.resolution(&question)
	if err != nil {
		return false, err
	}
	reply, err := f.Store.Do(r.Context(), &runs.AnswerQuestion{RunID: request.RunID, Resolution: resolution, Actor: actor})
	if kit.Unfit(err) {
		return false, given.unfit(&question, &resolution, err)
	}
	return err == nil && !reply.Existing, err
}

type (
	runtimeAnswers struct {
		Answers api.JSON `json:"answers"`
	}
	runtimeStatus struct {
		Status string `json:"status"`
	}
)

// payload returns the payload for the runtime (docs/spec/codex.md#runtime-payload).
func (d *toolInputDecision) payload() api.JSON {
	switch {
	case d.response != nil:
		return d.response
	case d.decision != accept:
		return kit.Encode(runtimeStatus{d.decision})
	case d.given == nil:
		return kit.Encode(runtimeAnswers{api.JSON("{}")})
	default:
		return kit.Encode(runtimeAnswers{d.given})
	}
}
