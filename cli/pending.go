package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
)

// collect takes items until there are limit, all when it is 0.
func collect[T any](all iter.Seq2[T, error], limit int) ([]T, error) {
	items := []T{}
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if limit > 0 && len(items) == limit {
			break
		}
	}
	return items, nil
}

// pendingRef says where an open request is, when its id alone does not.
type pendingRef struct {
	SessionID string `name:"session-id" placeholder:"ID" help:"The session that the request is in."`
	RunID     string `name:"run-id" placeholder:"ID" help:"The run that the request is in."`
}

// errNotOpen: no open request has the id.
var errNotOpen = errors.New("is not open")

// one picks the item that a request id or handle means.
func (p pendingRef) one(noun, requestID string, candidates, elsewhere int) error {
	switch {
	case candidates == 1:
		return nil
	case candidates > 1:
		return usage("%d open %ss have the id %s; say which with --session-id or --run-id", candidates, noun, requestID)
	case elsewhere > 0:
		return fmt.Errorf("%s %s %w in that session and run", noun, requestID, errNotOpen)
	default:
		return fmt.Errorf("%s %s %w", noun, requestID, errNotOpen)
	}
}

func (p pendingRef) fits(sessionID, runID string) bool {
	return (p.SessionID == "" || p.SessionID == sessionID) && (p.RunID == "" || p.RunID == runID)
}

// agree refuses a run and a session that do not belong together.
func (p pendingRef) agree(ctx context.Context, c *client.Client) error {
	if p.SessionID == "" || p.RunID == "" {
		return nil
	}
	run, err := c.GetRun(ctx, p.RunID)
	if err != nil {
		return err
	}
	if run.SessionID != p.SessionID {
		return usage("run %s belongs to session %s, not %s", p.RunID, run.SessionID, p.SessionID)
	}
	return nil
}

// approval finds an open approval.
func (p pendingRef) approval(ctx context.Context, c *client.Client, requestID string) (*api.PendingApprovalView, error) {
	open := c.AllApprovals(ctx, client.PendingListParams{SessionID: p.SessionID})
	return findPending(ctx, p, c, "approval", requestID, open, func(item *api.PendingApprovalView) place {
		return place{item.SessionID, item.RunID, item.Request.ID, item.Request.Handle}
	})
}

// question finds an open question.
func (p pendingRef) question(ctx context.Context, c *client.Client, requestID string) (*api.PendingQuestionView, error) {
	open := c.AllQuestions(ctx, client.PendingListParams{SessionID: p.SessionID})
	return findPending(ctx, p, c, "question", requestID, open, func(item *api.PendingQuestionView) place {
		return place{item.SessionID, item.RunID, item.Request.ID, item.Request.Handle}
	})
}

// place is what tells one open request from the others.
type place struct{ sessionID, runID, requestID, handle string }

// findPending finds the one open request that an id or a handle names, among those
// of the session and the run that were given.
func findPending[View any](
	ctx context.Context, p pendingRef, c *client.Client, noun, requestID string,
	open iter.Seq2[View, error], placeOf func(*View) place,
) (*View, error) {
	if err := p.agree(ctx, c); err != nil {
		return nil, err
	}
	var found *View
	candidates, elsewhere := 0, 0
	for item, err := range open {
		if err != nil {
			return nil, err
		}
		at := placeOf(&item)
		switch {
		case at.requestID != requestID && at.handle != requestID:
		case p.fits(at.sessionID, at.runID):
			found = &item
			candidates++
		default:
			elsewhere++
		}
	}
	return found, p.one(noun, requestID, candidates, elsewhere)
}

// following holds the flags that wait for a run after a decision.
type following struct {
	Wait           bool  `help:"Wait until the run waits again or is over; exit with 1 when it did not complete."`
	PollIntervalMs int64 `name:"poll-interval-ms" default:"500" placeholder:"MS" help:"How often --wait looks (default ${default})."`
}

// maxOutage is how long --wait bears with a service that does not answer.
const maxOutage = 15 * time.Second

// follow returns the run once it waits again or is over, when that was asked for.
func (f following) follow(ctx context.Context, c *client.Client, run *api.RunView) (*api.RunView, error) {
	if !f.Wait {
		return run, nil
	}
	interval := time.Duration(max(f.PollIntervalMs, 10)) * time.Millisecond
	var failingSince time.Time
	for !model.Terminal(run.Status) && !model.Waiting(run.Status) {
		if err := sleep(ctx, interval); err != nil {
			return nil, err
		}
		next, err := c.GetRun(ctx, run.RunID)
		switch {
		case err == nil:
			run, failingSince = next, time.Time{}
		case !transient(err), !failingSince.IsZero() && time.Since(failingSince) > maxOutage:
			return nil, err
		case failingSince.IsZero():
			failingSince = time.Now()
		}
	}
	return run, nil
}

// ended is the exit code of a command that waited for a run.
func (f following) ended(run *api.RunView) error {
	if f.Wait && model.Terminal(run.Status) && run.Status != api.StatusCompleted {
		return exitWith(exitError)
	}
	return nil
}
