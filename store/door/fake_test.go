package door_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/facts"
)

// memory is an in-memory engine: rows in maps, and one lock per session.
type memory struct {
	// onBegin and onCommit, if set, may block or return an error. They run without locks.
	onBegin  func(loads []door.Load) error
	onCommit func(writes runs.Writes) error
	// onAwait, if set, implements AwaitRuleReaders.
	onAwait func(ctx context.Context) error
	// onVersions, if set, may return an error from Histories.
	onVersions func(ctx context.Context) error

	// incarnation is reported by all later batches.
	incarnation atomic.Int64

	mu      sync.Mutex
	foreign map[string]bool // sessions locked by another process
	// rules are the rule versions of every session.
	rules runs.RuleVersions
	// token is the token of every caller, or nil.
	token     *auth.Token
	locks     map[string]*sync.Mutex
	states    map[string]*runs.State
	sessionOf map[string]string
	records   map[model.RecordKey]*model.IdempotencyRecord
	batches   [][]door.Load
	lookUps   int
	commits   int
	rollbacks int
	events    []*model.Event
}

func newMemory() *memory {
	return &memory{
		locks: map[string]*sync.Mutex{}, states: map[string]*runs.State{}, sessionOf: map[string]string{},
		records: map[model.RecordKey]*model.IdempotencyRecord{},
	}
}

// inBubble runs a test on an engine and a clock of its own, next to others.
func inBubble(t *testing.T, test func(t *testing.T, m *memory)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newMemory()) })
}

func (m *memory) SessionOf(_ context.Context, runID string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookUps++
	return m.sessionOf[runID], nil
}

func (m *memory) AwaitRuleReaders(ctx context.Context) error {
	if m.onAwait == nil {
		return nil
	}
	return m.onAwait(ctx)
}

func (m *memory) Histories(ctx context.Context, sessionIDs []string, eventIDs []int64) (map[string]door.History, error) {
	if m.onVersions != nil {
		if err := m.onVersions(ctx); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]door.History{}
	for i, sessionID := range sessionIDs {
		if state := m.states[sessionID]; state != nil {
			s := state.Session
			history := door.History{Life: s.Life, Version: s.Version, LastEventID: s.LastEventID}
			if s.LastEventID == eventIDs[i] {
				history.EventHash = s.LastEventHash
			}
			found[sessionID] = history
		}
	}
	return found, nil
}

func (m *memory) Begin(_ context.Context, loads []door.Load) (door.Batch, error) {
	m.mu.Lock()
	m.batches = append(m.batches, loads)
	m.mu.Unlock()
	if m.onBegin != nil {
		if err := m.onBegin(loads); err != nil {
			return nil, err
		}
	}
	b := &memoryBatch{memory: m, states: map[string]*runs.State{}}
	for i := range loads {
		sessionID := loads[i].SessionID
		m.mu.Lock()
		if m.foreign[sessionID] {
			m.mu.Unlock()
			continue
		}
		lock := m.locks[sessionID]
		if lock == nil {
			lock = &sync.Mutex{}
			m.locks[sessionID] = lock
		}
		m.mu.Unlock()
		lock.Lock()
		b.locks = append(b.locks, lock)
		m.mu.Lock()
		state := runs.NewState(sessionID)
		if row := m.states[sessionID]; row != nil {
			state.Session = row.Session
			maps.Copy(state.Runs, row.Runs)
			maps.Copy(state.Requests, row.Requests)
			maps.Copy(state.Effects, row.Effects)
			maps.Copy(state.Messages, row.Messages)
		}
		state.RuleVersions = m.rules
		if m.token != nil {
			state.Tokens[m.token.TokenID] = m.token
		}
		for _, needs := range loads[i].Needs {
			if needs.Record == nil {
				continue
			}
			if record := m.records[*needs.Record]; record != nil {
				state.Records[*needs.Record] = record
			}
		}
		m.mu.Unlock()
		b.states[sessionID] = state
	}
	return b, nil
}

// lock locks a session as another process would, or unlocks it.
func (m *memory) lock(sessionID string, locked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.foreign == nil {
		m.foreign = map[string]bool{}
	}
	m.foreign[sessionID] = locked
}

// Commit is not called: a door on a memory has no cache, see [loading]. An unreadMemory has one.
func (*memory) Commit(context.Context, facts.ReadSet, runs.Writes) (int64, error) {
	panic("nothing is cached")
}

// loading returns a door that loads all facts.
func loading(m *memory, options door.Options) *door.Door {
	options.RememberedBytes = -1
	return door.New(m, options)
}

func (m *memory) sizes() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	sizes := make([]int, len(m.batches))
	for i, loads := range m.batches {
		for j := range loads {
			sizes[i] += len(loads[j].Needs)
		}
	}
	return sizes
}

type memoryBatch struct {
	memory *memory
	states map[string]*runs.State
	locks  []*sync.Mutex
}

func (b *memoryBatch) NowMs() int64                       { return 1_000 }
func (b *memoryBatch) Incarnation() int64                 { return b.memory.incarnation.Load() }
func (b *memoryBatch) State(sessionID string) *runs.State { return b.states[sessionID] }

func (b *memoryBatch) unlock() bool {
	for _, lock := range b.locks {
		lock.Unlock()
	}
	open := b.locks != nil
	b.locks = nil
	return open
}

func (b *memoryBatch) Rollback(context.Context) {
	if b.unlock() {
		b.memory.mu.Lock()
		b.memory.rollbacks++
		b.memory.mu.Unlock()
	}
}

func (b *memoryBatch) Commit(_ context.Context, w runs.Writes) error {
	m := b.memory
	if m.onCommit != nil {
		if err := m.onCommit(w); err != nil {
			return err
		}
	}
	defer b.unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, session := range w.NewSessions {
		if m.states[session.SessionID] != nil {
			return fmt.Errorf("session is there: %w", door.ErrRefused)
		}
	}
	for _, run := range w.NewRuns {
		if m.sessionOf[run.RunID] != "" {
			return fmt.Errorf("run is there: %w", door.ErrRefused)
		}
	}
	fresh := map[model.RecordKey]bool{}
	for _, record := range w.Records {
		if m.records[record.RecordKey] != nil || fresh[record.RecordKey] {
			return fmt.Errorf("record is there: %w", door.ErrRefused)
		}
		fresh[record.RecordKey] = true
	}
	for _, session := range append(w.NewSessions, w.UpdatedSessions...) {
		if m.states[session.SessionID] == nil {
			m.states[session.SessionID] = runs.NewState(session.SessionID)
		}
		m.states[session.SessionID].Session = session
	}
	for _, run := range append(w.NewRuns, w.UpdatedRuns...) {
		m.states[run.SessionID].Runs[run.RunID] = run
		m.sessionOf[run.RunID] = run.SessionID
	}
	for _, request := range append(w.NewRequests, w.SettledRequests...) {
		m.states[request.SessionID].Requests[runs.RequestKey{RunID: request.RunID, RequestID: request.RequestID}] = request
	}
	for _, record := range w.Records {
		m.records[record.RecordKey] = record
	}
	for _, effect := range append(w.NewEffects, w.UpdatedEffects...) {
		m.states[effect.SessionID].Effects[effect.EffectID] = effect
	}
	for _, message := range append(w.NewMessages, w.UpdatedMessages...) {
		m.states[message.SessionID].Messages[message.MessageID] = message
	}
	m.events = append(m.events, w.Events...)
	m.commits++
	return nil
}
