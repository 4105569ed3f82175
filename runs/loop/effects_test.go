package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

var _ EffectsStore = runs.Store(nil)

// memory is an in-memory store: each session is one runs.State with all of its rows.
type memory struct {
	mu       sync.Mutex
	sessions map[string]*runs.State
	sequence int
	// failing has the error that commands of a type fail with, before any decision.
	failing map[string]error
	done    []string // types of the decided commands
	asked   int      // queries for due effects
	notify  map[int]func(reads.Notice)
}

func newMemory() *memory {
	return &memory{sessions: map[string]*runs.State{}, failing: map[string]error{}, notify: map[int]func(reads.Notice){}}
}

func (m *memory) newID(prefix string) string {
	m.sequence++
	return fmt.Sprintf("%s-%d", prefix, m.sequence)
}

func (m *memory) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if ctx.Err() != nil {
		return runs.Reply{}, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kind := strings.TrimPrefix(fmt.Sprintf("%T", command), "*runs.")
	if err := m.failing[kind]; err != nil {
		return runs.Reply{}, err
	}
	if err := runs.Prepare(command, m.newID); err != nil {
		return runs.Reply{}, err
	}
	needs := command.Needs()
	state := m.sessions[needs.SessionID]
	for _, one := range m.sessions {
		if needs.SessionID == "" && one.Runs[needs.RunID] != nil {
			state = one
		}
	}
	if state == nil {
		state = runs.NewState(needs.SessionID)
		m.sessions[needs.SessionID] = state
	}
	change, reply, err := runs.Decide(state, command, nowMs())
	state.Apply(change)
	m.done = append(m.done, kind)
	var owed []reads.DueEffect
	for _, effect := range slices.Concat(change.NewEffects, change.UpdatedEffects) {
		if effect.DueAtMs != 0 && effect.DueAtMs <= nowMs() {
			owed = append(owed, reads.DueEffect{SessionID: effect.SessionID, EffectID: effect.EffectID})
		}
	}
	for _, notify := range m.notify {
		notify(reads.Notice{SessionID: state.SessionID, Owed: owed})
	}
	return reply, err
}

func (m *memory) DueEffects(_ context.Context, limit int) ([]reads.DueEffect, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	var due []reads.DueEffect
	for _, state := range m.sessions {
		for _, effect := range state.Effects {
			if effect.DueAtMs != 0 && effect.DueAtMs <= nowMs() && len(due) < limit {
				due = append(due, reads.DueEffect{SessionID: effect.SessionID, EffectID: effect.EffectID})
			}
		}
	}
	return due, m.failing["due"]
}

func (m *memory) Subscribe(notify func(reads.Notice)) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sequence++
	id := m.sequence
	m.notify[id] = notify
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.notify, id)
	}
}

func (m *memory) fail(kind string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing[kind] = err
}

// effect returns the only effect of a kind.
func (m *memory) effect(t *testing.T, kind api.EffectKind) model.Effect {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []*model.Effect
	for _, state := range m.sessions {
		for _, effect := range state.Effects {
			if effect.Kind == kind {
				found = append(found, effect)
			}
		}
	}
	require.Len(t, found, 1)
	return *found[0]
}

func (m *memory) run(sessionID, runID string) *model.Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[sessionID].Runs[runID]
}

// ask creates a child that is parked on a question to its parent, and returns the resulting run.
func (m *memory) ask(t *testing.T) *api.WaitingOn {
	t.Helper()
	return m.askAs(t, "parent", "child", "asking")
}

func (m *memory) askAs(t *testing.T, parent, child, run string) *api.WaitingOn {
	t.Helper()
	m.must(t, &runs.CreateSession{SessionID: parent})
	m.must(t, &runs.CreateSession{SessionID: child, ParentSessionID: parent})
	created := m.must(t, &runs.CreateRun{
		SessionID: child, RunID: run, Input: api.JSON(`"work"`), SessionGiven: true,
		Claim: &api.ClaimOptions{WorkerID: "worker"},
	})
	asked := m.must(t, &runs.AskClarification{
		RunID: run, Fence: created.Run.Run.Fence, Park: true,
		Request: api.UserQuestionRequest{ID: "way", Questions: []api.UserQuestion{{Question: "Which way?"}}},
	})
	return asked.Clarification
}

