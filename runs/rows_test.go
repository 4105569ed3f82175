package runs_test

import (
	"maps"
	"reflect"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// rows are in-memory tables. They are written only from the result of Gather, by the engines'
// rules: an insert finds no row, an update finds one, and input and checkpoint are written only
// when they are set.
type rows struct {
	sessions map[string]model.Session
	runs     map[string]model.Run
	requests map[[2]string]model.Request
	events   map[string][]model.Event
	records  map[model.RecordKey]model.IdempotencyRecord
	effects  map[string]model.Effect
	messages map[[2]string]model.Message
	rules    map[string]rules.Rule
}

func newRows() rows {
	return rows{
		sessions: map[string]model.Session{}, runs: map[string]model.Run{}, requests: map[[2]string]model.Request{},
		events: map[string][]model.Event{}, records: map[model.RecordKey]model.IdempotencyRecord{},
		effects: map[string]model.Effect{}, messages: map[[2]string]model.Message{},
		rules: map[string]rules.Rule{},
	}
}

// flush writes the changes since the last flush as one batch, and requires that the rows match
// the states.
func (h *house) flush() {
	h.t.Helper()
	if len(h.pending) == 0 {
		return
	}
	h.write(runs.Gather(h.pending))
	h.pending = nil
	for sessionID, state := range h.states {
		loaded := runs.NewState(sessionID)
		if session, there := h.rows.sessions[sessionID]; there {
			loaded.Session = &session
		}
		for runID, row := range h.rows.runs {
			if row.SessionID == sessionID {
				loaded.Runs[runID] = &row
			}
		}
		for place, run := range queueOf(loaded) {
			run.QueuedAhead = int64(place)
		}
		for key, row := range h.rows.requests {
			if row.SessionID == sessionID {
				loaded.Requests[runs.RequestKey{RunID: key[0], RequestID: key[1]}] = &row
			}
		}
		for key, row := range h.rows.records {
			if row.SessionID == sessionID {
				loaded.Records[key] = &row
				if key.Operation == model.OperationName {
					loaded.NameCounts[row.RunID]++
				}
			}
		}
		for effectID, row := range h.rows.effects {
			if row.SessionID == sessionID {
				loaded.Effects[effectID] = &row
			}
		}
		for key, row := range h.rows.messages {
			if row.SessionID == sessionID {
				loaded.Messages[key[1]] = &row
			}
		}
		for ruleID, row := range h.rows.rules {
			loaded.Rules[ruleID] = &row
		}
		want := copyState(state)
		want.Rules, want.RuleVersions, want.RuleCounts = maps.Clone(h.rules), runs.RuleVersions{}, nil
		want.Notifies, want.Escalations = false, nil // settings of the process
		for _, run := range want.Runs {
			run.CheckpointSet = false
		}
		dropEqual(want.Runs, loaded.Runs)
		dropEqual(want.Requests, loaded.Requests)
		dropEqual(want.Messages, loaded.Messages)
		dropEqual(want.Records, loaded.Records)
		dropEqual(want.Effects, loaded.Effects)
		dropEqual(want.Rules, loaded.Rules)
		requireSame(h.t, want, loaded, "the rows are not what the states say")
	}
}

// dropEqual removes equal entries from both maps: the rest is compared member by member, which is
// slow.
func dropEqual[K comparable, V any](a, b map[K]*V) {
	for key, value := range a {
		if other, there := b[key]; there && reflect.DeepEqual(value, other) {
			delete(a, key)
			delete(b, key)
		}
	}
}

func (h *house) write(writes runs.Writes) {
	h.t.Helper()
	for _, session := range writes.NewSessions {
		require.NotContains(h.t, h.rows.sessions, session.SessionID)
		h.rows.sessions[session.SessionID] = *session
	}
	for _, session := range writes.UpdatedSessions {
		require.Contains(h.t, h.rows.sessions, session.SessionID)
		h.rows.sessions[session.SessionID] = *session
	}
	for _, run := range writes.NewRuns {
		require.NotContains(h.t, h.rows.runs, run.RunID)
		row := *copyRun(run)
		row.CheckpointSet, row.QueuedAhead = false, 0
		h.rows.runs[run.RunID] = row
	}
	for _, run := range writes.UpdatedRuns {
		before, there := h.rows.runs[run.RunID]
		require.True(h.t, there, "an update of run %s meets no row", run.RunID)
		row := *copyRun(run)
		row.Input = before.Input
		if !run.CheckpointSet {
			row.Checkpoint = before.Checkpoint
		}
		row.CheckpointSet, row.QueuedAhead = false, 0
		h.rows.runs[run.RunID] = row
	}
	for _, request := range writes.NewRequests {
		key := [2]string{request.RunID, request.RequestID}
		require.NotContains(h.t, h.rows.requests, key)
		h.rows.requests[key] = *request
	}
	for _, request := range writes.SettledRequests {
		key := [2]string{request.RunID, request.RequestID}
		require.Contains(h.t, h.rows.requests, key)
		h.rows.requests[key] = *request
	}
	for _, request := range writes.RedeemedRequests {
		key := [2]string{request.RunID, request.RequestID}
		row := h.rows.requests[key]
		require.Equal(h.t, api.OutcomeAllowed, row.Outcome)
		row.Redemption = request.Redemption
		h.rows.requests[key] = row
	}
	for _, event := range writes.Events {
		log := h.rows.events[event.SessionID]
		require.Equal(h.t, int64(len(log)+1), event.EventID, "the log has a gap")
		h.rows.events[event.SessionID] = append(log, *event)
	}
	for _, record := range writes.Records {
		require.NotContains(h.t, h.rows.records, record.RecordKey)
		h.rows.records[record.RecordKey] = *record
	}
	for _, effect := range writes.NewEffects {
		require.NotContains(h.t, h.rows.effects, effect.EffectID)
		h.rows.effects[effect.EffectID] = *effect
	}
	for _, effect := range writes.UpdatedEffects {
		require.Contains(h.t, h.rows.effects, effect.EffectID)
		h.rows.effects[effect.EffectID] = *effect
	}
	for _, message := range writes.NewMessages {
		key := [2]string{message.SessionID, message.MessageID}
		require.NotContains(h.t, h.rows.messages, key)
		h.rows.messages[key] = *message
	}
	for _, message := range writes.UpdatedMessages {
		key := [2]string{message.SessionID, message.MessageID}
		require.Contains(h.t, h.rows.messages, key)
		h.rows.messages[key] = *message
	}
	for _, rule := range writes.NewRules {
		require.NotContains(h.t, h.rows.rules, rule.RuleID)
		h.rows.rules[rule.RuleID] = *rule
	}
	for _, rule := range writes.UpdatedRules {
		require.Contains(h.t, h.rows.rules, rule.RuleID)
		h.rows.rules[rule.RuleID] = *rule
	}
}
