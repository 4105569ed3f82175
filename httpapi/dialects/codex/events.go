package codex

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/runs"
)

// change is one thing that happened to a request, as an event of the log tells it.
// Exactly one of its members is set.
type change struct {
	approval  *runs.ApprovalRequest
	toolInput *runs.UserQuestionRequest
	// settled says what became of a request, which it names by its id in its run.
	settled *runs.Resolution
}

// raisedEvent and settledEvent are what is read of the bodies of events.
type (
	raisedEvent[R any] struct {
		Requests []R `json:"requests"`
	}
	settledEvent struct {
		Resolution  *runs.Resolution  `json:"resolution"`
		Resolutions []runs.Resolution `json:"resolutions"`
	}
)

// changesOf reads an event. Most events tell of nothing that this dialect shows.
func changesOf(event *runs.Event) ([]change, error) {
	var changes []change
	switch event.Type { //nolint:exhaustive // workers write types of their own too: what is not about a request is left out
	case runs.EventWaitingForApproval:
		var raised raisedEvent[runs.ApprovalRequest]
		if err := read(event, &raised); err != nil {
			return nil, err
		}
		for i := range raised.Requests {
			changes = append(changes, change{approval: &raised.Requests[i]})
		}
	case runs.EventWaitingForUserQuestion:
		var raised raisedEvent[runs.UserQuestionRequest]
		if err := read(event, &raised); err != nil {
			return nil, err
		}
		for i := range raised.Requests {
			changes = append(changes, change{toolInput: &raised.Requests[i]})
		}
	case runs.EventApprovalResolved, runs.EventUserQuestionResolved, runs.EventParentClarificationResolved:
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

func read(event *runs.Event, into any) error {
	if err := json.Unmarshal(event.Body, into, encoding); err != nil {
		return fmt.Errorf("read event %d of session %s: %w", event.EventID, event.SessionID, err)
	}
	return nil
}
