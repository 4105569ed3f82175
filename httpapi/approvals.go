package httpapi

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

type resolveApprovalsBody struct {
	keyed
	// Resolutions is nil when the member is absent, which is not the same as an empty
	// batch: the one does not fit the schema, the other is approval_batch_empty.
	Resolutions []api.ApprovalResolution `json:"resolutions"`
}

// resolveApprovals decodes a batch and gives it to the store.
func (s *Server) resolveApprovals(w http.ResponseWriter, r *http.Request, sessionID, runID string) (runs.Reply, error) {
	var body resolveApprovalsBody
	if err := s.decode(w, r, &body); err != nil {
		return runs.Reply{}, err
	}
	if body.Resolutions == nil {
		return runs.Reply{}, refusal.Invalid(api.Fault{Pointer: "/resolutions", Detail: "is required"})
	}
	command := &runs.ResolveApprovals{SessionID: sessionID, RunID: runID, Resolutions: runs.DecisionsOf(body.Resolutions), MaxRuleAgeMs: s.maxRuleAgeMs}
	key, actor, err := credentials(r, body.IdempotencyKey, command)
	if err != nil {
		return runs.Reply{}, err
	}
	command.Key, command.Actor = key, actor
	if runID == "" {
		return s.doInSession(r, sessionID, command)
	}
	return s.doOnRun(r, runID, command)
}

// resolveSessionApprovals decides about the session's active run and shows the
// session.
func (s *Server) resolveSessionApprovals(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	reply, err := s.resolveApprovals(w, r, sessionID, "")
	if err != nil {
		return err
	}
	return s.respondHeldSession(w, r, &reply, sessionID, s.preferredWait(w, r))
}

// resolveSessionApprovalsAsRun is the same and shows the run.
func (s *Server) resolveSessionApprovalsAsRun(w http.ResponseWriter, r *http.Request) error {
	reply, err := s.resolveApprovals(w, r, wire.PathID(r, "session_id"), "")
	if err != nil {
		return err
	}
	return s.respondRun(w, r, http.StatusAccepted, &reply)
}

func (s *Server) resolveRunApprovals(w http.ResponseWriter, r *http.Request) error {
	reply, err := s.resolveApprovals(w, r, "", wire.PathID(r, "run_id"))
	if err != nil {
		return err
	}
	return s.respondRun(w, r, http.StatusAccepted, &reply)
}