func (m *memory) must(t *testing.T, command runs.Command) runs.Reply {
	t.Helper()
	reply, err := m.Do(t.Context(), command)
	require.NoError(t, err)
	return reply
}

func (m *memory) answer(t *testing.T, on *api.WaitingOn) {
	t.Helper()
	m.must(t, &runs.AnswerQuestion{RunID: on.RunID, Resolution: runs.QuestionAnswer{
		RequestID: on.RequestID, Answers: []api.UserQuestionAnswer{{QuestionID: "question-1", FreeformAnswer: "left"}},
	}})
}

func TestEffectsCarryAQuestionThereAndItsAnswerBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		stop := goOn(t, NewEffects(m, EffectsOptions{Logger: slog.New(slog.DiscardHandler)}).Run)
		defer stop()
		on := m.ask(t)
		began := time.Now()
		synctest.Wait()
		require.Equal(t, api.StatusWaitingForUserQuestion, m.run("parent", on.RunID).Status)
		m.answer(t, on)
		synctest.Wait()
		require.Equal(t, api.StatusRunning, m.run("child", "asking").Status)
		require.Zero(t, time.Since(began), "a commit wakes the loop; nobody waits for its next pass")
		for _, kind := range []api.EffectKind{api.EffectOpenClarification, api.EffectDeliverAnswer} {
			effect := m.effect(t, kind)
			require.Equal(t, api.EffectDone, effect.State)
			require.EqualValues(t, 1, effect.Attempts)
		}
	})
}

func TestEffectOfAProcessThatDiedIsTriedWhenItsLeaseLapses(t *testing.T) {
	for _, died := range []string{"OpenClarification", "FinishEffect"} {
		t.Run("before "+died, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				on := m.ask(t)
				gone := errors.New("gone")
				m.fail(died, gone)
				m.fail("FinishEffect", gone)
				_, err := NewEffects(m, EffectsOptions{Logger: slog.New(slog.DiscardHandler)}).RunOnce(t.Context())
				require.ErrorIs(t, err, gone)
				m.fail(died, nil)
				m.fail("FinishEffect", nil)

				stop := goOn(t, NewEffects(m, EffectsOptions{}).Run)
				defer stop()
				time.Sleep((model.EffectLeaseMs - 2000) * time.Millisecond)
				synctest.Wait()
				require.Equal(t, api.EffectPending, m.effect(t, api.EffectOpenClarification).State, "its lease goes on")
				time.Sleep(4 * time.Second)
				synctest.Wait()
				effect := m.effect(t, api.EffectOpenClarification)
				require.Equal(t, api.EffectDone, effect.State)
				require.EqualValues(t, 2, effect.Attempts)
				require.NotNil(t, m.run("parent", on.RunID))
			})
		})
	}
}

func TestFailingEffectBacksOffAndTellsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.ask(t)
		m.fail("OpenClarification", fmt.Errorf("%w: disk on fire", runs.ErrUnavailable))
		stop := goOn(t, NewEffects(m, EffectsOptions{Logger: slog.New(slog.DiscardHandler)}).Run)
		defer stop()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		effect := m.effect(t, api.EffectOpenClarification)
		require.Equal(t, api.EffectPending, effect.State)
		require.Contains(t, effect.LastError, "disk on fire")
		require.LessOrEqual(t, effect.Attempts, int64(6), "the pause doubles from a second on")
		require.GreaterOrEqual(t, effect.Attempts, int64(4))

		m.fail("OpenClarification", nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		effect = m.effect(t, api.EffectOpenClarification)
		require.Equal(t, api.EffectDone, effect.State)
		require.Empty(t, effect.LastError)
	})
}

