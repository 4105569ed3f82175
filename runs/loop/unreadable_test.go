package loop

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// change changes the stored payload of the only effect of a kind.
func (m *memory) change(t *testing.T, kind api.EffectKind, payload string) {
	t.Helper()
	id := m.effect(t, kind).EffectID
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, state := range m.sessions {
		if effect := state.Effects[id]; effect != nil {
			changed := *effect
			changed.Payload = api.JSON(payload)
			state.Effects[id] = &changed
		}
	}
}

func TestEffectThatCannotBeReadFailsAndTheOthersGoOn(t *testing.T) {
	for _, payload := range []string{
		"", "{", "null", "{}", "7", `"text"`, `[]`, "\x00", "\xff", `{"run_id":7}`, `{"run_id":"a b"}`, `{"run_id":"r","request":null}`,
		`{"run_id":"r","request":{"id":"q","questions":7},"requester":{"requester_run_id":"x"}}`,
	} {
		t.Run(payload, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				m.ask(t)
				m.change(t, api.EffectOpenClarification, payload)
				broken := m.effect(t, api.EffectOpenClarification)
				on := m.askAs(t, "elder", "younger", "asking-too")
				for range 2 { // also at the next start
					stop := goOn(t, NewEffects(m, EffectsOptions{Logger: slog.New(slog.DiscardHandler)}).Run)
					time.Sleep(5 * time.Second)
					synctest.Wait()
					stop()
				}
				m.mu.Lock()
				got := *m.sessions["child"].Effects[broken.EffectID]
				m.mu.Unlock()
				require.Equal(t, api.EffectFailed, got.State)
				require.EqualValues(t, 1, got.Attempts)
				require.Contains(t, got.LastError, "the payload of the effect is not that of kind")
				require.NotNil(t, m.run("elder", on.RunID))
			})
		})
	}
}

func TestAnswerThatCannotBeReadFails(t *testing.T) {
	for _, payload := range []string{"{", "{}", `{"run_id":"asking","request_id":"way","message":{},"resolution":{"outcome":7}}`} {
		t.Run(payload, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				on := m.ask(t)
				pass(t, NewEffects(m, EffectsOptions{}).RunOnce)
				m.answer(t, on)
				m.change(t, api.EffectDeliverAnswer, payload)
				result := pass(t, NewEffects(m, EffectsOptions{}).RunOnce)
				require.Equal(t, EffectsResult{Failed: 1}, result)
				require.Equal(t, api.EffectFailed, m.effect(t, api.EffectDeliverAnswer).State)
			})
		})
	}
}

func TestReviewThatPanicsIsAFailure(t *testing.T) {
	calls := 0
	e := NewEffects(newMemory(), EffectsOptions{
		Logger: slog.New(slog.DiscardHandler),
		Review: func(context.Context, api.JSON) error { calls++; panic("lost") },
	})
	permanent, err := e.tryToPerform(t.Context(), &model.Effect{Kind: api.EffectReviewApproval, EffectID: "review_approval:h"}, 1)
	require.ErrorContains(t, err, "lost")
	require.False(t, permanent)
	require.Equal(t, 1, calls)
}

// panicking is a store that panics for one run, like a decision about an unreadable row.
type panicking struct {
	*dueStore
	runID string
}

func (p *panicking) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if command.(*runs.ExpireRequests).RunID == p.runID {
		panic("a stored document cannot be read")
	}
	return p.dueStore.Do(ctx, command)
}

func (p *panicking) NextDueAtMs(ctx context.Context) (int64, int64, error) {
	if p.runID == "" {
		panic("lost")
	}
	return p.dueStore.NextDueAtMs(ctx)
}

func TestPanicOfOneItemEndsNeitherPassNorLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &panicking{dueStore: newDueStore(), runID: "r00001"}
		store.addDue(5)
		out := &logs{}
		result, err := NewExpiry(store, ExpiryOptions{Logger: out.logger()}).RunOnce(t.Context())
		require.ErrorContains(t, err, "cannot be read")
		require.Equal(t, 4, result.Swept)
		require.Equal(t, 1, result.Failed)

		store = &panicking{dueStore: newDueStore()}
		stop := goOn(t, NewExpiry(store, ExpiryOptions{Logger: out.logger()}).Run)
		time.Sleep(10 * time.Second)
		stop()
		require.Positive(t, out.count("loop pass failed"))
	})
}
