package cli_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// TestWhatWasGivenUpIsRetried needs an effect that failed permanently, which no API call
// can cause. So it runs the command in this process, against a service that carries out no
// effects.
func TestWhatWasGivenUpIsRetried(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	service := httpapi.New(httpapi.Options{Store: store, Hub: watch.NewHub(), Claims: claims.New(store, claims.Options{})})
	server := httptest.NewServer(service.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, store.Close())
	})
	do := func(command runs.Command) runs.Reply {
		t.Helper()
		reply, err := store.Do(context.Background(), command)
		require.NoError(t, err)
		return reply
	}
	holdpoint := func(wantCode int, args ...string) string {
		t.Helper()
		got := run(t.Context(), nil, "", append(args, "--server", server.URL)...)
		require.Equal(t, wantCode, got.code, got.stderr)
		return got.stdout
	}

	do(&runs.CreateSession{SessionID: "parent", AgentID: "planner"})
	for _, child := range []string{"one", "two"} {
		do(&runs.CreateSession{SessionID: child, AgentID: "coder", ParentSessionID: "parent"})
		claim := do(&runs.CreateRun{SessionID: child, RunID: "run-" + child, Claim: &api.ClaimOptions{WorkerID: "w"}, Input: api.JSON(`1`)}).Claim
		require.NotNil(t, claim)
		do(&runs.AskClarification{RunID: "run-" + child, Fence: 1, Request: api.UserQuestionRequest{
			ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{Question: "Why?"}},
		}})
	}
	due, err := store.DueEffects(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, due, 2)
	for _, effect := range due {
		claimed := do(&runs.ClaimEffect{SessionID: effect.SessionID, EffectID: effect.EffectID}).Effect
		do(&runs.FinishEffect{
			SessionID: effect.SessionID, EffectID: effect.EffectID, Attempt: claimed.Attempts, Error: "out of luck", Permanent: true,
		})
	}
	require.Regexp(t, `(?m)^open_clarification:run_\S+ +one +coder +planner +failed +1 +\S+ ago +out of luck$`, holdpoint(0, "effects", "list", "--state", "failed"))
	require.Equal(t, 1, strings.Count(holdpoint(0, "effects", "retry", "--all-failed", "one"), "pending"))
	require.Contains(t, holdpoint(0, "effects", "list", "--session-id", "two"), " failed ")
	require.Equal(t, 1, strings.Count(holdpoint(0, "effects", "retry", "--all-failed", "--json"), `"state": "pending"`))
	require.Equal(t, "[]\n", holdpoint(0, "effects", "list", "--state", "failed", "--json"))
	due, err = store.DueEffects(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, due, 2, "they are due at once")
}
