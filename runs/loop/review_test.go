package loop

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// hook is a review controlled by a test.
type hook struct {
	mu       sync.Mutex
	payloads []string
	err      error
	hangs    bool // until its context ends
	took     time.Duration
}

func (h *hook) review(ctx context.Context, payload api.JSON) error {
	began := time.Now()
	h.mu.Lock()
	h.payloads = append(h.payloads, string(payload))
	err, hangs := h.err, h.hangs
	h.mu.Unlock()
	if hangs {
		<-ctx.Done()
		err = ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = time.Since(began)
	return err
}

func (h *hook) set(err error, hangs bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err, h.hangs = err, hangs
}

func (h *hook) calls() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.payloads)
}

// review adds the review of an approval that a run waits for, and returns its handle.
func (m *memory) review(t *testing.T) string {
	t.Helper()
	m.must(t, &runs.CreateRun{
		SessionID: "reviewed", RunID: "waits", Input: api.JSON(`1`), SessionGiven: true, Claim: &api.ClaimOptions{WorkerID: "worker"},
		ReviewRequestIDs: []string{"edit"},
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{
			{ID: "edit", ToolCallID: "call", ToolName: "file_change", Input: api.JSON(`{"path":"main.go"}`)},
		}},
	})
	m.mu.Lock()
	handle := m.sessions["reviewed"].Requests[runs.RequestKey{RunID: "waits", RequestID: "edit"}].Handle
	m.mu.Unlock()
	return handle
}

func quiet(review func(context.Context, api.JSON) error) EffectsOptions {
	return EffectsOptions{Logger: slog.New(slog.DiscardHandler), Review: review}
}

func TestReviewIsShownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, h := newMemory(), &hook{}
		stop := goOn(t, NewEffects(m, quiet(h.review)).Run)
		defer stop()
		synctest.Wait()
		began := time.Now()
		m.review(t)
		synctest.Wait()
		require.Zero(t, time.Since(began), "a commit wakes the loop")
		require.Equal(t, api.EffectDone, m.effect(t, api.EffectReviewApproval).State)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, h.calls())
		require.Contains(t, h.payloads[0], `"session_id":"reviewed"`)
		require.Contains(t, h.payloads[0], `"path":"main.go"`)
	})
}

func TestFailingReviewBacksOffAndTellsWhy(t *testing.T) {
	for name, failure := range map[string]error{
		"any error": errors.New("503 from the reviewer"),
		// The error is the hook's, not a rejection by this domain.
		"an error with a code": refusal.New(api.CodeIDConflict, "503 from the reviewer"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, h := newMemory(), &hook{err: failure}
				stop := goOn(t, NewEffects(m, quiet(h.review)).Run)
				defer stop()
				m.review(t)
				time.Sleep(20 * time.Second)
				synctest.Wait()
				effect := m.effect(t, api.EffectReviewApproval)
				require.Equal(t, api.EffectPending, effect.State)
				require.Contains(t, effect.LastError, "503 from the reviewer")
				require.LessOrEqual(t, effect.Attempts, int64(6), "the pause doubles from a second on")
				require.GreaterOrEqual(t, effect.Attempts, int64(4))

				h.set(nil, false)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Equal(t, api.EffectDone, m.effect(t, api.EffectReviewApproval).State)
			})
		})
	}
}

// A reviewer that never answers loses its attempt before the lease lapses, and delays nothing
// else.
func TestHangingReviewHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, h := newMemory(), &hook{hangs: true}
		stop := goOn(t, NewEffects(m, quiet(h.review)).Run)
		defer stop()
		m.review(t)
		synctest.Wait()
		require.Equal(t, 1, h.calls())
		began := time.Now()
		on := m.ask(t)
		synctest.Wait()
		m.answer(t, on)
		synctest.Wait()
		require.Zero(t, time.Since(began))
		require.Equal(t, api.StatusRunning, m.run("child", "asking").Status, "the answer waits for the reviewer")

		time.Sleep(model.EffectLeaseMs*time.Millisecond - 1)
		synctest.Wait()
		require.Less(t, h.took, model.EffectLeaseMs*time.Millisecond)
		require.EqualValues(t, 1, m.effect(t, api.EffectReviewApproval).Attempts)
		require.Contains(t, m.effect(t, api.EffectReviewApproval).LastError, "deadline exceeded")
	})
}

func TestReviewWithoutAHookIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, h := newMemory(), &hook{}
		m.review(t)
		result := pass(t, NewEffects(m, quiet(nil)).RunOnce)
		require.Equal(t, EffectsResult{Failed: 1}, result)
		effect := m.effect(t, api.EffectReviewApproval)
		require.Equal(t, api.EffectFailed, effect.State)
		require.Equal(t, "no review hook is configured to show the approval to", effect.LastError)

		// An operator retries it once there is a hook.
		m.must(t, &runs.RetryEffect{SessionID: effect.SessionID, EffectID: effect.EffectID})
		result = pass(t, NewEffects(m, quiet(h.review)).RunOnce)
		require.Equal(t, EffectsResult{Done: 1}, result)
		require.Equal(t, 1, h.calls())
	})
}

func TestEffectOfAnUnknownKindIsLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.review(t)
		effect := m.effect(t, api.EffectReviewApproval)
		m.mu.Lock()
		stored := m.sessions["reviewed"].Effects[effect.EffectID]
		stored.Kind = "sing"
		m.mu.Unlock()
		result := pass(t, NewEffects(m, quiet(nil)).RunOnce)
		require.Equal(t, EffectsResult{Failed: 1}, result)
		effect = m.effect(t, "sing")
		require.Equal(t, api.EffectPending, effect.State)
		require.Equal(t, `this version does not know effects of kind "sing"`, effect.LastError)
	})
}

// A share's effects may come after more effects of the other share than one query returns.
func TestSharesDoNotHideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, h := newMemory(), &hook{}
		m.review(t)
		for range 3 {
			m.must(t, &runs.AskClarification{
				RunID: m.asking(t), Fence: 1,
				Request: api.UserQuestionRequest{Questions: []api.UserQuestion{{Question: "Which way?"}}, ToolCallID: m.newID("call")},
			})
		}
		options := quiet(h.review)
		options.batch = 1
		result := pass(t, NewEffects(m, options).RunOnce)
		require.Equal(t, EffectsResult{Done: 4}, result)
	})
}

// asking creates a running child if necessary, and returns its run.
func (m *memory) asking(t *testing.T) string {
	t.Helper()
	if m.sessions["child"] == nil {
		m.must(t, &runs.CreateSession{SessionID: "parent"})
		m.must(t, &runs.CreateSession{SessionID: "child", ParentSessionID: "parent"})
		m.must(t, &runs.CreateRun{
			SessionID: "child", RunID: "asking", Input: api.JSON(`1`), SessionGiven: true, Claim: &api.ClaimOptions{WorkerID: "worker"},
		})
	}
	return "asking"
}
