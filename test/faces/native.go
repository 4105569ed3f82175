package faces

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Native is /v1.
type Native struct {
	// BySession decides through the session's routes instead of the run's.
	BySession bool
}

// Name implements Face.
func (n Native) Name() string {
	if n.BySession {
		return "v1 by session"
	}
	return "v1 by run"
}

// Traits implements Face.
func (n Native) Traits() Traits {
	return Traits{Via: "api", Repeats: true, DenyReason: true, StopReason: !n.BySession}
}

// Verbs implements Face. /v1 can stop a run through its question but not through an approval.
func (n Native) Verbs(kind Kind) []Verb {
	switch {
	case kind == Approval:
		return []Verb{AllowOnce, AllowSession, AllowAlways, AllowEdited, Deny}
	case n.BySession:
		return []Verb{Answer, Decline}
	default:
		return []Verb{Answer, Decline, Stop}
	}
}

// Took implements Face.
func (n Native) Took(reply Reply) bool { return reply.Status < http.StatusMultipleChoices }

// Decide implements Face.
func (n Native) Decide(ctx context.Context, s *Service, about Prompt, what Decision, options ...Option) (Reply, error) {
	at := "/v1/runs/" + about.RunID
	approvals := at + "/approvals"
	if n.BySession {
		at = "/v1/sessions/" + about.SessionID
		approvals = at + "/approval-runs"
	}
	if about.Kind == Approval {
		return s.Post(ctx, approvals, encode(map[string]any{"resolutions": []any{nativeApproval(about, what)}}), options...)
	}
	if what.Verb == Stop {
		return s.Post(ctx, at+"/questions/"+about.RequestID+"/cancel", encode(map[string]any{"justification": what.Reason}), options...)
	}
	return s.Post(ctx, at+"/questions", encode(map[string]any{"resolution": nativeAnswer(about, what)}), options...)
}

func nativeApproval(about Prompt, what Decision) map[string]any {
	given := map[string]any{"request_id": about.RequestID, "behavior": "allow"}
	switch what.Verb {
	case AllowSession:
		given["remember"] = "session"
	case AllowAlways:
		given["remember"] = "always"
	case AllowEdited:
		// Here an edit replaces the whole input.
		given["updated_input"] = edited(about.Input, what.Edit)
	case Deny:
		given["behavior"], given["reason"] = "deny", what.Reason
	case AllowOnce, Stop, Answer, Decline:
	}
	return given
}

func edited(input string, edit map[string]any) map[string]any {
	var whole map[string]any
	if err := json.Unmarshal([]byte(input), &whole); err != nil {
		panic("faces: an input that is edited is an object: " + err.Error())
	}
	for name, value := range edit {
		whole[name] = value
	}
	return whole
}

func nativeAnswer(about Prompt, what Decision) map[string]any {
	given := map[string]any{"request_id": about.RequestID}
	switch {
	case what.Verb == Decline:
		given["declined"] = true
	case about.Kind == Typed:
		given["value"] = what.Answers[0]
	default:
		var answers []any
		for i, id := range about.Kind.questions() {
			answer := map[string]any{"question_id": id}
			if optionID, chosen := optionsOf(id)[what.Answers[i]]; chosen {
				answer["selected_option_ids"] = []string{optionID}
			} else {
				answer["freeform_answer"] = what.Answers[i]
			}
			answers = append(answers, answer)
		}
		given["answers"] = answers
	}
	return given
}

func optionsOf(questionID string) map[string]string {
	if questionID == "way" {
		return options
	}
	return nil
}

// Open implements Face with the view of the session or the run.
func (n Native) Open(ctx context.Context, s *Service, about Prompt) ([]string, error) {
	var view struct {
		PendingApprovals []handled        `json:"pending_approvals"`
		PendingQuestions []jsontext.Value `json:"pending_questions"`
	}
	path := "/v1/runs/" + about.RunID
	if n.BySession {
		path = "/v1/sessions/" + about.SessionID
	}
	if err := s.read(ctx, path, &view); err != nil {
		return nil, err
	}
	open := handles(view.PendingApprovals)
	for _, text := range view.PendingQuestions {
		// A session shows questions with context, a run only the questions.
		var shown struct {
			handled
			Request handled `json:"request"`
		}
		if err := json.Unmarshal(text, &shown); err != nil {
			return nil, err
		}
		if shown.Handle == "" {
			shown.handled = shown.Request
		}
		open = append(open, shown.Handle)
	}
	return open, nil
}

type handled struct {
	Handle string `json:"handle"`
}

func handles(list []handled) []string {
	var all []string
	for _, one := range list {
		all = append(all, one.Handle)
	}
	return all
}
