//go:build faults

package handover

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/rig"
)

// suspendedVariable says how many runs wait while the service is restarted.
const suspendedVariable = "HOLDPOINT_SUSPENDED"

// owedEffects is the number of pending effects of each kind after the kill.
const owedEffects = 40

// TestRestartReplaysWhatIsOwed kills the service with many suspended runs and with pending and
// completed effects, and restarts it. The pending effects run, the completed ones are not repeated,
// and the first decision succeeds at once.
func TestRestartReplaysWhatIsOwed(t *testing.T) {
	for _, engine := range rig.Engines {
		t.Run(engine.Name, func(t *testing.T) {
			url := engine.Database(t)
			suspended := rig.EnvInt(t, suspendedVariable, 5000)
			leave(t, url, suspended)
			process := rig.Spawn(t, rig.Options{Database: url})
			began := time.Now()
			require.NoError(t, process.AwaitReady())
			c := process.Connect()
			ready := time.Since(began)
			requireResumes(t, c, "suspended-0")
			resumed := time.Since(began)

			rig.Await(t, func() bool {
				pending, err := c.ListEffects(t.Context(), client.EffectListParams{State: api.EffectPending})
				return err == nil && len(pending.Items) == 0
			})
			t.Logf("%d runs suspended: takes calls after %v, the first run resumes after %v, %d pending effects are done after %v",
				suspended, ready, resumed, 2*owedEffects, time.Since(began))
			var opened, delivered int
			for effect, err := range c.AllEffects(t.Context(), client.EffectListParams{}) {
				require.NoError(t, err)
				require.Equal(t, api.EffectDone, effect.State, "%s: %s", effect.EffectID, effect.LastError)
				require.EqualValues(t, 1, effect.Attempts, "effect %s was tried again", effect.EffectID)
				if effect.Kind == "open_clarification" {
					opened++
				} else {
					delivered++
				}
			}
			require.Equal(t, 2*owedEffects, opened)
			require.Equal(t, owedEffects, delivered)
			process.Kill()
			rig.RequireHealthy(t, url)
		})
	}
}

// leave creates the rows of a killed service: waiting runs, children whose question has not reached
// the parent, and children whose answer has not been delivered.
func leave(t *testing.T, url string, suspended int) {
	t.Helper()
	opened, err := store.Open(t.Context(), url, store.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, opened.Close()) }()
	require.NoError(t, rig.Concurrently(t.Context(), suspended, func(ctx context.Context, i int) error {
		_, err := opened.Do(ctx, &runs.CreateRun{
			SessionID: fmt.Sprintf("session-of-suspended-%d", i), RunID: fmt.Sprintf("suspended-%d", i),
			Input: api.JSON(`"work"`), SessionGiven: true,
			Suspend: rig.Approvals("deploy"),
		})
		return err
	}))
	_, err = opened.Do(t.Context(), &runs.CreateSession{SessionID: "parent"})
	require.NoError(t, err)
	require.NoError(t, rig.Concurrently(t.Context(), 2*owedEffects, func(ctx context.Context, i int) error {
		return leaveChild(ctx, opened, fmt.Sprintf("child-%d", i), i < owedEffects)
	}))
}

// leaveChild creates a child that is parked on its question. If answered, its first effect is
// complete.
func leaveChild(ctx context.Context, opened runs.Store, child string, answered bool) error {
	if _, err := opened.Do(ctx, &runs.CreateSession{SessionID: child, ParentSessionID: "parent"}); err != nil {
		return err
	}
	created, err := opened.Do(ctx, &runs.CreateRun{
		SessionID: child, RunID: child, Input: api.JSON(`"work"`), SessionGiven: true,
		Claim: &api.ClaimOptions{WorkerID: "worker"},
	})
	if err != nil {
		return err
	}
	asked, err := opened.Do(ctx, &runs.AskClarification{
		RunID: child, Fence: created.Run.Run.Fence, Park: true,
		Request: api.UserQuestionRequest{ID: "way-" + child, Questions: []api.UserQuestion{{Question: "Which way?"}}},
	})
	if err != nil || !answered {
		return err
	}
	effectID := "open_clarification:" + asked.Clarification.RunID
	claimed, err := opened.Do(ctx, &runs.ClaimEffect{SessionID: child, EffectID: effectID})
	if err != nil {
		return err
	}
	open, err := runs.CommandOf(asked.Effect)
	if err != nil {
		return err
	}
	for _, command := range []runs.Command{
		open,
		&runs.FinishEffect{SessionID: child, EffectID: effectID, Attempt: claimed.Effect.Attempts},
		&runs.AnswerQuestion{RunID: asked.Clarification.RunID, Resolution: runs.QuestionAnswer{RequestID: "way-" + child, Declined: true}},
	} {
		if _, err := opened.Do(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// requireResumes decides about a suspended run and claims it.
func requireResumes(t *testing.T, c *client.Client, runID string) {
	t.Helper()
	_, err := c.ResolveRunApprovals(t.Context(), runID, rig.Decide(rig.Allow("deploy")))
	require.NoError(t, err)
	claim, err := c.ClaimRun(t.Context(), runID, api.ClaimOptions{WorkerID: "worker"})
	require.NoError(t, err)
	require.Equal(t, api.OutcomeAllowed, claim.Resume.Approvals[0].Resolution.Outcome)
}
