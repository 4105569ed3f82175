package client

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
)

// Mailbox returns a session's messages, oldest first, at most 1,000. Reading leases each
// message for 30 seconds, during which no other call returns it. Acknowledge it with
// [Client.AcknowledgeMessage] once it is processed. After three reads without that, a
// message becomes a dead letter. So the call is not retried if its reply is lost; once the
// leases have expired, the messages can be read again.
//
// The answer of a parent's session has the subject "clarification_answer", and its payload
// decodes into an [api.ClarificationAnswer]. Errors: [ErrNotFound].
func (c *Client) Mailbox(ctx context.Context, sessionID string) ([]api.MessageView, error) {
	return c.messages(ctx, ifNotTaken, at("/v1/sessions", sessionID, "mailbox"))
}

// DeadLetters returns the undeliverable messages of a session, oldest first, without
// leasing them. LastError says why. Errors: [ErrNotFound].
func (c *Client) DeadLetters(ctx context.Context, sessionID string) ([]api.MessageView, error) {
	return c.messages(ctx, always, at("/v1/sessions", sessionID, "mailbox", "dead-letter"))
}

func (c *Client) messages(ctx context.Context, repeat repeatable, from path) ([]api.MessageView, error) {
	var messages []api.MessageView
	_, err := c.do(ctx, call{method: http.MethodGet, path: from, out: &messages, repeat: repeat})
	return messages, err
}

// AcknowledgeMessage permanently removes a message from a session's mailbox or dead
// letters. Repeating it is a no-op. Errors: [ErrNotFound].
func (c *Client) AcknowledgeMessage(ctx context.Context, sessionID, messageID string) error {
	_, err := post[api.AcknowledgedReply](ctx, c, at("/v1/sessions", sessionID, "mailbox", messageID, "ack"), nil, always, "message_id")
	return err
}

// ReplayMessage puts a dead letter back into the mailbox. It stays a dead letter, as the
// result's State says, if the session has ended or has no active run. Errors:
// [ErrNotFound], also for an acknowledged message.
func (c *Client) ReplayMessage(ctx context.Context, sessionID, messageID string) (*api.MessageView, error) {
	return post[api.MessageView](ctx, c, at("/v1/sessions", sessionID, "mailbox", "dead-letter", messageID, "replay"), nil, always, "message_id")
}

// RetryEffect makes an effect due immediately, even a failed one. A completed one stays
// completed. Errors: [ErrNotFound].
func (c *Client) RetryEffect(ctx context.Context, sessionID, effectID string) (*api.EffectView, error) {
	return post[api.EffectView](ctx, c, at("/v1/sessions", sessionID, "effects", effectID, "retry"), nil, always, "effect_id")
}
