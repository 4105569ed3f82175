package console

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// Settled has the members of events that record decisions.
type Settled struct {
	Type       string           `json:"type"`
	Resolution *api.Resolution  `json:"resolution"`
	Several    []api.Resolution `json:"resolutions"`
}

// Resolutions returns the recorded decisions, none for other events: a worker's own event may have members of these names.
func (s *Settled) Resolutions() []api.Resolution {
	switch api.EventType(s.Type) { //nolint:exhaustive // the others record no decision
	case api.EventApprovalResolved:
		return s.Several
	case api.EventUserQuestionResolved, api.EventParentClarificationResolved:
		if s.Resolution != nil {
			return []api.Resolution{*s.Resolution}
		}
	}
	return nil
}

// Decisions returns the decisions of a run, in order.
func Decisions(ctx context.Context, c *client.Client, runID string) ([]api.Resolution, error) {
	decisions := []api.Resolution{}
	for entry, err := range c.AllRunEvents(ctx, runID, client.EventListParams{}) {
		if err != nil {
			return nil, err
		}
		var event Settled
		if json.Unmarshal(entry.Event, &event) == nil { // a worker's event may have such members in another form
			decisions = append(decisions, event.Resolutions()...)
		}
	}
	return decisions, nil
}
