package httpapi

import (
	"net/http"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

const (
	orderEffects  = "created_at_ms_asc,effect_id_asc"
	cursorEffects = "e"
)

// listEffects lists what decisions owe or owed to other sessions.
func (s *Server) listEffects(w http.ResponseWriter, r *http.Request) error {
	query := queryOf(r)
	p, err := pagingOf(query, cursorEffects)
	if err != nil {
		return err
	}
	q := runs.EffectQuery{State: api.EffectState(query.Get("state")), SessionID: query.Get("session_id"), Limit: p.fetch()}
	if q.State != "" && !model.KnownEffectState(q.State) {
		return badQuery("state", "pending, done or failed")
	}
	if q.After, err = effectPosition(p.cursor); err != nil {
		return err
	}
	if !possible(q.SessionID) {
		return nothing(w, r, &p, orderEffects)
	}
	rows, err := s.store.Effects(r.Context(), q)
	if err != nil {
		return err
	}
	return respondList(w, r, &p, orderEffects, rows, (*model.Effect).View,
		func(row *model.Effect) string {
			return writeCursor(cursorEffects, strconv.FormatInt(row.CreatedAtMs, 10), row.EffectID)
		},
		func() (int64, error) { return s.store.CountEffects(r.Context(), q) })
}

func effectPosition(cursor []string) (*runs.EffectPosition, error) {
	if cursor == nil {
		return nil, nil
	}
	if len(cursor) != 2 {
		return nil, invalidCursor()
	}
	created, ok := parseDecimal(cursor[0])
	if !ok {
		return nil, invalidCursor()
	}
	return &runs.EffectPosition{CreatedAtMs: created, EffectID: cursor[1]}, nil
}

// retryEffect lets an effect be tried at once. The body may be absent.
func (s *Server) retryEffect(w http.ResponseWriter, r *http.Request) error {
	if err := s.decodeOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	sessionID, effectID := wire.PathID(r, "session_id"), wire.PathID(r, "effect_id")
	if !refusal.ValidID(effectID) {
		if _, err := s.session(r.Context(), sessionID); err != nil {
			return err
		}
		return refusal.New(api.CodeEffectNotFound, "unknown effect %s in session %s", wire.Shown(effectID), sessionID)
	}
	reply, err := s.doInSession(r, sessionID, &runs.RetryEffect{SessionID: sessionID, EffectID: effectID})
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, reply.Effect.View())
}
