package runs

import (
	"context"
	"net/http"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

var effectList = paging.List{Cursor: "e", Keys: 2, Order: "created_at_ms_asc,effect_id_asc", Filters: "state session_id webhook_id"}

// hiddenReason replaces the reason of a failed delivery. An agent chooses its callback address, and
// the reason would reveal names, addresses and ports of the service's network.
const hiddenReason = "the attempt failed; an admin is shown why"

// effectViewFor returns the function that shows effects to a caller. Only admins see the reason of
// a failure.
func effectViewFor(caller *auth.Identity) func(*model.Effect) api.EffectView {
	if caller == nil || caller.May(auth.Administer) {
		return (*model.Effect).View
	}
	return func(effect *model.Effect) api.EffectView {
		view := effect.View()
		if view.LastError != "" {
			view.LastError = hiddenReason
		}
		return view
	}
}

// namedEffects shows effects with the names of their sessions, as far as the caller can read those.
type namedEffects struct {
	reader reads.Reader
	names  map[string]model.SessionName
	view   func(*model.Effect) api.EffectView
}

// read returns the effects that a query selects, and remembers the names of their sessions.
func (n *namedEffects) read(ctx context.Context, q reads.EffectQuery) ([]model.Effect, error) {
	found, err := n.reader.Effects(ctx, q)
	if err != nil {
		return nil, err
	}
	return found, n.name(ctx, found...)
}

func (n *namedEffects) name(ctx context.Context, effects ...model.Effect) (err error) {
	ids := make([]string, 0, 2*len(effects))
	for i := range effects {
		ids = append(ids, effects[i].SessionID, effects[i].TargetSessionID)
	}
	n.names, err = n.reader.SessionNames(ctx, ids)
	return err
}

func (n *namedEffects) show(effect *model.Effect) api.EffectView {
	view, from := n.view(effect), n.names[effect.SessionID]
	view.AgentID, view.Session = from.AgentID, from.View()
	if effect.TargetSessionID != effect.SessionID {
		to := n.names[effect.TargetSessionID]
		view.TargetAgentID, view.TargetSession = to.AgentID, to.View()
	}
	return view
}

// listEffects lists effects: the follow-up work of decisions.
func (h *handlers) listEffects(w http.ResponseWriter, r *http.Request) error {
	p, err := paging.Of(r, effectList)
	if err != nil {
		return err
	}
	q := reads.EffectQuery{
		State: api.EffectState(p.Query.Get("state")), SessionID: p.Query.Get("session_id"), WebhookID: p.Query.Get("webhook_id"),
		Limit: p.Fetch(), Budget: p.Budget,
	}
	if q.State != "" && !model.KnownEffectState(q.State) {
		return wire.BadQuery("state", "pending, done or failed")
	}
	if p.After != nil {
		q.After = &reads.EffectPosition{}
		if q.After.CreatedAtMs, q.After.EffectID, err = paging.TimeAndID(p.After); err != nil {
			return err
		}
	}
	reader := h.Store.Reader(r.Context())
	named := namedEffects{reader: reader, view: effectViewFor(auth.From(r.Context()))}
	return paging.Serve(w, r, &p, q, paging.Source[reads.EffectQuery, model.Effect, api.EffectView]{
		FilterIDs: []string{q.SessionID, q.WebhookID}, Rows: named.read, Count: reader.CountEffects, View: named.show,
		Keys: func(row *model.Effect) []string {
			return []string{strconv.FormatInt(row.CreatedAtMs, 10), row.EffectID}
		},
	})
}

// retryEffect makes an effect due at once, even one that has failed. The body may be absent.
func (h *handlers) retryEffect(w http.ResponseWriter, r *http.Request) error {
	if err := h.Bodies.DecodeNothing(w, r); err != nil {
		return err
	}
	sessionID, effectID := wire.PathID(r, "session_id"), wire.PathID(r, "effect_id")
	if !refusal.ValidID(effectID) {
		if _, err := h.Session(r.Context(), sessionID); err != nil {
			return err
		}
		return refusal.New(api.CodeEffectNotFound, "unknown effect %s in session %s", wire.Shown(effectID), sessionID)
	}
	reply, err := h.DoInSession(r, sessionID, &runs.RetryEffect{SessionID: sessionID, EffectID: effectID})
	if err != nil {
		return err
	}
	named := namedEffects{reader: h.Store.Reader(r.Context()), view: (*model.Effect).View}
	// The effect is due, and the caller must learn that, without the names if they cannot be read.
	_ = named.name(r.Context(), *reply.Effect)
	return wire.Respond(w, r, http.StatusOK, named.show(reply.Effect))
}
