package httpapi

import (
	"cmp"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

type createSessionBody struct {
	keyed
	SessionID       *string  `json:"session_id"`
	AgentID         *string  `json:"agent_id"`
	ParentSessionID *string  `json:"parent_session_id"`
	Metadata        api.JSON `json:"metadata"`
}

// createSession makes a session, 201, or finds it, 200. A key stands in for the id
// that a caller may choose: the same key of the same caller makes the same
// session.
func (s *Server) createSession(w http.ResponseWriter, r *http.Request) error {
	var body createSessionBody
	if err := s.decodeOptional(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	command := &runs.CreateSession{
		SessionID:       wrong.id("/session_id", body.SessionID),
		AgentID:         wrong.id("/agent_id", body.AgentID),
		ParentSessionID: wrong.id("/parent_session_id", body.ParentSessionID),
		Metadata:        body.Metadata,
	}
	if err := wrong.err(); err != nil {
		return err
	}
	key, actor, err := credentials(r, body.IdempotencyKey, command)
	if err != nil {
		return err
	}
	byKey := key != "" && body.SessionID == nil
	if byKey {
		command.SessionID = idFromKey(runs.PrefixSession, actor.Name, key)
	}
	reply, err := s.store.Do(r.Context(), command)
	if byKey && refusal.CodeOf(err) == api.CodeIDConflict {
		return errKeyReused()
	}
	if err != nil {
		return err
	}
	status := http.StatusCreated
	record := &model.SessionRecord{Session: *reply.Session}
	if reply.Existing {
		if record, err = s.session(r.Context(), reply.Session.SessionID); err != nil {
			return err
		}
		if byKey {
			w.Header()[wire.ReplayedHeader] = replayed
		} else {
			status = http.StatusOK
		}
	}
	w.Header()["Location"] = []string{"/v1/sessions/" + record.Session.SessionID}
	return wire.Respond(w, r, status, record.View())
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	return s.respondSession(w, r, wire.PathID(r, "session_id"))
}

type reasonBody struct {
	Reason string `json:"reason"`
}

type interruptReply struct {
	Interrupted bool            `json:"interrupted"`
	Session     api.SessionView `json:"session"`
}

func (s *Server) interruptSession(w http.ResponseWriter, r *http.Request) error {
	sessionID, command := wire.PathID(r, "session_id"), &runs.InterruptSession{}
	var body reasonBody
	if err := s.decodeOptional(w, r, &body); err != nil {
		return err
	}
	actor, err := wire.Actor(r.Header)
	if err != nil {
		return err
	}
	command.SessionID, command.Reason, command.Actor = sessionID, body.Reason, actor
	reply, err := s.doInSession(r, sessionID, command)
	if err != nil {
		return err
	}
	record, err := s.session(r.Context(), sessionID)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, interruptReply{Interrupted: reply.Interrupted, Session: record.View()})
}

func (s *Server) endSession(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	var body reasonBody
	if err := s.decodeOptional(w, r, &body); err != nil {
		return err
	}
	actor, err := wire.Actor(r.Header)
	if err != nil {
		return err
	}
	if _, err := s.doInSession(r, sessionID, &runs.EndSession{SessionID: sessionID, Reason: body.Reason, Actor: actor}); err != nil {
		return err
	}
	return s.respondSession(w, r, sessionID)
}

// doInSession gives a command about an existing session to the store. An id that
// can be no session's is refused here, after the body was checked.
func (s *Server) doInSession(r *http.Request, sessionID string, command runs.Command) (runs.Reply, error) {
	if !refusal.ValidID(sessionID) {
		return runs.Reply{}, cmp.Or[error](schemaErrorOf(command), refusal.UnknownSession(wire.Shown(sessionID)))
	}
	return s.store.Do(r.Context(), command)
}

// doOnRun is doInSession for a command about an existing run.
func (s *Server) doOnRun(r *http.Request, runID string, command runs.Command) (runs.Reply, error) {
	if !refusal.ValidID(runID) {
		return runs.Reply{}, cmp.Or[error](schemaErrorOf(command), refusal.UnknownRun(wire.Shown(runID)))
	}
	return s.store.Do(r.Context(), command)
}

// schemaErrorOf returns what is wrong with a command by itself, or nil.
func schemaErrorOf(command runs.Command) error {
	if err := runs.Prepare(command, runs.NewID); refusal.CodeOf(err) == api.CodeInvalidRequest {
		return err
	}
	return nil
}
