package console

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// Decisions returns the decisions of a run, in order, and the position of its newest event; "" if it has none.
func Decisions(ctx context.Context, c *client.Client, runID string) (decisions []api.Resolution, newest string, err error) {
	decisions = []api.Resolution{}
	for entry, err := range c.AllRunEvents(ctx, runID, client.EventListParams{}) {
		if err != nil {
			return nil, "", err
		}
		if newest = entry.ID; entry.Hash != "" {
			newest += "." + entry.Hash // a stream answers a bare number with a gap
		}
		if change, err := client.ChangeIn(&entry); err == nil { // a worker's event may have such members in another form
			decisions = append(decisions, change.Resolutions...)
		}
	}
	return decisions, newest, nil
}