func TestGivenUpEffectIsTriedAgainWhenAnOperatorAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		on := m.ask(t)
		m.fail("OpenClarification", refusal.New(api.CodeIDConflict, "taken"))
		stop := goOn(t, NewEffects(m, EffectsOptions{Logger: slog.New(slog.DiscardHandler)}).Run)
		defer stop()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		effect := m.effect(t, api.EffectOpenClarification)
		require.Equal(t, api.EffectFailed, effect.State, "the refusal is for good")
		require.EqualValues(t, 1, effect.Attempts)

		m.fail("OpenClarification", nil)
		m.must(t, &runs.RetryEffect{SessionID: effect.SessionID, EffectID: effect.EffectID})
		synctest.Wait()
		require.Equal(t, api.EffectDone, m.effect(t, api.EffectOpenClarification).State)
		require.NotNil(t, m.run("parent", on.RunID))
	})
}

func TestChildOfAnEndedParentIsHandedADeclinedAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		on := m.ask(t)
		m.must(t, &runs.EndSession{SessionID: "parent"})
		result := pass(t, NewEffects(m, EffectsOptions{}).RunOnce)
		require.Equal(t, EffectsResult{Done: 1}, result)
		require.Nil(t, m.run("parent", on.RunID))
		require.Equal(t, api.StatusRunning, m.run("child", "asking").Status)
		claim := m.must(t, &runs.ClaimRun{RunID: "asking", WorkerID: "worker"}).Claim
		require.True(t, claim.Resume.Clarification.Declined)
		require.Equal(t, "the parent session has ended", *claim.Resume.Clarification.Justification)
	})
}

func TestTwoReplicasCarryAnEffectOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.ask(t)
		var group sync.WaitGroup
		var mu sync.Mutex
		done := 0
		for range 8 {
			group.Go(func() {
				result, err := NewEffects(m, EffectsOptions{}).RunOnce(t.Context())
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				done += result.Done
			})
		}
		group.Wait()
		require.Equal(t, 1, done)
		opened := slices.DeleteFunc(slices.Clone(m.done), func(kind string) bool { return kind != "OpenClarification" })
		require.Len(t, opened, 1)
	})
}

func TestEffectsLoopAsksRarelyWhenNothingIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		stop := goOn(t, NewEffects(m, EffectsOptions{}).Run)
		defer stop()
		for range 1000 {
			m.must(t, &runs.CreateSession{SessionID: "busy"})
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		require.Equal(t, 11, m.asked, "commits without effects do not wake it")
	})
}

// parts counts the completed parts of a drain, and rejects those after the first few.
type parts struct {
	*memory
	done, allowed int
}

func (p *parts) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if _, drains := command.(*runs.DrainSession); drains {
		if p.done == p.allowed {
			return runs.Reply{}, runs.ErrUnavailable
		}
		p.done++
	}
	return p.memory.Do(ctx, command)
}

func TestLongQueueIsDrainedAlsoWhenItsDrainBreaksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.must(t, &runs.CreateSession{SessionID: "s"})
		for n := range 4*runs.DrainChunk + 1 {
			m.must(t, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: fmt.Sprintf("r-%d", n), Input: api.JSON(`1`)})
		}
		m.must(t, &runs.EndSession{SessionID: "s"})
		broken := &parts{memory: m, allowed: 2}
		result := pass(t, NewEffects(broken, EffectsOptions{Logger: slog.New(slog.DiscardHandler)}).RunOnce)
		require.Equal(t, EffectsResult{Failed: 1}, result)
		require.Equal(t, api.EffectPending, m.effect(t, api.EffectDrainSession).State)
		require.EqualValues(t, runs.DrainChunk+1, m.sessions["s"].Session.QueuedCount)

		time.Sleep(2 * time.Second)
		whole := &parts{memory: m, allowed: 10}
		result = pass(t, NewEffects(whole, EffectsOptions{}).RunOnce)
		require.Equal(t, EffectsResult{Done: 1}, result)
		require.Equal(t, 2, whole.done)
		require.Zero(t, m.sessions["s"].Session.QueuedCount)
		for _, run := range m.sessions["s"].Runs {
			require.Equal(t, api.StatusCancelled, run.Status)
		}
	})
}
