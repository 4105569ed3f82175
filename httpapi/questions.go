package httpapi

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

type answerQuestionBody struct {
	keyed
	Resolution *api.UserQuestionResolution `json:"resolution"`
}

// answerQuestion decodes an answer and gives it to the store.
func (s *Server) answerQuestion(w http.ResponseWriter, r *http.Request, sessionID, runID string) (runs.Reply, error) {
	var body answerQuestionBody
	if err := s.decode(w, r, &body); err != nil {
		return runs.Reply{}, err
	}
	if body.Resolution == nil {
		return runs.Reply{}, refusal.Invalid(api.Fault{Pointer: "/resolution", Detail: "is required"})
	}
	command := &runs.AnswerQuestion{SessionID: sessionID, RunID: runID, Resolution: runs.AnswerOf(*body.Resolution)}
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

func (s *Server) answerSessionQuestion(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	reply, err := s.answerQuestion(w, r, sessionID, "")
	if err != nil {
		return err
	}
	return s.respondHeldSession(w, r, &reply, sessionID, s.preferredWait(w, r))
}

func (s *Server) answerRunQuestion(w http.ResponseWriter, r *http.Request) error {
	reply, err := s.answerQuestion(w, r, "", wire.PathID(r, "run_id"))
	if err != nil {
		return err
	}
	return s.respondRun(w, r, http.StatusAccepted, &reply)
}

type cancelQuestionBody struct {
	keyed
	Justification string `json:"justification"`
}

// cancelQuestion cancels an open question and with it the run (kheish.md 1.8).
func (s *Server) cancelQuestion(w http.ResponseWriter, r *http.Request) error {
	var body cancelQuestionBody
	if err := s.decodeOptional(w, r, &body); err != nil {
		return err
	}
	command := &runs.CancelQuestion{
		RunID: wire.PathID(r, "run_id"), RequestID: wire.PathID(r, "request_id"), Justification: body.Justification,
	}
	key, actor, err := credentials(r, body.IdempotencyKey, command)
	if err != nil {
		return err
	}
	command.Key, command.Actor = key, actor
	reply, err := s.doOnRun(r, command.RunID, command)
	if err != nil {
		return err
	}
	return s.respondRun(w, r, http.StatusOK, orRun(&reply, command.RunID))
}
