package demo

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// event has the members of an event that the demo shows.
type event struct {
	Type        string            `json:"type"`
	ID          string            `json:"id"` // of a tool call
	RequestIDs  []string          `json:"request_ids"`
	Resolutions []*api.Resolution `json:"resolutions"`
	Resolution  *api.Resolution   `json:"resolution"`
}

func readEvent(entry *api.RunEventEntry) (*event, error) {
	event := new(event)
	if err := json.Unmarshal(entry.Event, event); err != nil {
		return nil, fmt.Errorf("read event %s: %w", entry.ID, err)
	}
	return event, nil
}

func (e *event) line() string {
	words := append([]string{e.Type}, e.RequestIDs...)
	if e.ID != "" {
		words = append(words, e.ID)
	}
	switch api.EventType(e.Type) { //nolint:exhaustive // a worker's own events may have members of these names
	case api.EventApprovalResolved, api.EventUserQuestionResolved, api.EventParentClarificationResolved:
		for _, resolution := range append(e.Resolutions, e.Resolution) {
			if resolution != nil {
				words = append(words, resolution.RequestID, string(resolution.Outcome), "by", resolution.ResolvedBy)
			}
		}
	}
	return strings.Join(words, " ")
}
