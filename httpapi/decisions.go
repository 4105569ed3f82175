package httpapi

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// target is the run of a decision: the run in the path, or the run that the domain finds in the
// path's session. One of the two is set.
type target struct{ sessionID, runID string }

// decision reads a person's decision about a target and applies it.
type decision func(w http.ResponseWriter, r *http.Request, at target) (runs.Reply, error)

// onRun handles a decision about a run and answers 202 with the run.
func (s *Server) onRun(decide decision) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		runID := wire.PathID(r, "run_id")
		reply, err := decide(w, r, target{runID: runID})
		if err != nil {
			return err
		}
		return s.calls.RespondRun(w, r, http.StatusAccepted, &reply, runID)
	}
}

// onActiveRun handles a decision about a session's active run and answers 202 with the run.
func (s *Server) onActiveRun(decide decision) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		reply, err := decide(w, r, target{sessionID: wire.PathID(r, "session_id")})
		if err != nil {
			return err
		}
		return s.calls.RespondRun(w, r, http.StatusAccepted, &reply, "")
	}
}

// inSession handles a decision about a session's run and answers 200 with the session, held as long
// as the caller prefers.
func (s *Server) inSession(decide decision) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		sessionID := wire.PathID(r, "session_id")
		reply, err := decide(w, r, target{sessionID: sessionID})
		if err != nil {
			return err
		}
		return s.calls.RespondHeldSession(w, r, &reply, sessionID, s.calls.PreferredWait(w, r))
	}
}

// decide sends a command about a target to the store. It sets the command's key and actor from the
// request.
func (s *Server) decide(r *http.Request, at target, keyInBody *string, command runs.Command, key *string, actor *runs.Actor) (runs.Reply, error) {
	var err error
	if *key, *actor, err = kit.Credentials(r, keyInBody, command); err != nil {
		return runs.Reply{}, err
	}
	if at.runID == "" {
		return s.calls.DoInSession(r, at.sessionID, command)
	}
	return s.calls.DoOnRun(r, at.runID, command)
}

// resolveApprovals decides a batch of approvals.
func (s *Server) resolveApprovals(w http.ResponseWriter, r *http.Request, at target) (runs.Reply, error) {
	var body api.ResolveApprovalsBody
	var faults refusal.Faults
	if err := s.bodies.Decode(w, r, &body, &faults); err != nil {
		return runs.Reply{}, err
	}
	command := &runs.ResolveApprovals{
		SessionID: at.sessionID, RunID: at.runID,
		Resolutions: runs.DecisionsOf(body.Resolutions), MaxRuleAgeMs: s.maxRuleAgeMs,
	}
	if err := kit.AllFaults(r.Context(), &faults, command); err != nil {
		return runs.Reply{}, err
	}
	return s.decide(r, at, body.IdempotencyKey, command, &command.Key, &command.Actor)
}

// answerQuestion answers or declines a question.
func (s *Server) answerQuestion(w http.ResponseWriter, r *http.Request, at target) (runs.Reply, error) {
	var body api.AnswerQuestionBody
	var faults refusal.Faults
	if err := s.bodies.Decode(w, r, &body, &faults); err != nil {
		return runs.Reply{}, err
	}
	command := &runs.AnswerQuestion{SessionID: at.sessionID, RunID: at.runID, Resolution: runs.AnswerOf(body.Resolution)}
	if err := kit.AllFaults(r.Context(), &faults, command); err != nil {
		return runs.Reply{}, err
	}
	return s.decide(r, at, body.IdempotencyKey, command, &command.Key, &command.Actor)
}

// cancelQuestion cancels an open question and its run, and answers 200 with the run.
func (s *Server) cancelQuestion(w http.ResponseWriter, r *http.Request) error {
	var body api.CancelQuestionBody
	var faults refusal.Faults
	if err := s.bodies.DecodeOptional(w, r, &body, &faults); err != nil {
		return err
	}
	at := target{runID: wire.PathID(r, "run_id")}
	command := &runs.CancelQuestion{RunID: at.runID, RequestID: wire.PathID(r, "request_id"), Justification: body.Justification}
	if err := kit.AllFaults(r.Context(), &faults, command); err != nil {
		return err
	}
	reply, err := s.decide(r, at, body.IdempotencyKey, command, &command.Key, &command.Actor)
	if err != nil {
		return err
	}
	return s.calls.RespondRun(w, r, http.StatusOK, &reply, at.runID)
}
