package door_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/door"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func create(sessionID, runID string) *runs.CreateRun {
	return &runs.CreateRun{SessionID: sessionID, SessionGiven: true, RunID: runID, Input: api.JSON(`1`)}
}

// result is the result of a call of Do.
type result struct {
	reply runs.Reply
	err   error
}

// do calls Do in its own goroutine.
func do(ctx context.Context, c *door.Door, command runs.Command) <-chan result {
	done := make(chan result, 1)
	go func() {
		reply, err := c.Do(ctx, command)
		done <- result{reply, err}
	}()
	return done
}

// held blocks the engine once in Begin until release is called.
func held(m *memory) (release func()) {
	gate := make(chan struct{})
	var once sync.Once
	m.onBegin = func([]door.Load) error { <-gate; return nil }
	return func() { once.Do(func() { close(gate) }) }
}

func TestWhatArrivesMeanwhileIsOneBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		release := held(m)
		c := loading(m, door.Options{Lanes: 1, MaxBatch: 16})
		defer c.Close()
		var calls []<-chan result
		for i := range 21 {
			calls = append(calls, do(t.Context(), c, create(fmt.Sprintf("s%d", i), fmt.Sprintf("r%d", i))))
			synctest.Wait()
		}
		release()
		for _, call := range calls {
			require.NoError(t, (<-call).err)
		}
		require.Equal(t, []int{1, 16, 4}, m.sizes())
		for _, loads := range m.batches {
			require.True(t, slices.IsSortedFunc(loads, func(a, b door.Load) int {
				return bytes.Compare([]byte(a.SessionID), []byte(b.SessionID))
			}))
		}
	})
}

func TestCommandsOfOneSessionSeeEachOtherInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		release := held(m)
		c := loading(m, door.Options{Lanes: 4})
		defer c.Close()
		var calls []<-chan result
		for i := range 10 {
			calls = append(calls, do(t.Context(), c, create("s", fmt.Sprintf("r%d", i))))
			synctest.Wait()
		}
		release()
		for i, call := range calls {
			got := <-call
			require.NoError(t, got.err)
			require.EqualValues(t, i, got.reply.Run.Run.QueuedAhead)
		}
		require.Equal(t, []int{1, 9}, m.sizes())
		for i, event := range m.events {
			require.EqualValues(t, i+1, event.EventID)
		}
		require.EqualValues(t, 10, m.states["s"].Session.QueuedCount)
	})
}

func TestARefusedCommandFailsAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		release := held(m)
		m.onCommit = func(w runs.Writes) error {
			for _, run := range w.NewRuns {
				if run.RunID == "poison" {
					return fmt.Errorf("check constraint: %w", door.ErrRefused)
				}
			}
			return nil
		}
		c := loading(m, door.Options{Lanes: 1, Retries: 3})
		defer c.Close()
		first := do(t.Context(), c, create("first", "first"))
		synctest.Wait()
		good := do(t.Context(), c, create("s1", "good"))
		synctest.Wait()
		bad := do(t.Context(), c, create("s2", "poison"))
		synctest.Wait()
		other := do(t.Context(), c, create("s2", "other"))
		synctest.Wait()
		release()
		require.NoError(t, (<-first).err)
		require.NoError(t, (<-good).err)
		got := <-bad
		require.ErrorIs(t, got.err, runs.ErrUnavailable)
		require.ErrorIs(t, got.err, door.ErrRefused)
		require.NoError(t, (<-other).err)
		require.Equal(t, []int{1, 3, 1, 1, 1, 1, 1}, m.sizes())
	})
}

func TestWhoLosesTheRaceForARowFindsIt(t *testing.T) {
	t.Parallel()
	m := newMemory()
	replicas := []*door.Door{loading(m, door.Options{}), loading(m, door.Options{})}
	var made atomic.Int32
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			// Without a session in the call each creates its own, and the idempotency key
			// conflicts.
			command := &runs.CreateRun{Input: api.JSON(`1`), Key: "key", Caller: "caller"}
			reply, err := replicas[i%2].Do(context.Background(), command)
			if err != nil {
				t.Error(err)
			} else if !reply.Replayed {
				made.Add(1)
			}
		})
	}
	group.Wait()
	for _, c := range replicas {
		c.Close()
	}
	require.EqualValues(t, 1, made.Load())
	require.Len(t, m.sessionOf, 1)
}

func TestAnUnknownOutcomeIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection lost")
	for name, set := range map[string]func(m *memory){
		"begin":  func(m *memory) { m.onBegin = func([]door.Load) error { return lost } },
		"commit": func(m *memory) { m.onCommit = func(runs.Writes) error { return lost } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			set(m)
			c := loading(m, door.Options{})
			defer c.Close()
			_, err := c.Do(t.Context(), create("s", "r"))
			require.ErrorIs(t, err, runs.ErrUnavailable)
			require.ErrorIs(t, err, lost)
			require.Equal(t, []int{1}, m.sizes())
		})
	}
}

func TestTheReplyAndTheNoticeComeAfterTheCommit(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		gate := make(chan struct{})
		m.onCommit = func(runs.Writes) error { <-gate; return nil }
		notices := make(chan reads.Notice, 10)
		c := loading(m, door.Options{Announce: func(n reads.Notice) { notices <- n }})
		defer c.Close()
		call := do(t.Context(), c, create("s", "r"))
		synctest.Wait()
		require.Empty(t, call)
		require.Empty(t, notices)
		close(gate)
		require.NoError(t, (<-call).err)
		next := func() (notice reads.Notice, types []api.EventType) {
			notice = <-notices
			for _, event := range notice.Events {
				types = append(types, event.Type)
			}
			require.NotEmpty(t, notice.Life)
			notice.Events, notice.Life = nil, ""
			return notice, types
		}
		notice, types := next()
		require.Equal(t, reads.Notice{
			SessionID: "s", FirstEventID: 1, LastEventID: 2,
			Claimable: []reads.Claimable{{RunID: "r", SessionID: "s", AgentID: "default", ClaimableAtMs: 1_000}},
		}, notice)
		require.Equal(t, []api.EventType{api.EventAccepted, api.EventQueued}, types)

		// The second run queues behind the first, so nothing becomes claimable.
		require.NoError(t, (<-do(t.Context(), c, create("s", "behind"))).err)
		notice, _ = next()
		require.Equal(t, reads.Notice{SessionID: "s", FirstEventID: 3, LastEventID: 4}, notice)

		require.NoError(t, (<-do(t.Context(), c, &runs.CreateRun{SessionID: "other", Input: api.JSON(`1`), Suspend: &api.Suspension{
			Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`1`)}},
		}})).err)
		notice, types = next()
		require.True(t, notice.Prompts, "%v", types)
		require.Equal(t, api.EventWaitingForApproval, types[len(types)-1])
	})
}

func TestWhatWritesNothingCommitsNothing(t *testing.T) {
	t.Parallel()
	m := newMemory()
	c := loading(m, door.Options{Announce: func(reads.Notice) { t.Error("announced") }})
	_, err := c.Do(t.Context(), &runs.EndSession{SessionID: "none"})
	require.ErrorIs(t, err, refusal.UnknownSession("none"))
	c.Close()
	require.Zero(t, m.commits)
	require.Equal(t, 1, m.rollbacks)
}

// Not parallel: [cpulimit.Began] counts the work of the whole process.
func TestAStopWaitsForNobodysWork(t *testing.T) {
	c := loading(newMemory(), door.Options{})
	defer c.Close()
	begun := cpulimit.Began()
	for _, stop := range []runs.Command{&runs.EndSession{SessionID: "none"}, &runs.InterruptSession{SessionID: "none"}} {
		_, err := c.Do(t.Context(), stop)
		require.ErrorIs(t, err, refusal.UnknownSession("none"))
	}
	require.Equal(t, begun, cpulimit.Began())
}

func TestAPanicFailsItsCommandAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		var log bytes.Buffer
		c := loading(m, door.Options{Lanes: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, (<-do(t.Context(), c, create("damaged", "r"))).err)
		// A settled request with an unreadable resolution.
		m.states["damaged"].Requests[runs.RequestKey{RunID: "r", RequestID: "q"}] = &model.Request{
			SessionID: "damaged", RunID: "r", RequestID: "q", Kind: model.KindApproval, Outcome: api.OutcomeAllowed,
			SettledNumber: 1, Body: api.JSON(`{}`), Resolution: api.JSON(`{`),
		}
		release := held(m)
		first := do(t.Context(), c, create("s1", "r1"))
		synctest.Wait()
		bad := do(t.Context(), c, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
		synctest.Wait()
		good := do(t.Context(), c, create("s2", "r2"))
		synctest.Wait()
		release()
		require.NoError(t, (<-first).err)
		got := <-bad
		require.ErrorIs(t, got.err, door.ErrPanicked)
		require.NotErrorIs(t, got.err, runs.ErrUnavailable)
		require.NoError(t, (<-good).err)
		require.Equal(t, []int{1, 1, 2}, m.sizes())
		c.Close()
		require.Contains(t, log.String(), "decide")
		require.Zero(t, m.states["damaged"].Runs["r"].Fence)
	})
}

