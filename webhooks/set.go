package webhooks

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// Set is an immutable set of enabled endpoints with their filters. A nil Set is empty.
type Set struct {
	wants []want
}

type want struct {
	webhookID string
	// events are the selected types; nil for all except types of workers.
	events   map[api.EventType]bool
	kinds    map[api.WebhookKind]bool
	agents   map[string]bool
	prefixes []string
}

// NewSet returns the set of the enabled endpoints, nil if there are none.
func NewSet(endpoints []Endpoint) *Set {
	var set Set
	for i := range endpoints {
		e := &endpoints[i]
		if e.DisabledAtMs != 0 {
			continue
		}
		set.wants = append(set.wants, want{
			webhookID: e.WebhookID, events: among(e.Settings.Events), kinds: among(e.Settings.Kinds),
			agents: among(e.Settings.AgentIDs), prefixes: e.Settings.SessionPrefixes,
		})
	}
	if len(set.wants) == 0 {
		return nil
	}
	return &set
}

func among[T comparable](given []T) map[T]bool {
	if len(given) == 0 {
		return nil
	}
	found := make(map[T]bool, len(given))
	for _, one := range given {
		found[one] = true
	}
	return found
}

// Len returns the number of endpoints.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.wants)
}

// Owed calls owed for each endpoint that gets an event, with its position, from 0, and its
// id, in the order of NewSet.
func (s *Set) Owed(sessionID, agentID string, event api.EventType, owed func(at int, webhookID string)) {
	if s == nil {
		return
	}
	kind := KindOf(event)
	for i := range s.wants {
		if s.wants[i].matches(sessionID, agentID, event, kind) {
			owed(i, s.wants[i].webhookID)
		}
	}
}

func (w *want) matches(sessionID, agentID string, event api.EventType, kind api.WebhookKind) bool {
	switch {
	case w.events != nil && !w.events[event],
		w.kinds != nil && !w.kinds[kind] && !w.namesAsWorker(event),
		w.events == nil && w.kinds == nil && kind == api.WebhookWorker,
		w.agents != nil && !w.agents[agentID]:
		return false
	}
	return len(w.prefixes) == 0 || slices.ContainsFunc(w.prefixes, func(p string) bool { return strings.HasPrefix(sessionID, p) })
}

// namesAsWorker reports whether an endpoint names an event, and kind worker. The events about notifications were of this
// kind, and endpoints of that time are still stored.
func (w *want) namesAsWorker(event api.EventType) bool {
	return w.events[event] && w.kinds[api.WebhookWorker]
}

// KindOf returns the kind of an event type.
func KindOf(event api.EventType) api.WebhookKind {
	switch event {
	case api.EventWaitingForApproval, api.EventApprovalResolved, api.EventGrantRedeemed:
		return api.WebhookApproval
	case api.EventWaitingForUserQuestion, api.EventUserQuestionResolved, api.EventUserQuestionAnswered:
		return api.WebhookQuestion
	case api.EventParentClarificationRequested, api.EventParentClarificationResolved:
		return api.WebhookClarification
	case api.EventAccepted, api.EventQueued, api.EventStarted, api.EventCompleted, api.EventFailed, api.EventInterrupted, api.EventCancelled, api.EventRunRetried,
		api.EventRequestNotified, api.EventNotificationFailed, api.EventRequestAcknowledged:
		return api.WebhookRun
	case api.EventOutput:
	}
	return api.WebhookWorker
}
