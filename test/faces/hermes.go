package faces

import (
	"context"
	"net/http"
	"strings"
)

// Hermes is the hermes dialect: approval and clarify routes.
type Hermes struct{}

// Name implements Face.
func (Hermes) Name() string { return "hermes" }

// Traits implements Face.
func (Hermes) Traits() Traits {
	return Traits{Via: "hermes", OldestOnly: true, InParts: true, AlwaysForever: true}
}

// Verbs implements Face.
func (Hermes) Verbs(kind Kind) []Verb {
	if kind == Approval {
		return []Verb{AllowOnce, AllowSession, AllowAlways, Deny}
	}
	return []Verb{Answer}
}

// Choices are the words for decisions about approvals.
var Choices = map[Verb]string{AllowOnce: "once", AllowSession: "session", AllowAlways: "always", Deny: "deny"}

// Took implements Face.
func (Hermes) Took(reply Reply) bool {
	return reply.Status == http.StatusOK && strings.Contains(reply.Body, `"ok": true`) && !strings.Contains(reply.Body, "stale_cleared")
}

// Decide implements Face. Questions are answered one by one until one is refused.
func (h Hermes) Decide(ctx context.Context, s *Service, about Prompt, what Decision, options ...Option) (Reply, error) {
	if about.Kind == Approval {
		return s.Post(ctx, "/api/approval/respond", encode(map[string]any{
			"session_id": about.SessionID, "approval_id": about.Handle, "choice": Choices[what.Verb],
		}), options...)
	}
	var reply Reply
	for i, id := range h.ids(about) {
		var err error
		reply, err = s.Post(ctx, "/api/clarify/respond", encode(map[string]any{
			"session_id": about.SessionID, "clarify_id": id, "response": what.Answers[i],
		}), options...)
		if err != nil || !h.Took(reply) {
			return reply, err
		}
	}
	return reply, nil
}

// ids returns the ids of a prompt's questions.
func (Hermes) ids(about Prompt) []string {
	if about.Kind != Several {
		return []string{about.Handle}
	}
	var ids []string
	for _, id := range about.Kind.questions() {
		ids = append(ids, about.Handle+":"+id)
	}
	return ids
}

// Open implements Face with the heads of both queues.
func (Hermes) Open(ctx context.Context, s *Service, about Prompt) ([]string, error) {
	var open []string
	for _, queue := range []string{"approval", "clarify"} {
		var shown struct {
			Pending *struct {
				ApprovalID string `json:"approval_id"`
				ClarifyID  string `json:"clarify_id"`
			} `json:"pending"`
		}
		if err := s.read(ctx, "/api/"+queue+"/pending?session_id="+about.SessionID, &shown); err != nil {
			return nil, err
		}
		if shown.Pending != nil {
			handle, _, _ := strings.Cut(shown.Pending.ApprovalID+shown.Pending.ClarifyID, ":")
			open = append(open, handle)
		}
	}
	return open, nil
}
