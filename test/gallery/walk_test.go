package gallery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/rig"
)

// The bug: the wait's token was complete, but the run stayed blocked. Here many clients make random
// calls to the same few sessions. Afterwards the checker finds no run that waits for nothing, and
// no other inconsistency.
func TestGallery13NoRunWaitsForNothing(t *testing.T) {
	t.Parallel()
	for _, shape := range services {
		t.Run(shape.Name, func(t *testing.T) {
			t.Parallel()
			database := shape.Database(t)
			s := startService(t, database, shape.replicas, store.Options{})
			var acting errgroup.Group
			for i := range 12 {
				acting.Go(func() error {
					random := rand.New(rand.NewPCG(13, uint64(i)))
					for range 60 {
						err := act(rig.Soon(t), s.at(i+random.IntN(2)), random)
						var refused *client.Error
						if err != nil && (!errors.As(err, &refused) || refused.Status >= 500) {
							return err
						}
					}
					return nil
				})
			}
			require.NoError(t, acting.Wait())
			for run, err := range s.at(1).AllRuns(rig.Soon(t), client.RunListParams{}) {
				require.NoError(t, err)
				open := len(run.PendingApprovals) + len(run.PendingQuestions)
				require.Equal(t, model.Waiting(run.Status), open > 0, "run %s is %s with %d open", run.RunID, run.Status, open)
			}
			rig.RequireHealthy(t, database)
		})
	}
}

// act makes one random call for one of a few runs. It may be refused.
func act(ctx context.Context, c *client.Client, random *rand.Rand) error {
	n := random.IntN(40)
	runID, sessionID := fmt.Sprintf("run-%d", n), fmt.Sprintf("session-%d", n%8)
	requestID := fmt.Sprintf("ask-%d", random.IntN(3))
	behavior := behaviorOf(random.IntN(2))
	switch choice := random.IntN(20); {
	case choice < 6:
		params := client.CreateRunParams{RunID: runID, SessionID: sessionID, Input: "work"}
		if choice < 4 {
			params.Suspend = suspensionOf(random)
		}
		return failure(c.CreateRun(ctx, params))
	case choice < 9:
		return failure(c.ResolveRunApprovals(ctx, runID, decide(requestID, behavior)))
	case choice < 10:
		return failure(c.ResolveSessionApprovals(ctx, sessionID, decide(requestID, behavior)))
	case choice < 13:
		return failure(c.AnswerRunQuestion(ctx, runID, rig.Choose(requestID, "left")))
	case choice < 14:
		return failure(c.CancelQuestion(ctx, runID, requestID, client.CancelQuestionParams{}))
	case choice < 15:
		return failure(c.CancelRun(ctx, runID, ""))
	case choice < 16 && n == 0:
		return failure(c.EndSession(ctx, sessionID, ""))
	case choice < 16:
		return failure(c.InterruptSession(ctx, sessionID, ""))
	}
	taken, err := c.ClaimRuns(ctx, client.ClaimRunsParams{WorkerID: "worker", LeaseMs: 1_000})
	if err != nil || len(taken) == 0 {
		return err
	}
	runID, fence := taken[0].Run.RunID, taken[0].Lease.Fence
	switch random.IntN(6) {
	case 0:
		return failure(c.CompleteRun(ctx, runID, fence, nil))
	case 1:
		return failure(c.FailRun(ctx, runID, fence, "no luck"))
	case 2:
		return failure(c.ReleaseRun(ctx, runID, fence, api.JSON(`1`)))
	case 3:
		return nil // it dies with the lease
	}
	suspension := suspensionOf(random)
	suspension.Hold = random.IntN(2) == 0
	return failure(c.Suspend(ctx, runID, fence, *suspension))
}

// suspensionOf returns one to three random requests, some with a deadline of a few milliseconds.
func suspensionOf(random *rand.Rand) *api.Suspension {
	suspension := &api.Suspension{}
	for i := range 1 + random.IntN(3) {
		id := fmt.Sprintf("ask-%d", i)
		var afterMs *int64
		if random.IntN(4) == 0 {
			short := 1 + random.Int64N(50)
			afterMs = &short
		}
		if random.IntN(2) == 0 {
			ask := rig.Approval(id)
			ask.ExpiresAfterMs = afterMs
			suspension.Approvals = append(suspension.Approvals, ask)
		} else {
			ask := rig.Question(id)
			ask.ExpiresAfterMs = afterMs
			suspension.Questions = append(suspension.Questions, ask)
		}
	}
	return suspension
}
