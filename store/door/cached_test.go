package door_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/facts"
)

// unreadMemory is a memory that can write without reading first.
type unreadMemory struct {
	*memory
	// onUnread, if set, may refuse the guard.
	onUnread func(guard facts.ReadSet) error

	mu     sync.Mutex
	guards []facts.ReadSet
}

func (m *unreadMemory) Commit(ctx context.Context, guard facts.ReadSet, w runs.Writes) (int64, error) {
	m.mu.Lock()
	m.guards = append(m.guards, guard)
	m.mu.Unlock()
	if m.onUnread != nil {
		if err := m.onUnread(guard); err != nil {
			return 0, err
		}
	}
	if guard.Incarnation != m.incarnation.Load() {
		return 0, facts.ErrStaleDatabase
	}
	m.memory.mu.Lock()
	for _, session := range guard.Sessions {
		there := m.states[session.SessionID]
		if there == nil || there.Session.Version != session.Version || m.foreign[session.SessionID] {
			m.memory.mu.Unlock()
			return 0, facts.ErrStale
		}
	}
	m.memory.mu.Unlock()
	return 1_000, (&memoryBatch{memory: m.memory}).Commit(ctx, w)
}

func (m *unreadMemory) counts() (read, unread int) {
	read = len(m.sizes())
	m.mu.Lock()
	defer m.mu.Unlock()
	return read, len(m.guards)
}

func newUnread(t *testing.T, options door.Options) (*unreadMemory, *door.Door) {
	t.Helper()
	m := &unreadMemory{memory: newMemory()}
	options.Clock = func() int64 { return 0 }
	c := door.New(m, options)
	t.Cleanup(func() { c.Close() })
	return m, c
}

func must(t *testing.T, c *door.Door, command runs.Command) runs.Reply {
	t.Helper()
	reply, err := c.Do(t.Context(), command)
	require.NoError(t, err)
	return reply
}

func TestWhatIsRememberedIsNotReadAgain(t *testing.T) {
	t.Parallel()
	m, c := newUnread(t, door.Options{Lanes: 1})
	must(t, c, create("s", "r"))
	for fence := int64(1); fence <= 3; fence++ {
		require.Equal(t, fence, must(t, c, &runs.ClaimRun{RunID: "r", WorkerID: "w"}).Run.Run.Fence)
		must(t, c, &runs.Release{RunID: "r", Fence: fence})
	}
	read, unread := m.counts()
	require.Equal(t, 1, read, "only the first command reads")
	require.Equal(t, 6, unread)
	must(t, c, &runs.CreateRun{Input: api.JSON(`1`)})
	read, unread = m.counts()
	require.Equal(t, 1, read, "a session whose id was just made is not looked for")
	require.Equal(t, 7, unread)
	require.Empty(t, m.guards[6].Sessions)
}

// Refusals and replies without a change may depend on rows that are not cached.
func TestARefusalIsReadFor(t *testing.T) {
	t.Parallel()
	m, c := newUnread(t, door.Options{Lanes: 1})
	must(t, c, create("s", "r"))
	_, err := c.Do(t.Context(), &runs.Complete{RunID: "r", Fence: 7})
	require.Equal(t, api.CodeLeaseLost, refusal.CodeOf(err))
	read, unread := m.counts()
	require.Equal(t, 2, read)
	require.Zero(t, unread)

	keyed := func() *runs.CreateRun {
		return &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`2`), Key: "key"}
	}
	first := must(t, c, keyed())
	again := must(t, c, keyed())
	require.True(t, again.Replayed, "the key's insertion failed, and it was looked up")
	require.Equal(t, first.Run.Run.RunID, again.ReplayRunID)
}

