package faces

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// Relay is the relay dialect: chats with relays.
type Relay struct{}

// Name implements Face.
func (Relay) Name() string { return "relay" }

// Traits implements Face.
func (Relay) Traits() Traits {
	return Traits{Via: "relay", InChat: true, DenyReason: true}
}

// Verbs implements Face. Relay has no questions.
func (Relay) Verbs(kind Kind) []Verb {
	if kind == Approval {
		return []Verb{AllowOnce, AllowSession, Deny}
	}
	return nil
}

// Took implements Face.
func (Relay) Took(reply Reply) bool {
	return reply.Status == http.StatusOK && !strings.Contains(reply.Body, `"success":false`)
}

// Decide implements Face. Unsupported decisions are sent as an approval, which finds no relay.
func (Relay) Decide(ctx context.Context, s *Service, about Prompt, what Decision, options ...Option) (Reply, error) {
	response := map[string]any{"approved": true}
	switch what.Verb {
	case AllowSession:
		response["always"] = true
	case Deny:
		response["approved"], response["reason"] = false, what.Reason
	case AllowOnce, AllowAlways, AllowEdited, Stop, Answer, Decline:
	}
	return s.Post(ctx, "/chat/relay/"+about.Handle, encode(map[string]any{"sessionId": about.SessionID, "response": response}), options...)
}

// Open implements Face. Only the stream shows what is open; see Chat.Open.
func (Relay) Open(context.Context, *Service, Prompt) ([]string, error) {
	return nil, errors.ErrUnsupported
}
