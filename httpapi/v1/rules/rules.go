// Package rules serves standing rules, and what they would do with a call. It must not decide a request.
package rules

import (
	"net/http"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

type handlers struct {
	store        runs.Service
	bodies       *wire.Bodies
	maxAgeMs     int64
	readsTimeout time.Duration
}

// Routes returns the routes. maxAgeMs is the longest lifetime of a rule, 0 for no maximum; readsTimeout limits the
// reads of other requests of an explanation, which is then without the rest.
func Routes(store runs.Service, bodies *wire.Bodies, maxAgeMs int64, readsTimeout time.Duration) []wire.Route {
	h := &handlers{store, bodies, maxAgeMs, readsTimeout}
	return []wire.Route{
		wire.Get("/v1/rules", auth.Read, h.list),
		wire.Post("/v1/rules", auth.WriteRule, h.add),
		wire.Post("/v1/rules/explain", auth.Read, h.explain),
		wire.Get("/v1/rules/{rule_id}", auth.Read, wire.Reply(http.StatusOK, h.get)),
		wire.Delete("/v1/rules/{rule_id}", auth.WriteRule, wire.NoContent(h.revoke)),
	}
}

var ruleList = paging.List{Cursor: "u", Keys: 2, Order: "created_at_ms_asc,rule_id_asc", Filters: "session_id"}

// rule returns the rule named in the path.
func (h *handlers) rule(r *http.Request) (*rules.Record, error) {
	ruleID := wire.PathID(r, "rule_id")
	if !refusal.ValidID(ruleID) {
		return nil, refusal.UnknownRule(wire.Shown(ruleID))
	}
	return h.store.Reader(r.Context()).Rule(r.Context(), ruleID)
}

func (h *handlers) get(r *http.Request) (api.RuleView, error) {
	record, err := h.rule(r)
	if err != nil {
		return api.RuleView{}, err
	}
	return record.View(), nil
}

// list lists rules, including revoked and expired ones.
func (h *handlers) list(w http.ResponseWriter, r *http.Request) error {
	p, err := paging.Of(r, ruleList)
	if err != nil {
		return err
	}
	q := reads.RuleQuery{SessionID: p.Query.Get("session_id"), Limit: p.Fetch(), Budget: p.Budget}
	if p.After != nil {
		q.After = &reads.RulePosition{}
		if q.After.CreatedAtMs, q.After.RuleID, err = paging.TimeAndID(p.After); err != nil {
			return err
		}
	}
	return paging.Serve(w, r, &p, q, paging.Source[reads.RuleQuery, rules.Record, api.RuleView]{
		FilterIDs: []string{q.SessionID}, Rows: h.store.Reader(r.Context()).Rules, Count: h.store.Reader(r.Context()).CountRules, View: (*rules.Record).View,
		Keys: func(row *rules.Record) []string {
			return []string{strconv.FormatInt(row.Rule.CreatedAtMs, 10), row.Rule.RuleID}
		},
	})
}

// add creates a rule. An idempotency key can replace the rule id that a caller may choose.
func (h *handlers) add(w http.ResponseWriter, r *http.Request) error {
	var body api.AddRuleBody
	var faults refusal.Faults
	if err := h.bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	command := &runs.AddRule{
		RuleID: kit.OptionalID(&faults, "/rule_id", body.RuleID), SessionID: kit.OptionalID(&faults, "/session_id", body.SessionID),
		AgentID: kit.OptionalID(&faults, "/agent_id", body.AgentID), ToolName: kit.OptionalID(&faults, "/tool_name", body.ToolName),
		Effect: body.Effect, Reason: body.Reason, MaxUses: kit.OptionalNumber(body.MaxUses),
		Match: body.Match, ExpiresAtMs: body.ExpiresAtMs, ExpiresAfterMs: body.ExpiresAfterMs, MaxAgeMs: h.maxAgeMs,
		Escalation: body.Escalation, Hint: body.Hint,
	}
	if command.SessionID == rules.AllSessions {
		faults.Add("/session_id", "must be left out for a rule that holds in all sessions")
	}
	key, actor, err := kit.Credentials(r, &faults, body.IdempotencyKey, command)
	if err != nil {
		return err
	}
	command.Actor = actor
	byKey := key != "" && command.RuleID == ""
	if byKey {
		// Neither session ids nor principals contain a slash, so the scopes are distinct.
		principal := auth.From(r.Context()).Principal
		scope := command.SessionID + "/" + principal
		if command.SessionID == "" {
			scope = runs.CallerScope(principal, actor.Name)
		}
		command.RuleID = kit.IDFromKey(runs.PrefixRule, scope, key)
	}
	reply, err := h.store.Do(r.Context(), command)
	if kit.KeyReused(byKey, err) {
		return kit.ErrKeyReused()
	}
	if err != nil {
		return err
	}
	record := reply.Rule
	if reply.Existing {
		if record, err = h.store.Reader(r.Context()).Rule(r.Context(), record.Rule.RuleID); err != nil {
			return err
		}
	}
	wire.MarkReplayed(w, reply.Existing && byKey)
	status := kit.CreatedStatus(reply.Existing, byKey)
	if status == http.StatusCreated {
		wire.Locate(w, "/v1/rules/", record.Rule.RuleID)
	}
	return wire.Respond(w, r, status, record.View())
}

// revoke revokes a rule. It reads the rule first to know which session to lock. A rule never
// changes its session.
func (h *handlers) revoke(r *http.Request) error {
	actor, err := wire.Actor(r)
	if err != nil {
		return err
	}
	record, err := h.rule(r)
	if err != nil {
		return err
	}
	command := &runs.RevokeRule{RuleID: record.Rule.RuleID, SessionID: record.Rule.SessionID, Actor: actor}
	_, err = h.store.Do(r.Context(), command)
	return err
}