func TestAPanicOfTheEngineIsNotTheEnd(t *testing.T) {
	t.Parallel()
	m := newMemory()
	c := loading(m, door.Options{})
	defer c.Close()
	m.onCommit = func(runs.Writes) error { panic("broken engine") }
	_, err := c.Do(t.Context(), create("s", "r"))
	require.ErrorIs(t, err, runs.ErrUnavailable)
	m.onCommit = nil
	_, err = c.Do(t.Context(), create("s", "r"))
	require.NoError(t, err)
}

func TestWhoGivesUpInTheQueueTakesTheCommandBack(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		release := held(m)
		c := loading(m, door.Options{Lanes: 1})
		defer c.Close()
		first := do(t.Context(), c, create("s1", "r1"))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		second := do(ctx, c, create("s2", "r2"))
		synctest.Wait()
		cancel()
		require.ErrorIs(t, (<-second).err, context.Canceled)
		release()
		require.NoError(t, (<-first).err)
		require.NoError(t, (<-do(t.Context(), c, create("s3", "r3"))).err)
		require.NotContains(t, m.sessionOf, "r2")
		_, err := c.Do(ctx, create("s4", "r4"))
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestACallerWhoGivesUpDoesNotStopTheTransaction(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		gate := make(chan struct{})
		m.onCommit = func(runs.Writes) error { <-gate; return nil }
		c := loading(m, door.Options{Lanes: 1})
		ctx, cancel := context.WithCancel(t.Context())
		call := do(ctx, c, create("s", "r"))
		synctest.Wait()
		cancel()
		require.ErrorIs(t, (<-call).err, context.Canceled)
		close(gate)
		c.Close()
		require.Contains(t, m.sessionOf, "r")
	})
}

func TestCloseFinishesWhatItTook(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		release := held(m)
		c := loading(m, door.Options{Lanes: 1, MaxBatch: 2})
		var calls []<-chan result
		for i := range 6 { // one in flight, two in the lane, three waiting for room
			calls = append(calls, do(t.Context(), c, create("s", fmt.Sprintf("r%d", i))))
			synctest.Wait()
		}
		closed := make(chan struct{})
		go func() {
			c.Close()
			close(closed)
		}()
		synctest.Wait()
		_, err := c.Do(t.Context(), create("s", "late"))
		require.ErrorIs(t, err, runs.ErrClosed)
		for _, call := range calls[3:] {
			require.ErrorIs(t, (<-call).err, runs.ErrClosed)
		}
		release()
		<-closed
		for _, call := range calls[:3] {
			require.NoError(t, (<-call).err)
		}
		c.Close()
		require.Len(t, m.sessionOf, 3)
	})
}

func TestTheSessionOfARunIsRemembered(t *testing.T) {
	t.Parallel()
	m := newMemory()
	c := loading(m, door.Options{RememberedRuns: 2})
	defer c.Close()
	_, err := c.Do(t.Context(), create("s", "r"))
	require.NoError(t, err)
	for range 3 {
		_, err = c.Do(t.Context(), &runs.ClaimRun{RunID: "r", WorkerID: "w"})
		require.True(t, err == nil || refusal.CodeOf(err) == api.CodeRunNotClaimable)
	}
	require.Zero(t, m.lookUps)
	for _, unknown := range []string{"unknown", "", "\x00", ".."} {
		_, err = c.Do(t.Context(), &runs.CancelRun{RunID: unknown})
		require.ErrorIs(t, err, refusal.UnknownRun(unknown))
	}
	require.Equal(t, 1, m.lookUps, "only what can be an id is looked up")
	require.NotContains(t, m.sizes(), 0)
}

func TestABatchOfOneGivesEachCommandATransaction(t *testing.T) {
	t.Parallel()
	m := newMemory()
	c := loading(m, door.Options{MaxBatch: 1, Lanes: 8})
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			_, err := c.Do(context.Background(), create(fmt.Sprintf("s%d", i%10), fmt.Sprintf("r%d", i)))
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	c.Close()
	_, err := c.Do(context.Background(), create("s", "r"))
	require.ErrorIs(t, err, runs.ErrClosed)
	require.Len(t, m.sessionOf, 100)
	for _, size := range m.sizes() {
		require.Equal(t, 1, size)
	}
}
