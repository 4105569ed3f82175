package client

import (
	"context"
	"iter"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// StreamInbox follows what is open in all sessions: a snapshot, and then every event
// about a request, in order within each session. It connects again by itself after a
// cut and has no end: only ctx ends it, and errors as with [Client.StreamSession].
//
// A snapshot stands for everything: whoever keeps a list of what is open begins it
// anew with each one, also after a new connection. Otherwise apply the events in order, by
// the session, the run and the request's id. They may come twice, and may tell what the
// snapshot has already; nothing that was settled stays open. When the snapshot says that
// there is more, [Client.ListApprovals] and [Client.ListQuestions] have it.
func (c *Client) StreamInbox(ctx context.Context) iter.Seq2[StreamEvent, error] {
	return c.stream(ctx, "", inboxStream{})
}

type inboxStream struct{}

func (inboxStream) path() (string, error) { return "/v1/stream", nil }

func (inboxStream) numbered() bool { return false }

func (inboxStream) snapshot(data []byte, event *StreamEvent) (bool, error) {
	event.Inbox = &api.InboxView{}
	return false, json.Unmarshal(data, event.Inbox)
}

func (inboxStream) ends(*streamedEvent) bool { return false }

func (inboxStream) over(context.Context, string) (bool, error) { return false, nil }
