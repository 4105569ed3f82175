package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Model is the reference: it keeps all rows in maps and decides every command on the full state
// of its session. An engine, which loads only the needed rows, must reach the same rows and
// replies. It is not safe for concurrent use.
type Model struct {
	newID    runs.IDSource
	sessions map[string]*model.Session
	runs     map[string]*model.Run
	requests map[reads.RequestPosition]*model.Request
	events   []*model.Event
	records  map[model.RecordKey]*model.IdempotencyRecord
	effects  map[string]*model.Effect
	messages map[messageKey]*model.Message
	rules    map[string]*rules.Rule
	spanning []string
	// notifyAfter is as in Options.
	notifyAfter time.Duration
}

// messageKey identifies a message.
type messageKey struct {
	sessionID string
	messageID string
}

// NewModel returns an empty model that gets identifiers from newID. notifyAfter is as in [Options].
func NewModel(newID runs.IDSource, notifyAfter time.Duration) *Model {
	return &Model{
		newID: newID, notifyAfter: notifyAfter, sessions: map[string]*model.Session{}, runs: map[string]*model.Run{},
		requests: map[reads.RequestPosition]*model.Request{}, records: map[model.RecordKey]*model.IdempotencyRecord{},
		effects: map[string]*model.Effect{}, messages: map[messageKey]*model.Message{}, rules: map[string]*rules.Rule{},
	}
}

// Do decides a command at a given time, as often as a Door would, and applies its changes.
func (m *Model) Do(command runs.Command, nowMs int64) (runs.Reply, error) {
	reply, err := m.once(command, nowMs)
	if again, _, _ := runs.Lacks(context.Background(), nil, command, err); again {
		return m.decide(command, nowMs)
	}
	return reply, err
}

// once is Do for a command that is not decided again when it lacks rows.
func (m *Model) once(command runs.Command, nowMs int64) (runs.Reply, error) {
	if err := runs.Prepare(command, m.newID); err != nil {
		return runs.Reply{}, err
	}
	return m.decide(command, nowMs)
}

func (m *Model) decide(command runs.Command, nowMs int64) (runs.Reply, error) {
	needs := command.Needs()
	sessionID := needs.SessionID
	if sessionID == "" {
		run, there := m.runs[needs.RunID]
		if !there {
			return runs.Reply{}, refusal.UnknownRun(needs.RunID)
		}
		sessionID = run.SessionID
	}
	state := m.state(sessionID, needs.ChosenRunID+needs.SegmentID, needs.RuleID)
	change, reply, err := runs.Decide(state, command, nowMs)
	for _, written := range sessionsOf(&change) {
		if written != sessionID && written != rules.AllSessions {
			m.spanning = append(m.spanning, fmt.Sprintf("%T about session %q writes to %q", runs.Unwrap(command), sessionID, written))
		}
	}
	state.Apply(change)
	m.keep(state, change)
	return reply, err
}

// Spanning names the decisions that have written rows of another session, or of a rule of all
// sessions. There must be none.
func (m *Model) Spanning() []string { return m.spanning }

// sessionsOf returns the session of every row that a change writes. A record's scope is its
// session.
func sessionsOf(c *runs.Change) []string {
	var sessions []string
	if c.Session != nil {
		sessions = append(sessions, c.Session.SessionID)
	}
	for _, run := range slices.Concat(c.NewRuns, c.UpdatedRuns) {
		sessions = append(sessions, run.SessionID)
	}
	for _, request := range slices.Concat(c.NewRequests, c.SettledRequests, c.RedeemedRequests) {
		sessions = append(sessions, request.SessionID)
	}
	for _, event := range c.Events {
		sessions = append(sessions, event.SessionID)
	}
	for _, effect := range slices.Concat(c.NewEffects, c.UpdatedEffects) {
		sessions = append(sessions, effect.SessionID)
	}
	for _, message := range slices.Concat(c.NewMessages, c.UpdatedMessages) {
		sessions = append(sessions, message.SessionID)
	}
	for _, rule := range slices.Concat(c.NewRules, c.UpdatedRules) {
		sessions = append(sessions, rule.SessionID)
	}
	return sessions
}

// state returns everything that belongs to a session, the rules of all sessions, and
// the run of a chosen id and a named rule wherever they are. The rows are copies, so
// that a decision that writes to them shows as a difference.
func (m *Model) state(sessionID, chosenRunID, ruleID string) *runs.State {
	state := runs.NewState(sessionID)
	state.Session = m.sessions[sessionID]
	state.NotifyAfterMs, state.Notifies = m.notifyAfter.Milliseconds(), m.notifyAfter > 0
	for runID, run := range m.runs {
		if run.SessionID == sessionID || runID == chosenRunID {
			image := *run
			image.QueuedAhead = m.queuedAhead(run)
			state.Runs[runID] = &image
		}
	}
	for position, request := range m.requests {
		if position.SessionID == sessionID {
			image := *request
			state.Requests[runs.RequestKey{RunID: position.RunID, RequestID: position.RequestID}] = &image
		}
	}
	for key, record := range m.records {
		state.Records[key] = record
		if record.Operation == model.OperationName {
			state.NameCounts[record.RunID]++
		}
	}
	for effectID, effect := range m.effects {
		if effect.SessionID == sessionID {
			image := *effect
			state.Effects[effectID] = &image
		}
	}
	for key, message := range m.messages {
		if key.sessionID == sessionID {
			image := *message
			state.Messages[key.messageID] = &image
		}
	}
	for id, rule := range m.rules {
		if rule.SessionID == sessionID || rule.SessionID == rules.AllSessions || id == ruleID {
			image := *rule
			state.Rules[id] = &image
		}
	}
	return state
}

