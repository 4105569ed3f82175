package storetest

import (
	"context"
	"maps"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Sessions returns the ids that sessions are drawn with. Retention allows their reuse.
func Sessions() []string { return slices.Clone(sessionIDs) }

// Clone returns a model with the same rows, to go back to.
func (m *Model) Clone() *Model {
	clone := *m
	clone.sessions, clone.runs, clone.requests = maps.Clone(m.sessions), maps.Clone(m.runs), maps.Clone(m.requests)
	clone.events, clone.records, clone.effects = slices.Clone(m.events), maps.Clone(m.records), maps.Clone(m.effects)
	clone.messages, clone.rules = maps.Clone(m.messages), maps.Clone(m.rules)
	return &clone
}

// Become replaces the model's rows by another one's.
func (m *Model) Become(other *Model) {
	newID := m.newID
	*m = *other.Clone()
	m.newID = newID
}

// Trim deletes from the model the rows of a session that a store's retention has deleted.
// Separate tests check which rows retention keeps.
func (m *Model) Trim(ctx context.Context, store reads.Reader, sessionID string) error {
	firstKept := int64(1) << 62
	head, err := store.SessionHead(ctx, sessionID)
	switch {
	case refusal.CodeOf(err) == api.CodeSessionNotFound:
		delete(m.sessions, sessionID)
		maps.DeleteFunc(m.records, func(key model.RecordKey, _ *model.IdempotencyRecord) bool { return key.Scope == sessionID })
	case err != nil:
		return err
	default:
		firstKept = head.FirstKeptEventID
		session := *m.sessions[sessionID]
		session.FirstKeptEventID = firstKept
		m.sessions[sessionID] = &session
	}
	m.events = slices.DeleteFunc(slices.Clone(m.events), func(e *model.Event) bool {
		trimmed := e.SessionID == sessionID && e.EventID < firstKept
		if session := m.sessions[sessionID]; trimmed && session != nil && e.Type == api.EventOutput {
			session.OutputCount-- // of the copy made above
		}
		return trimmed
	})
	for runID, run := range m.runs {
		if run.SessionID != sessionID {
			continue
		}
		_, err := store.ClaimedRun(ctx, runID)
		if refusal.CodeOf(err) == api.CodeRunNotFound {
			m.forgetRun(runID)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) forgetRun(runID string) {
	delete(m.runs, runID)
	maps.DeleteFunc(m.requests, func(at reads.RequestPosition, _ *model.Request) bool { return at.RunID == runID })
	maps.DeleteFunc(m.effects, func(_ string, e *model.Effect) bool { return e.RunID == runID })
	maps.DeleteFunc(m.messages, func(_ messageKey, message *model.Message) bool { return message.RunID == runID })
	maps.DeleteFunc(m.records, func(_ model.RecordKey, r *model.IdempotencyRecord) bool {
		return r.Operation == model.OperationName && r.RunID == runID
	})
}
