package faces

import (
	"context"
	"net/http"
)

// Codex is the codex dialect: approvals and tool inputs by id.
type Codex struct{}

// Name implements Face.
func (Codex) Name() string { return "codex" }

// Traits implements Face.
func (Codex) Traits() Traits {
	return Traits{Via: "codex", AnySession: true}
}

// Verbs implements Face.
func (Codex) Verbs(kind Kind) []Verb {
	if kind == Approval {
		return []Verb{AllowOnce, AllowSession, Deny, Stop}
	}
	return []Verb{Answer, Decline, Stop}
}

// Took implements Face.
func (Codex) Took(reply Reply) bool { return reply.Status == http.StatusOK }

// Decide implements Face.
func (Codex) Decide(ctx context.Context, s *Service, about Prompt, what Decision, options ...Option) (Reply, error) {
	body := map[string]any{}
	switch what.Verb {
	case AllowOnce:
		body["decision"] = "accept"
	case AllowSession:
		body["decision"], body["scope"] = "accept", "session"
	case Deny, Decline:
		body["decision"] = "decline"
	case Stop:
		body["decision"] = "cancel"
	case Answer:
		body["decision"], body["answers"] = "accept", codexAnswers(about, what.Answers)
	case AllowAlways, AllowEdited:
	}
	if about.Kind == Approval {
		return s.Post(ctx, "/api/approvals/"+about.Handle+"/decision", encode(body), options...)
	}
	return s.Post(ctx, "/api/tool-input/"+about.Handle+"/decision", encode(body), options...)
}

// Late returns the reply to a late decision: always the same one.
func (Codex) Late(about Prompt) (status int, body string) {
	name := "requestId"
	if about.Kind == Approval {
		name = "approvalId"
	}
	return http.StatusNotFound, `{"status":"not_found","` + name + `":"` + about.Handle + `"}`
}

func codexAnswers(about Prompt, texts []string) map[string]any {
	ids := about.Kind.questions()
	if about.Kind == Typed {
		ids = []string{"value"}
	}
	answers := map[string]any{}
	for i, id := range ids {
		answers[id] = map[string]any{"answers": []string{texts[i]}}
	}
	return answers
}

// Open implements Face with both lists. An ended session has none.
func (Codex) Open(ctx context.Context, s *Service, about Prompt) ([]string, error) {
	var open []string
	for _, list := range []string{"approvals", "tool-input"} {
		reply, err := s.Get(ctx, "/api/sessions/"+about.SessionID+"/"+list)
		if err != nil || reply.Status == http.StatusGone {
			return nil, err
		}
		var shown struct {
			Data []struct {
				ApprovalID string `json:"approvalId"`
				RequestID  string `json:"requestId"`
			} `json:"data"`
		}
		if err := reply.Into(&shown); err != nil {
			return nil, err
		}
		for _, one := range shown.Data {
			open = append(open, one.ApprovalID+one.RequestID)
		}
	}
	return open, nil
}
