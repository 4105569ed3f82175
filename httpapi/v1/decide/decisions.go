package decide

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
func (h *handlers) onRun(decide decision) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		runID := wire.PathID(r, "run_id")
		reply, err := decide(w, r, target{runID: runID})
		if err != nil {
			return err
		}
		return h.RespondRun(w, r, http.StatusAccepted, &reply, runID)
	}
}

// onActiveRun handles a decision about a session's active run and answers 202 with the run.
func (h *handlers) onActiveRun(decide decision) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		reply, err := decide(w, r, target{sessionID: wire.PathID(r, "session_id")})
		if err != nil {
			return err
		}
		return h.RespondRun(w, r, http.StatusAccepted, &reply, "")
	}
}

// inSession handles a decision about a session's run and answers 200 with the session, held as long
// as the caller prefers.
func (h *handlers) inSession(decide decision) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		sessionID := wire.PathID(r, "session_id")
		reply, err := decide(w, r, target{sessionID: sessionID})
		if err != nil {
			return err
		}
		return h.RespondHeldSession(w, r, &reply, sessionID, h.PreferredWait(w, r))
	}
}

// decide sends a command about a target to the store. It sets the command's key and actor from the
// request.
func (h *handlers) decide(r *http.Request, at target, faults *refusal.Faults, keyInBody *string, command runs.Command, key *string, actor *runs.Actor) (runs.Reply, error) {
	var err error
	if *key, *actor, err = kit.Credentials(r, faults, keyInBody, command); err != nil {
		return runs.Reply{}, err
	}
	if at.runID == "" {
		return h.DoInSession(r, at.sessionID, command)
	}
	return h.DoOnRun(r, at.runID, command)
}

// resolveApprovals decides a batch of approvals.
func (h *handlers) resolveApprovals(w http.ResponseWriter, r *http.Request, at target) (runs.Reply, error) {
	var body api.ResolveApprovalsBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return runs.Reply{}, err
	}
	command := &runs.ResolveApprovals{
		SessionID: at.sessionID, RunID: at.runID,
		Resolutions: runs.DecisionsOf(body.Resolutions), MaxRuleAgeMs: h.maxRuleAgeMs,
	}
	return h.decide(r, at, &faults, body.IdempotencyKey, command, &command.Key, &command.Actor)
}

// answerQuestion answers or declines a question.
func (h *handlers) answerQuestion(w http.ResponseWriter, r *http.Request, at target) (runs.Reply, error) {
	var body api.AnswerQuestionBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return runs.Reply{}, err
	}
	command := &runs.AnswerQuestion{SessionID: at.sessionID, RunID: at.runID, Resolution: runs.AnswerOf(body.Resolution)}
	return h.decide(r, at, &faults, body.IdempotencyKey, command, &command.Key, &command.Actor)
}

// cancelQuestion cancels an open question and its run, and answers 200 with the run.
func (h *handlers) cancelQuestion(w http.ResponseWriter, r *http.Request) error {
	var body api.CancelQuestionBody
	var faults refusal.Faults
	if err := h.Bodies.DecodeOptional(w, r, &body, &faults); err != nil {
		return err
	}
	at := target{runID: wire.PathID(r, "run_id")}
	command := &runs.CancelQuestion{RunID: at.runID, RequestID: wire.PathID(r, "request_id"), Justification: body.Justification}
	reply, err := h.decide(r, at, &faults, body.IdempotencyKey, command, &command.Key, &command.Actor)
	if err != nil {
		return err
	}
	return h.RespondRun(w, r, http.StatusOK, &reply, at.runID)
}
