package codex

import (
	"errors"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// toolInputReply is the body of every reply to a decision about a tool input but the
// refusals of what was sent.
type toolInputReply struct {
	Status    string `json:"status"`
	RequestID string `json:"requestId"`
	ThreadID  string `json:"threadId,omitempty"`
}

func toolInputNotFound(requestID string) *faceError {
	return &faceError{status: http.StatusNotFound, body: toolInputReply{Status: statusNotFound, RequestID: wire.Shown(requestID)}}
}

type toolInputBody struct {
	Decision api.JSON `json:"decision"`
	Answers  api.JSON `json:"answers"`
	// Response is nil when the member is absent; null is a response.
	Response api.JSON `json:"response"`
}

// toolInputDecision is a decision as somebody sent it.
type toolInputDecision struct {
	decision string
	// answers are the texts by question, nil when there was no such member.
	answers map[string][]string
	// given is the member itself, for the runtime.
	given    api.JSON
	response api.JSON
}

func (b *toolInputBody) check() (toolInputDecision, error) {
	given := toolInputDecision{given: b.Answers, response: b.Response}
	var issues []issue
	var fault *issue
	if given.decision, fault = choose(b.Decision, "decision", accept, decline, cancel); fault != nil {
		issues = append(issues, *fault)
	}
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

// readAnswers reads {"<question id>": {"answers": ["<text>"]}}.
func readAnswers(value api.JSON) (map[string][]string, []issue) {
	wanted := func(what string, value api.JSON, path ...any) []issue {
		if value == nil {
			return []issue{{Code: "invalid_type", Path: path, Message: "Required"}}
		}
		return []issue{{Code: "invalid_type", Path: path, Message: "Expected " + what + ", received " + kindOf(value)}}
	}
	if document.Kind(value) != '{' {
		return nil, wanted("object", value, "answers")
	}
	answers := map[string][]string{}
	var issues []issue
	for questionID, answer := range members(value) {
		list := member(answer, "answers")
		if document.Kind(answer) != '{' {
			issues = append(issues, wanted("object", answer, "answers", questionID)...)
			continue
		}
		if document.Kind(list) != '[' {
			issues = append(issues, wanted("array", list, "answers", questionID, "answers")...)
			continue
		}
		for i, element := range elements(list) {
			if document.Kind(element) != '"' {
				issues = append(issues, wanted("string", element, "answers", questionID, "answers", i)...)
			}
		}
		answers[questionID], _ = texts(list)
	}
	return answers, issues
}

// decideToolInput answers a question (codex.md 3.5).
func (f *face) decideToolInput(w http.ResponseWriter, r *http.Request) error {
	var body toolInputBody
	if err := f.decode(w, r, &body); err != nil {
		return err
	}
	given, err := body.check()
	if err != nil {
		return err
	}
	actor, err := actorOf(r)
	if err != nil {
		return err
	}
	requestID := wire.PathID(r, "requestId")
	request, err := f.openRequest(r.Context(), requestID, model.KindQuestion)
	if err == nil && request == nil {
		return toolInputNotFound(requestID)
	}
	var taken bool
	if err == nil {
		taken, err = f.answerRequest(r, request, &given, actor)
	}
	var refused *faceError
	switch {
	case err == nil && taken:
		return wire.Respond(w, r, http.StatusOK, toolInputReply{statusOK, requestID, request.SessionID})
	case err == nil || tooLate(err):
		return toolInputNotFound(requestID)
	case errors.As(err, &refused):
		return refused
	}
	return &faceError{status: http.StatusInternalServerError, cause: err, body: toolInputReply{Status: statusError, RequestID: requestID}}
}

// answerRequest gives a decision to the door. Taken is false when somebody else gave the
// same before, which is too late here.
func (f *face) answerRequest(r *http.Request, request *model.Request, given *toolInputDecision, actor runs.Actor) (taken bool, err error) {
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
	if err != nil && !tooLate(err) {
		if refused := given.issuesOf(&question, &resolution, err); refused != nil {
			return false, refused
		}
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

// payload is what the runtime is told (codex.md 3.5).
func (d *toolInputDecision) payload() api.JSON {
	switch {
	case d.response != nil:
		return d.response
	case d.decision != accept:
		return encode(runtimeStatus{d.decision})
	case d.given == nil:
		return encode(runtimeAnswers{api.JSON("{}")})
	default:
		return encode(runtimeAnswers{d.given})
	}
}
