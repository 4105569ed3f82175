package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// settledDown reports whether a run waits for a person or is terminal, which is what a
// session-scoped call is held for.
func settledDown(run *model.Run) bool { return model.Waiting(run.Status) || model.Terminal(run.Status) }

// holdRun holds the reply until the run is as the caller wants it, and returns the
// run as it was last seen. The record is what is known so far.
func (s *Server) holdRun(ctx context.Context, record *model.RunRecord, wait time.Duration, done func(*model.Run) bool) (*model.RunRecord, error) {
	if wait <= 0 || done(&record.Run) {
		return record, nil
	}
	changes := s.hub.Session(record.Run.SessionID)
	defer changes.Close()
	err := s.hold(ctx, changes, wait, func(ctx context.Context) (bool, error) {
		current, err := s.store.Run(ctx, record.Run.RunID)
		if err != nil {
			return false, err
		}
		record = current
		return done(&record.Run), nil
	})
	return record, err
}

// respondHeldSession answers 200 with the session, once the run of the reply has settled
// down or the wait is over.
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

// preferredWait returns the wait that the caller prefers and confirms it, or 0 without a
// preference.
func (s *Server) preferredWait(w http.ResponseWriter, r *http.Request) time.Duration {
	wait, given := wire.PreferWait(r.Header, s.limits.MaxWait)
	if given {
		wire.WaitApplied(w, wait)
	}
	return wait
}
