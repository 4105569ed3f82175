package httpapi

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

var replayed = []string{"true"}

// run returns a run as it is now.
func (s *Server) run(ctx context.Context, runID string) (*model.RunRecord, error) {
	if !refusal.ValidID(runID) {
		return nil, refusal.UnknownRun(wire.Shown(runID))
	}
	return s.store.Run(ctx, runID)
}

// session returns a session as it is now.
func (s *Server) session(ctx context.Context, sessionID string) (*model.SessionRecord, error) {
	if !refusal.ValidID(sessionID) {
		return nil, refusal.UnknownSession(wire.Shown(sessionID))
	}
	return s.store.Session(ctx, sessionID)
}

// ran returns the run that a command's reply is about. A command does not read
// output records, and a call that was seen before is answered with the run as it
// is now; both are read after the commit.
func (s *Server) ran(ctx context.Context, reply *runs.Reply) (*model.RunRecord, error) {
	if reply.Run == nil {
		return s.store.Run(ctx, reply.ReplayRunID)
	}
	if reply.Run.Run.OutputCount > 0 && reply.Run.Outputs == nil {
		return s.store.Run(ctx, reply.Run.Run.RunID)
	}
	return reply.Run, nil
}

func markReplayed(w http.ResponseWriter, reply *runs.Reply) {
	if reply.Replayed {
		w.Header()[wire.ReplayedHeader] = replayed
	}
}

// respondRun answers with the run of a reply.
func (s *Server) respondRun(w http.ResponseWriter, r *http.Request, status int, reply *runs.Reply) error {
	record, err := s.ran(r.Context(), reply)
	if err != nil {
		return err
	}
	markReplayed(w, reply)
	if status == http.StatusAccepted {
		locateRun(w, record.Run.RunID)
	}
	return wire.Respond(w, r, status, record.View())
}

// respondSession answers 200 with a session as it is now.
func (s *Server) respondSession(w http.ResponseWriter, r *http.Request, sessionID string) error {
	record, err := s.session(r.Context(), sessionID)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, record.View())
}

func locateRun(w http.ResponseWriter, runID string) {
	w.Header()["Location"] = []string{"/v1/runs/" + runID}
}
