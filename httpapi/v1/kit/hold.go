package kit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// settledDown reports whether a run waits for a person or is terminal, which ends the hold of a
// session-scoped call.
func settledDown(run *model.Run) bool { return model.Waiting(run.Status) || model.Terminal(run.Status) }

// HoldRun holds the reply until the run is in the wanted state, and returns the last state. The
// record is the known state.
func (c *Calls) HoldRun(ctx context.Context, record *model.RunRecord, wait time.Duration, done func(*model.Run) bool) (*model.RunRecord, error) {
	if wait <= 0 || done(&record.Run) {
		return record, nil
	}
	changes := c.Watches.Session(record.Run.SessionID)
	defer changes.Close()
	err := c.Hold(ctx, changes, wait, func(ctx context.Context) (bool, error) {
		current, err := c.Store.Reader(ctx).Run(ctx, record.Run.RunID)
		if err != nil {
			return false, err
		}
		record = current
		return done(&record.Run), nil
	})
	return record, err
}

// RespondHeldSession answers 200 with the session once the reply's run has settled down or the wait
// is over, or at once if the caller holds too many calls: the call has taken effect, so it is not refused.
func (c *Calls) RespondHeldSession(w http.ResponseWriter, r *http.Request, reply *runs.Reply, sessionID string, wait time.Duration) error {
	wire.MarkReplayed(w, reply.Replayed)
	if wait > 0 {
		record, err := c.RunOf(r.Context(), reply, "")
		if err != nil {
			return err
		}
		switch _, err := c.HoldRun(r.Context(), record, wait, settledDown); {
		case refusal.CodeOf(err) == wire.CodeTooManyCalls:
			wire.WaitNotApplied(w)
		case err != nil:
			return err
		}
	}
	return c.RespondSession(w, r, sessionID)
}

// PreferredWait returns the caller's preferred wait and confirms it, or 0.
func (c *Calls) PreferredWait(w http.ResponseWriter, r *http.Request) time.Duration {
	wait, given := wire.PreferWait(r.Header, c.MaxWait)
	if given {
		wire.WaitApplied(w, wait)
	}
	return wait
}

// Hold calls check until it is done, at most for wait, and returns early when the service drains. A
// timeout is not an error: the caller answers with the last result. The watch must have been
// created before the first read.
func (c *Calls) Hold(ctx context.Context, changes *watch.Watch, wait time.Duration, check func(context.Context) (bool, error)) error {
	if err := wire.Hold(ctx); err != nil {
		return err
	}
	held, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(c.Draining, cancel)()
	err := watch.Until(held, changes, c.PollInterval, check)
	if errors.Is(err, watch.ErrTimeout) || ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
