package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// settledDown reports whether a run waits for a person or is terminal, which ends the hold of a
// session-scoped call.
func settledDown(run *model.Run) bool { return model.Waiting(run.Status) || model.Terminal(run.Status) }

// holdRun holds the reply until the run is in the wanted state, and returns the last state. The
// record is the known state.
func (s *Server) holdRun(ctx context.Context, record *model.RunRecord, wait time.Duration, done func(*model.Run) bool) (*model.RunRecord, error) {
	if wait <= 0 || done(&record.Run) {
		return record, nil
	}
	changes := s.hub.Session(record.Run.SessionID)
	defer changes.Close()
	err := s.hold(ctx, changes, wait, func(ctx context.Context) (bool, error) {
		current, err := s.store.Reader(ctx).Run(ctx, record.Run.RunID)
		if err != nil {
			return false, err
		}
		record = current
		return done(&record.Run), nil
	})
	return record, err
}

// respondHeldSession answers 200 with the session once the reply's run has settled down or the wait
// is over.
func (s *Server) respondHeldSession(w http.ResponseWriter, r *http.Request, reply *runs.Reply, sessionID string, wait time.Duration) error {
	markReplayed(w, reply.Replayed)
	if wait > 0 {
		record, err := s.runOf(r.Context(), reply, "")
		if err != nil {
			return err
		}
		if _, err := s.holdRun(r.Context(), record, wait, settledDown); err != nil {
			return err
		}
	}
	return s.respondSession(w, r, sessionID)
}

// preferredWait returns the caller's preferred wait and confirms it, or 0.
func (s *Server) preferredWait(w http.ResponseWriter, r *http.Request) time.Duration {
	wait, given := wire.PreferWait(r.Header, s.limits.MaxWait)
	if given {
		wire.WaitApplied(w, wait)
	}
	return wait
}
