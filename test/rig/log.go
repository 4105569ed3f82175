package rig

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// Log is the content of a run's events.
type Log struct {
	// Types are the types of the events.
	Types []string
	// Resolutions are those that events report.
	Resolutions []api.Resolution
}

// Count returns how many events have a type.
func (l *Log) Count(eventType string) int {
	return len(slices.DeleteFunc(slices.Clone(l.Types), func(t string) bool { return t != eventType }))
}

// Of returns the resolutions of a request.
func (l *Log) Of(requestID string) []api.Resolution {
	return slices.DeleteFunc(slices.Clone(l.Resolutions), func(r api.Resolution) bool { return r.RequestID != requestID })
}

// ReadLog reads all events of a run. It returns the client's errors.
func ReadLog(ctx context.Context, c *client.Client, runID string) (*Log, error) {
	log := &Log{}
	for entry, err := range c.AllRunEvents(ctx, runID, client.EventListParams{}) {
		if err != nil {
			return nil, err
		}
		eventType, resolutions, err := ReadEvent(entry.Event)
		if err != nil {
			return nil, fmt.Errorf("event %s of run %s: %w", entry.ID, runID, err)
		}
		log.Types = append(log.Types, eventType)
		log.Resolutions = append(log.Resolutions, resolutions...)
	}
	return log, nil
}

// ReadEvent returns the type of an event and the resolutions that it reports.
func ReadEvent(text api.JSON) (eventType string, resolutions []api.Resolution, err error) {
	var event struct {
		Type        string           `json:"type"`
		Resolutions []api.Resolution `json:"resolutions"`
		Resolution  *api.Resolution  `json:"resolution"`
	}
	if err := json.Unmarshal(text, &event); err != nil {
		return "", nil, err
	}
	if event.Resolution != nil {
		event.Resolutions = append(event.Resolutions, *event.Resolution)
	}
	return event.Type, event.Resolutions, nil
}
