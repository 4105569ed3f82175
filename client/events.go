package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// EventListParams select events.
type EventListParams struct {
	// After is the id of the last event already seen; from the first if empty.
	After string
	// Limit is at most 1000; the service's default if 0.
	Limit int
}

// ListSessionEvents returns events of a session, oldest first. It returns fewer than the
// limit if they are large; use [Client.AllSessionEvents] to read all. Errors:
// [ErrNotFound]; [ErrInvalid] for an invalid After; [ErrCursorReset].
func (c *Client) ListSessionEvents(ctx context.Context, sessionID string, params EventListParams) ([]api.RunEventEntry, error) {
	entries, _, err := c.listEvents(ctx, at("/v1/sessions", sessionID, "events"), params)
	return entries, err
}

// ListRunEvents returns events of a run, oldest first, with the ids of the session's log.
// Errors: as of [Client.ListSessionEvents].
func (c *Client) ListRunEvents(ctx context.Context, runID string, params EventListParams) ([]api.RunEventEntry, error) {
	entries, _, err := c.listEvents(ctx, at("/v1/runs", runID, "events"), params)
	return entries, err
}

// AllSessionEvents iterates over the events of a session up to the newest. It ends after
// the first error, such as [ErrCursorReset] if the log is shortened past its position.
func (c *Client) AllSessionEvents(ctx context.Context, sessionID string, params EventListParams) iter.Seq2[api.RunEventEntry, error] {
	return c.allEvents(ctx, at("/v1/sessions", sessionID, "events"), params)
}

// AllRunEvents iterates over the events of a run up to the newest. It ends after the first
// error.
func (c *Client) AllRunEvents(ctx context.Context, runID string, params EventListParams) iter.Seq2[api.RunEventEntry, error] {
	return c.allEvents(ctx, at("/v1/runs", runID, "events"), params)
}

// ChangeIn returns what an event says about requests: nothing, unless the service itself wrote it.
func ChangeIn(entry *api.RunEventEntry) (api.Change, error) {
	decode := func(into any) error { return json.Unmarshal(entry.Event, into) }
	var event struct {
		Type api.EventType `json:"type"`
	}
	if err := decode(&event); err != nil {
		return api.Change{}, err
	}
	return api.ChangeOf(event.Type, decode)
}

func (c *Client) listEvents(ctx context.Context, from path, params EventListParams) (entries []api.RunEventEntry, more bool, err error) {
	query := url.Values{}
	set(query, "after", params.After)
	if params.Limit != 0 {
		query.Set("limit", strconv.Itoa(params.Limit))
	}
	r, err := c.do(ctx, call{method: http.MethodGet, path: from, query: query, out: &entries, repeat: always})
	if err != nil {
		return nil, false, err
	}
	// A page may end early if it would become too large.
	return entries, r.more || params.Limit > 0 && len(entries) >= params.Limit, nil
}

func (c *Client) allEvents(ctx context.Context, from path, params EventListParams) iter.Seq2[api.RunEventEntry, error] {
	if params.Limit == 0 {
		params.Limit = api.MaxEventsPerList
	}
	return func(yield func(api.RunEventEntry, error) bool) {
		for {
			entries, more, err := c.listEvents(ctx, from, params)
			if err != nil {
				yield(api.RunEventEntry{}, err)
				return
			}
			if len(entries) > 0 && entries[len(entries)-1].ID == params.After {
				// The same page again, for example out of a cache that ignores the query, would not end.
				yield(api.RunEventEntry{}, fmt.Errorf("%w: %s: the events do not go on after %q", ErrUnavailable, from.text, params.After))
				return
			}
			for _, entry := range entries {
				params.After = entry.ID
				if !yield(entry, nil) {
					return
				}
			}
			if !more || len(entries) == 0 {
				return
			}
		}
	}
}
