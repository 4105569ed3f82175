package httpapi

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// retryEffect makes an effect due at once, even one that has failed. The body may be absent.
func (s *Server) retryEffect(w http.ResponseWriter, r *http.Request) error {
	if err := s.bodies.DecodeNothing(w, r); err != nil {
		return err
	}
	sessionID, effectID := wire.PathID(r, "session_id"), wire.PathID(r, "effect_id")
	if !refusal.ValidID(effectID) {
		if _, err := s.calls.Session(r.Context(), sessionID); err != nil {
			return err
		}
		return refusal.New(api.CodeEffectNotFound, "unknown effect %s in session %s", wire.Shown(effectID), sessionID)
	}
	reply, err := s.calls.DoInSession(r, sessionID, &runs.RetryEffect{SessionID: sessionID, EffectID: effectID})
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, reply.Effect.View())
}
