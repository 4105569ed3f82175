package codex

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// change is one thing that happened to a request, as an event of the log tells it.
// Exactly one of its members is set.
type change struct {
	approval  *api.ApprovalRequest
	toolInput *api.UserQuestionRequest
	// settled says what became of a request, which it names by its id in its run.
	settled *api.Resolution
}

// raisedEvent and settledEvent are what is read of the bodies of events.
type (
	raisedEvent[R any] struct {
		Requests []R `json:"requests"`
	}
	settledEvent struct {
		Resolution  *api.Resolution  `json:"resolution"`
		Resolutions []api.Resolution `json:"resolutions"`
	}
)

// changesOf reads an event. Most events tell of nothing that this dialect shows.
func changesOf(event *model.Event) ([]change, error) {
	var changes []change
	switch event.Type { //nolint:exhaustive // workers write types of their own too: what is not about a request is left out
	case api.EventWaitingForApproval:
		var raised raisedEvent[api.ApprovalRequest]
		if err := read(event, &raised); err != nil {
			return nil, err
		}
		for i := range raised.Requests {
			changes = append(changes, change{approval: &raised.Requests[i]})
		}
	case api.EventWaitingForUserQuestion:
		var raised raisedEvent[api.UserQuestionRequest]
		if err := read(event, &raised); err != nil {
			return nil, err
		}
		for i := range raised.Requests {
			changes = append(changes, change{toolInput: &raised.Requests[i]})
		}
	case api.EventApprovalResolved, api.EventUserQuestionResolved, api.EventParentClarificationResolved:
		var over settledEvent
		if err := read(event, &over); err != nil {
			return nil, err
		}
		if over.Resolution != nil {
			changes = append(changes, change{settled: over.Resolution})
		}
		for i := range over.Resolutions {
			changes = append(changes, change{settled: &over.Resolutions[i]})
		}
	}
	return changes, nil
}

func read(event *model.Event, into any) error {
	if err := json.Unmarshal(event.Body, into, encoding); err != nil {
		return fmt.Errorf("read event %d of session %s: %w", event.EventID, event.SessionID, err)
	}
	return nil
}
