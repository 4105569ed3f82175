package runs

import (
	"cmp"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// createSession creates a session (201) or finds it (200). An idempotency key can replace the id
// that a caller may choose: the same key of the same caller finds the same session.
func (h *handlers) createSession(w http.ResponseWriter, r *http.Request) error {
	var body api.CreateSessionBody
	var faults refusal.Faults
	if err := h.Bodies.DecodeOptional(w, r, &body, &faults); err != nil {
		return err
	}
	command := &runs.CreateSession{
		SessionID:       kit.OptionalID(&faults, "/session_id", body.SessionID),
		AgentID:         kit.OptionalID(&faults, "/agent_id", body.AgentID),
		ParentSessionID: kit.OptionalID(&faults, "/parent_session_id", body.ParentSessionID),
		Metadata:        body.Metadata,
	}
	key, actor, err := kit.Credentials(r, &faults, body.IdempotencyKey, command)
	if err != nil {
		return err
	}
	byKey := key != "" && body.SessionID == nil
	if byKey {
		caller, scope := auth.From(r.Context()), actor.Name
		if caller.Via != auth.ViaOpen && caller.Principal != actor.Name {
			scope = runs.CallerScope(caller.Principal, actor.Name) // the name alone may be another principal
		}
		command.SessionID = reads.SessionPrefixFor(caller) + kit.IDFromKey(runs.PrefixSession, scope, key)
	}
	reply, err := h.Store.Do(r.Context(), command)
	if kit.KeyReused(byKey, err) {
		return kit.ErrKeyReused()
	}
	if err != nil {
		return err
	}
	record := &model.SessionRecord{Session: *reply.Session}
	if reply.Existing {
		if record, err = h.Session(r.Context(), reply.Session.SessionID); err != nil {
			return err
		}
	}
	if byKey && reply.Existing && !madeBy(&record.Session, command) {
		return kit.ErrKeyReused()
	}
	wire.MarkReplayed(w, reply.Existing && byKey)
	wire.Locate(w, "/v1/sessions/", record.Session.SessionID)
	kit.WithoutOutputs(record)
	return wire.Respond(w, r, kit.CreatedStatus(reply.Existing, byKey), record.View())
}

// madeBy reports whether the session's data equals that of a call.
func madeBy(session *model.Session, call *runs.CreateSession) bool {
	canonical := func(metadata api.JSON) string {
		text, _ := document.Canonical(metadata) // stored metadata always has a canonical form
		return string(text)
	}
	return cmp.Or(call.AgentID, model.DefaultAgentID) == session.AgentID && call.ParentSessionID == session.ParentSessionID &&
		canonical(call.Metadata) == canonical(session.Metadata)
}

func (h *handlers) getSession(w http.ResponseWriter, r *http.Request) error {
	record, err := h.Session(r.Context(), wire.PathID(r, "session_id"))
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, record.View())
}

// amendSession changes a session's metadata, label and origin.
func (h *handlers) amendSession(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	var body api.AmendSessionBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	command := &runs.AmendSession{SessionID: sessionID, Metadata: body.Metadata, Label: body.Label, Origin: body.Origin}
	if err := kit.AllFaults(r.Context(), &faults, command); err != nil {
		return err
	}
	if _, err := h.DoInSession(r, sessionID, command); err != nil {
		return err
	}
	return h.RespondSession(w, r, sessionID)
}

func (h *handlers) interruptSession(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	command, err := h.Reason(w, r, func(reason string, actor runs.Actor) runs.Command {
		return &runs.InterruptSession{SessionID: sessionID, Reason: reason, Actor: actor}
	})
	if err != nil {
		return err
	}
	reply, err := h.DoInSession(r, sessionID, command)
	if err != nil {
		return err
	}
	record, err := h.Session(r.Context(), sessionID)
	if err != nil {
		return err
	}
	kit.WithoutOutputs(record)
	view := record.View()
	return wire.Respond(w, r, http.StatusOK, api.InterruptReply{Interrupted: reply.Interrupted, Session: view, Snapshot: view.Snapshot})
}

func (h *handlers) endSession(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	command, err := h.Reason(w, r, func(reason string, actor runs.Actor) runs.Command {
		return &runs.EndSession{SessionID: sessionID, Reason: reason, Actor: actor}
	})
	if err != nil {
		return err
	}
	if _, err := h.DoInSession(r, sessionID, command); err != nil {
		return err
	}
	return h.RespondSession(w, r, sessionID)
}
