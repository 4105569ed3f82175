package client

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
)

// Mailbox reads a session's messages, oldest first, at most 1,000. Reading leases
// each message for 30 seconds, in which no other reading shows it: whoever has taken
// one in calls [Client.AcknowledgeMessage]. After three readings without that, a
// message becomes a dead letter. For that reason the call is not repeated when its
// reply is lost; what it would have shown is shown again when the leases lapse.
//
// The answer of a parent's session has the subject "clarification_answer", and its
// payload decodes into a [ClarificationAnswer]. Errors: [ErrNotFound].
func (c *Client) Mailbox(ctx context.Context, sessionID string) ([]api.MessageView, error) {
	return c.messages(ctx, ifNotTaken, sessionID, "mailbox")
}

// DeadLetters returns the messages of a session that could not be delivered, oldest
// first, and leases nothing. LastError says why. Errors: [ErrNotFound].
func (c *Client) DeadLetters(ctx context.Context, sessionID string) ([]api.MessageView, error) {
	return c.messages(ctx, always, sessionID, "mailbox", "dead-letter")
}

func (c *Client) messages(ctx context.Context, repeat repeatable, segments ...string) ([]api.MessageView, error) {
	path, err := route("/v1/sessions", segments...)
	if err != nil {
		return nil, err
	}
	var messages []api.MessageView
	if _, err := c.do(ctx, call{method: http.MethodGet, path: path, out: &messages, repeat: repeat}); err != nil {
		return nil, err
	}
	return messages, nil
}

// AcknowledgeMessage takes a message out of a session's mailbox, or out of its dead
// letters, for good. Again is the same. Errors: [ErrNotFound].
func (c *Client) AcknowledgeMessage(ctx context.Context, sessionID, messageID string) error {
	path, err := route("/v1/sessions", sessionID, "mailbox", messageID, "ack")
	if err != nil {
		return err
	}
	_, err = c.do(ctx, call{method: http.MethodPost, path: path, repeat: always})
	return err
}

// ReplayMessage puts a dead letter back into the mailbox. It stays a dead letter, as
// the result's State tells, where the session has ended or nothing is active in it.
// Errors: [ErrNotFound], also for a message that was acknowledged.
func (c *Client) ReplayMessage(ctx context.Context, sessionID, messageID string) (*api.MessageView, error) {
	path, err := route("/v1/sessions", sessionID, "mailbox", "dead-letter", messageID, "replay")
	if err != nil {
		return nil, err
	}
	return post[api.MessageView](ctx, c, path, nil, always)
}
