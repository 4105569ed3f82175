package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
)

// EventListParams choose events.
type EventListParams struct {
	// After is the id of the last event already seen; from the first when empty.
	After string
	// Limit is at most 1000; 0 leaves it to the service.
	Limit int
}

// ListSessionEvents returns events of a session, oldest first. Errors:
// [ErrNotFound]; [ErrInvalid] for an unreadable After.
func (c *Client) ListSessionEvents(ctx context.Context, sessionID string, params EventListParams) ([]api.RunEventEntry, error) {
	return c.listEvents(ctx, at("/v1/sessions", sessionID, "events"), params)
}

// ListRunEvents returns events of a run, oldest first; their ids are the session's.
// Errors: as of [Client.ListSessionEvents].
func (c *Client) ListRunEvents(ctx context.Context, runID string, params EventListParams) ([]api.RunEventEntry, error) {
	return c.listEvents(ctx, at("/v1/runs", runID, "events"), params)
}

// AllSessionEvents walks the events of a session up to the newest. It ends after
// the first error.
func (c *Client) AllSessionEvents(ctx context.Context, sessionID string, params EventListParams) iter.Seq2[api.RunEventEntry, error] {
	return c.allEvents(ctx, at("/v1/sessions", sessionID, "events"), params)
}

// AllRunEvents walks the events of a run up to the newest. It ends after the first
// error.
func (c *Client) AllRunEvents(ctx context.Context, runID string, params EventListParams) iter.Seq2[api.RunEventEntry, error] {
	return c.allEvents(ctx, at("/v1/runs", runID, "events"), params)
}

func (c *Client) listEvents(ctx context.Context, from path, params EventListParams) ([]api.RunEventEntry, error) {
	query := url.Values{}
	set(query, "after", params.After)
	if params.Limit != 0 {
		query.Set("limit", strconv.Itoa(params.Limit))
	}
	entries, err := get[[]api.RunEventEntry](ctx, c, from, query)
	if err != nil {
		return nil, err
	}
	return *entries, nil
}

func (c *Client) allEvents(ctx context.Context, from path, params EventListParams) iter.Seq2[api.RunEventEntry, error] {
	if params.Limit == 0 {
		params.Limit = api.MaxEventsPerList
	}
	return func(yield func(api.RunEventEntry, error) bool) {
		for {
			entries, err := c.listEvents(ctx, from, params)
			if err != nil {
				yield(api.RunEventEntry{}, err)
				return
			}
			for _, entry := range entries {
				params.After = entry.ID
				if !yield(entry, nil) {
					return
				}
			}
			if len(entries) < params.Limit {
				return
			}
		}
	}
}
