package runs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// houseStore adapts a house to runs.Ask. It calls before ahead of each command.
type houseStore struct {
	*house
	before func(runs.Command)
}

func (s houseStore) Do(_ context.Context, command runs.Command) (runs.Reply, error) {
	s.before(command)
	return s.do(command)
}

func (s houseStore) Run(_ context.Context, runID string) (*model.RunRecord, error) {
	if s.sessionOf(runID) == "" {
		return nil, refusal.UnknownRun(runID)
	}
	return s.record(runID), nil
}

func (s houseStore) Session(_ context.Context, sessionID string) (*model.SessionRecord, error) {
	if s.states[sessionID] == nil {
		return nil, refusal.UnknownSession(sessionID)
	}
	return &model.SessionRecord{Session: *s.states[sessionID].Session}, nil
}

// The reply to a child's question has the clarification's run, which already exists.
func TestAskMakesBothSides(t *testing.T) {
	h := parallelHouse(t).family()
	store := houseStore{h, func(runs.Command) {}}
	first, err := runs.Ask(t.Context(), store, park("q"))
	require.NoError(t, err)
	require.Equal(t, api.KindParentClarification, first.Clarification.Run.Kind)
	require.Equal(t, "p", first.Clarification.Run.SessionID)
	require.Equal(t, first.Clarification.Run.RunID, first.Run.View().WaitingOn.RunID)
	again, err := runs.Ask(t.Context(), store, park("q"))
	require.NoError(t, err)
	require.False(t, first.Existing)
	require.True(t, again.Existing)
	again.Existing = false
	require.Equal(t, first, again)
	require.Equal(t, 1, h.carryOut(), "the effect finds it made")
	require.Len(t, h.states["p"].Runs, 1)

	// Ask again after everything is finished, even if the parent's session has ended.
	h.must(answer(first.Clarification.Run.RunID, "q", "north"))
	h.must(&runs.EndSession{SessionID: "p"})
	again, err = runs.Ask(t.Context(), store, park("q"))
	require.NoError(t, err)
	require.Equal(t, api.StatusCompleted, again.Clarification.Run.Status)
}

func TestAskIsRefused(t *testing.T) {
	t.Parallel()
	refused := func(h *house, code api.Code, command *runs.AskClarification) {
		t.Helper()
		_, err := runs.Ask(t.Context(), houseStore{h, func(runs.Command) {}}, command)
		requireCode(t, code, err)
	}
	h := newHouse(t).family()
	unknown := ask("q")
	unknown.RunID = "x"
	refused(h, api.CodeRunNotFound, unknown)
	stale := ask("q")
	stale.Fence = 7
	refused(h, api.CodeLeaseLost, stale)
	h.must(&runs.EndSession{SessionID: "p"})
	refused(h, api.CodeSessionEnded, ask("q"))
	require.Empty(t, h.states["s"].Effects, "a parent that is known to be over is not asked")

	orphan := newHouse(t)
	orphan.must(&runs.CreateSession{SessionID: "s", ParentSessionID: "nobody"})
	orphan.start("r")
	refused(orphan, api.CodeNoParentSession, ask("q"))
	alone := newHouse(t)
	alone.start("r")
	refused(alone, api.CodeNoParentSession, ask("q"))
}

// If Ask fails in between, the question exists, and the effect completes the work.
func TestAskFailsOnTheWay(t *testing.T) {
	h := parallelHouse(t).family()
	store := houseStore{h, func(command runs.Command) {
		if _, opens := command.(*runs.OpenClarification); opens {
			h.must(&runs.EndSession{SessionID: "p"})
		}
	}}
	_, err := runs.Ask(t.Context(), store, park("q"))
	requireCode(t, api.CodeSessionEnded, err)
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run("r").Status)
	require.Equal(t, 1, h.carryOut())
	require.Equal(t, api.StatusRunning, h.run("r").Status)
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
	require.True(t, claim.Resume.Clarification.Declined)

	// A handler that starts from the top asks again. The answer is known, so the parent does not matter.
	again := park("q")
	again.Fence = h.run("r").Fence
	asked, err := runs.Ask(t.Context(), store, again)
	require.NoError(t, err)
	require.True(t, asked.Existing)
	require.Equal(t, api.StatusCompleted, asked.Clarification.Run.Status)
}
