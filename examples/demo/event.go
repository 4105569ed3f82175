package demo

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// event has the members of an event that the demo shows.
type event struct {
	Type       string   `json:"type"`
	ID         string   `json:"id"` // of a tool call
	RequestIDs []string `json:"request_ids"`
	change     api.Change
}

func readEvent(entry *api.RunEventEntry) (*event, error) {
	event := new(event)
	err := json.Unmarshal(entry.Event, event)
	if err == nil {
		event.change, err = client.ChangeIn(entry)
	}
	if err != nil {
		return nil, fmt.Errorf("read event %s: %w", entry.ID, err)
	}
	return event, nil
}

func (e *event) line() string {
	words := append([]string{e.Type}, e.RequestIDs...)
	if e.ID != "" {
		words = append(words, e.ID)
	}
	for i := range e.change.Resolutions {
		resolution := &e.change.Resolutions[i]
		words = append(words, resolution.RequestID, string(resolution.Outcome), "by", resolution.ResolvedBy)
	}
	return strings.Join(words, " ")
}