func (m *Model) queuedAhead(run *model.Run) int64 {
	var ahead int64
	for _, other := range m.runs {
		if run.Status == api.StatusQueued && other.SessionID == run.SessionID &&
			other.Status == api.StatusQueued && other.FirstEventID < run.FirstEventID {
			ahead++
		}
	}
	return ahead
}

func (m *Model) keep(state *runs.State, change runs.Change) {
	if state.Session != nil {
		m.sessions[state.SessionID] = state.Session
	}
	maps.Copy(m.runs, state.Runs)
	for key, request := range state.Requests {
		m.requests[reads.RequestPosition{SessionID: state.SessionID, RunID: key.RunID, RequestID: key.RequestID}] = request
	}
	maps.Copy(m.records, state.Records)
	maps.Copy(m.effects, state.Effects)
	for messageID, message := range state.Messages {
		m.messages[messageKey{state.SessionID, messageID}] = message
	}
	maps.Copy(m.rules, state.Rules)
	m.events = append(m.events, change.Events...)
}

// Run returns a run as it is, or nil.
func (m *Model) Run(runID string) *model.Run { return m.runs[runID] }

// Events returns all events, ordered within each session.
func (m *Model) Events() []*model.Event { return m.events }

// Request returns a request as it is, or nil.
func (m *Model) Request(sessionID, runID, requestID string) *model.Request {
	return m.requests[reads.RequestPosition{SessionID: sessionID, RunID: runID, RequestID: requestID}]
}

// allowed returns the allowed approval of a run with that id, or else any allowed one, or nil.
func (m *Model) allowed(run *model.Run, requestID string) *model.Request {
	var found *model.Request
	for _, request := range m.requests {
		if request.RunID != run.RunID || request.Outcome != api.OutcomeAllowed {
			continue
		}
		if request.RequestID == requestID {
			return request
		}
		if found == nil || request.Number < found.Number {
			found = request
		}
	}
	return found
}

// OpenRequests returns the ids of the open requests of a kind on a run, sorted.
func (m *Model) OpenRequests(runID string, kind model.RequestKind) []string {
	var ids []string
	for position, request := range m.requests {
		if position.RunID == runID && request.Kind == kind && request.Open() {
			ids = append(ids, position.RequestID)
		}
	}
	slices.Sort(ids)
	return ids
}

// RunRecord returns a run as a read of it must show it, or nil. Its outputs are
// left out.
func (m *Model) RunRecord(runID string) *model.RunRecord {
	run, there := m.runs[runID]
	if !there {
		return nil
	}
	record := &model.RunRecord{Run: *run}
	record.Run.QueuedAhead = m.queuedAhead(run)
	record.Run.CheckpointSet = false
	for _, request := range m.requests {
		if request.RunID == runID && (request.Open() || request.SettledNumber > run.ResumeAfter) {
			record.Requests = append(record.Requests, *request)
		}
	}
	slices.SortFunc(record.Requests, func(a, b model.Request) int { return cmp.Compare(a.Number, b.Number) })
	return record
}

// Tables returns all rows.
func (m *Model) Tables() Tables {
	tables := Tables{}
	for name := range tableKeys {
		tables[name] = nil
	}
	for _, s := range m.sessions {
		tables.add("sessions", sessionColumns(s))
	}
	for _, r := range m.runs {
		tables.add("runs", runColumns(r))
	}
	for _, r := range m.requests {
		tables.add("requests", requestColumns(r))
	}
	for _, e := range m.events {
		tables.add("events", eventColumns(e))
	}
	for _, r := range m.records {
		tables.add("idempotency_records", recordColumns(r))
	}
	for _, e := range m.effects {
		tables.add("effects", effectColumns(e))
	}
	for _, message := range m.messages {
		tables.add("messages", messageColumns(message))
	}
	for _, rule := range m.rules {
		tables.add("rules", ruleColumns(rule))
	}
	tables.sort()
	return tables
}

// RunIDs returns the ids of all runs, sorted.
func (m *Model) RunIDs() []string {
	return slices.Sorted(maps.Keys(m.runs))
}

// ActiveRuns returns the sorted ids of the runs in their session's slot.
func (m *Model) ActiveRuns() []string {
	var ids []string
	for _, session := range m.sessions {
		if session.ActiveRunID != "" {
			ids = append(ids, session.ActiveRunID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Failed returns the runs that failed, in the order of their ids.
func (m *Model) Failed() []string {
	var failed []string
	for _, runID := range m.RunIDs() {
		if m.runs[runID].Status == api.StatusFailed {
			failed = append(failed, runID)
		}
	}
	return failed
}

// Claimable returns the sorted ids of the runs that are claimable at a given time.
func (m *Model) Claimable(nowMs int64) []string {
	var ids []string
	for runID, run := range m.runs {
		if run.ClaimableAtMs != 0 && run.ClaimableAtMs <= nowMs {
			ids = append(ids, runID)
		}
	}
	slices.Sort(ids)
	return ids
}
