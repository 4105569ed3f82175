package storetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Effects returns all effects in the order of (created_at_ms, effect_id).
func (m *Model) Effects() []model.Effect {
	var list []model.Effect
	for _, effect := range m.effects {
		list = append(list, *effect)
	}
	slices.SortFunc(list, func(a, b model.Effect) int {
		return cmp.Or(cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), strings.Compare(a.EffectID, b.EffectID))
	})
	return list
}

// DueEffects returns the effects that are due at a given time, longest due first, then by id.
func (m *Model) DueEffects(nowMs int64) []reads.DueEffect {
	due := slices.DeleteFunc(m.Effects(), func(e model.Effect) bool {
		return e.DueAtMs == 0 || e.DueAtMs > nowMs || e.WebhookID != ""
	})
	slices.SortFunc(due, func(a, b model.Effect) int {
		return cmp.Or(cmp.Compare(a.DueAtMs, b.DueAtMs), strings.Compare(a.SessionID, b.SessionID), strings.Compare(a.EffectID, b.EffectID))
	})
	list := make([]reads.DueEffect, len(due))
	for i := range due {
		list[i] = reads.DueEffect{SessionID: due[i].SessionID, EffectID: due[i].EffectID}
	}
	return list
}

// Messages returns the messages in a state, in the order of their ids.
func (m *Model) Messages(state api.MessageState) []model.Message {
	var list []model.Message
	for _, message := range m.messages {
		if message.State == state {
			list = append(list, *message)
		}
	}
	slices.SortFunc(list, func(a, b model.Message) int {
		return cmp.Or(strings.Compare(a.SessionID, b.SessionID), strings.Compare(a.MessageID, b.MessageID))
	})
	return list
}

// WaitingClarifications returns the ids of the parent clarifications that wait,
// sorted.
func (m *Model) WaitingClarifications() []string {
	var ids []string
	for runID, run := range m.runs {
		if run.Kind == api.KindParentClarification && !model.Terminal(run.Status) {
			ids = append(ids, runID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Clarifications returns the open clarifications that a session's record must show.
func (m *Model) Clarifications(sessionID string) []model.PendingRequest {
	var list []model.PendingRequest
	for _, runID := range m.WaitingClarifications() {
		run := m.runs[runID]
		if run.SessionID != sessionID {
			continue
		}
		for _, requestID := range m.OpenRequests(runID, model.KindQuestion) {
			request := m.requests[reads.RequestPosition{SessionID: sessionID, RunID: runID, RequestID: requestID}]
			list = append(list, model.PendingRequest{
				Request: *request, AgentID: run.AgentID, RunKind: run.Kind, Requester: run.Requester,
			})
		}
	}
	return list[:min(len(list), api.MaxClarificationsShown)]
}

// AllSessions returns the ids of all sessions, sorted.
func (m *Model) AllSessions() []string {
	return slices.Sorted(maps.Keys(m.sessions))
}

// ParentOf returns the parent of a session, "" if it has none or does not exist.
func (m *Model) ParentOf(sessionID string) string {
	if session := m.sessions[sessionID]; session != nil {
		return session.ParentSessionID
	}
	return ""
}