func TestAForeignChangeIsSeen(t *testing.T) {
	t.Parallel()
	m, c := newUnread(t, door.Options{Lanes: 1})
	must(t, c, create("s", "r"))
	must(t, c, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	m.memory.mu.Lock()
	state := m.states["s"]
	session, run := *state.Session, *state.Runs["r"]
	session.Version++
	run.Fence, run.WorkerID = 9, "another"
	state.Session, state.Runs["r"] = &session, &run
	m.memory.mu.Unlock()

	_, err := c.Do(t.Context(), &runs.Release{RunID: "r", Fence: 1})
	require.Equal(t, api.CodeLeaseLost, refusal.CodeOf(err))
	read, unread := m.counts()
	must(t, c, &runs.Release{RunID: "r", Fence: 9})
	readThen, unreadThen := m.counts()
	require.Equal(t, read+1, readThen, "another writer was found: the session is locked first for a while")
	require.Equal(t, unread, unreadThen)
}

// A server that took over without the last commits reuses their versions.
func TestWhatIsRememberedOfAnotherServerIsReadAgain(t *testing.T) {
	t.Parallel()
	m, c := newUnread(t, door.Options{Lanes: 1})
	m.incarnation.Store(1)
	for _, sessionID := range []string{"s", "t"} {
		must(t, c, create(sessionID, "run-of-"+sessionID))
		must(t, c, &runs.ClaimRun{RunID: "run-of-" + sessionID, WorkerID: "w"})
	}
	m.memory.mu.Lock()
	for _, sessionID := range []string{"s", "t"} {
		state := m.states[sessionID]
		run := *state.Runs["run-of-"+sessionID]
		run.Fence, run.WorkerID = 9, "another"
		state.Runs["run-of-"+sessionID] = &run
	}
	m.memory.mu.Unlock()
	m.incarnation.Store(2)

	_, err := c.Do(t.Context(), &runs.Release{RunID: "run-of-s", Fence: 1})
	require.Equal(t, api.CodeLeaseLost, refusal.CodeOf(err))
	_, unread := m.counts()
	_, err = c.Do(t.Context(), &runs.Release{RunID: "run-of-t", Fence: 1})
	require.Equal(t, api.CodeLeaseLost, refusal.CodeOf(err))
	_, unreadThen := m.counts()
	require.Equal(t, unread, unreadThen, "nothing is remembered of the other one any more")
	must(t, c, &runs.Release{RunID: "run-of-t", Fence: 9})
	_, unreadThen = m.counts()
	require.Equal(t, unread+1, unreadThen, "and of this one it is")
}

// The outcome of such a transaction is unknown, so it is not retried.
func TestAnUnknownOutcomeIsToldAsSuch(t *testing.T) {
	t.Parallel()
	m, c := newUnread(t, door.Options{Lanes: 1})
	must(t, c, create("s", "r"))
	broken := errors.New("connection lost")
	m.onUnread = func(facts.ReadSet) error { m.onUnread = nil; return broken }
	_, err := c.Do(t.Context(), &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	require.ErrorIs(t, err, runs.ErrUnavailable)
	require.ErrorIs(t, err, broken)
	read, _ := m.counts()
	require.Equal(t, 1, read)
	must(t, c, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	read, _ = m.counts()
	require.Equal(t, 2, read, "the session was forgotten")
}

func TestAClockOrARuleThatIsOffIsReadFor(t *testing.T) {
	t.Parallel()
	for _, off := range []error{facts.ErrStaleClock, facts.ErrStaleRules, facts.ErrStaleTokens, facts.ErrStale, door.ErrRefused} {
		m, c := newUnread(t, door.Options{Lanes: 1})
		must(t, c, create("s", "r"))
		m.onUnread = func(facts.ReadSet) error { m.onUnread = nil; return fmt.Errorf("refused: %w", off) }
		require.EqualValues(t, 1, must(t, c, &runs.ClaimRun{RunID: "r", WorkerID: "w"}).Run.Run.Fence)
		read, unread := m.counts()
		require.Equal(t, 2, read, off)
		require.Equal(t, 1, unread, off)
	}
}

// decided is a CreateRun with the actions of a decision, so that the caller's token is checked
// again.
type decided struct{ *runs.CreateRun }

func (d decided) Spec() runs.Spec {
	spec := d.CreateRun.Spec()
	spec.Actions = []auth.Action{auth.Decide}
	return spec
}

// A token is read once. Later decisions compare the cached token with the database.
func TestATokenIsRememberedUntilItIsAnother(t *testing.T) {
	t.Parallel()
	m, c := newUnread(t, door.Options{Lanes: 1})
	m.token = &auth.Token{TokenID: "t", SecretHash: "h", ExpiresAtMs: 2_000}
	caller := &auth.Identity{Principal: "user:ada", Role: api.RoleOperator, Via: auth.ViaToken, TokenID: "t", Credential: "h"}
	start := func() error {
		_, err := c.Do(t.Context(), &runs.Call{Command: decided{&runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`)}}, Caller: caller})
		return err
	}
	m.onUnread = func(guard facts.ReadSet) error {
		require.Equal(t, []*auth.Token{{TokenID: "t", SecretHash: "h", ExpiresAtMs: 2_000}}, guard.Tokens)
		return nil
	}
	for range 3 {
		require.NoError(t, start())
	}
	read, unread := m.counts()
	require.Equal(t, []int{1, 2}, []int{read, unread})

	m.onUnread = func(facts.ReadSet) error {
		m.onUnread = nil
		return fmt.Errorf("refused: %w", facts.ErrStaleTokens)
	}
	require.NoError(t, start())
	require.NoError(t, start())
	read, unread = m.counts()
	require.Equal(t, []int{2, 4}, []int{read, unread}, "it was read again, and remembered")

	for _, other := range []*auth.Token{
		{TokenID: "t", SecretHash: "h", ExpiresAtMs: 1_001}, // too soon for an estimated clock
		{TokenID: "t", SecretHash: "h2", PreviousHash: "h", PreviousUntilMs: 1_001},
	} {
		m.token = other
		m.onUnread = func(facts.ReadSet) error {
			m.onUnread = nil
			return fmt.Errorf("refused: %w", facts.ErrStaleTokens)
		}
		before, _ := m.counts()
		require.NoError(t, start())
		require.NoError(t, start())
		after, _ := m.counts()
		require.Equal(t, before+2, after, "%+v is read each time", other)
		m.token = &auth.Token{TokenID: "t", SecretHash: "h"}
		require.NoError(t, start())
	}
	m.token = &auth.Token{TokenID: "t", SecretHash: "h", RevokedAtMs: 1}
	m.onUnread = func(facts.ReadSet) error { return fmt.Errorf("refused: %w", facts.ErrStaleTokens) }
	for range 2 {
		require.Equal(t, api.CodeInvalidToken, refusal.CodeOf(start()))
	}
}

// A command that needs a read is not overtaken by later commands of its session.
func TestTheOrderOfASessionIsKept(t *testing.T) {
	t.Parallel()
	m, c := newUnread(t, door.Options{Lanes: 1})
	must(t, c, create("s", "r"))
	must(t, c, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	gate, inside := make(chan struct{}), make(chan struct{})
	m.onUnread = func(facts.ReadSet) error { m.onUnread = nil; close(inside); <-gate; return nil }
	first := do(t.Context(), c, &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"note","n":1}`)}})
	<-inside
	// They collect behind the gate in any order. Only the mailbox needs a read.
	var behind []<-chan result
	for range 8 {
		behind = append(behind, do(t.Context(), c, &runs.ReadMailbox{SessionID: "s"}),
			do(t.Context(), c, &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"note","n":2}`)}}))
	}
	close(gate)
	require.NoError(t, (<-first).err)
	for _, done := range behind {
		require.NoError(t, (<-done).err)
	}
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	for i, event := range m.events {
		require.EqualValues(t, i+1, event.EventID)
	}
}

func TestLittleMemoryIsEnough(t *testing.T) {
	t.Parallel()
	m, c := newUnread(t, door.Options{Lanes: 1, RememberedBytes: 16 << 10})
	const sessions = 50
	for i := range sessions {
		must(t, c, create(fmt.Sprint("s", i), fmt.Sprint("r", i)))
	}
	read, _ := m.counts()
	must(t, c, &runs.ClaimRun{RunID: "r49", WorkerID: "w"})
	must(t, c, &runs.ClaimRun{RunID: "r0", WorkerID: "w"})
	readThen, _ := m.counts()
	require.Equal(t, read+1, readThen, "the newest is remembered, the oldest is not")
}
