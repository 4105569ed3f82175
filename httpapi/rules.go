package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

const (
	orderRules  = "created_at_ms_asc,rule_id_asc"
	cursorRules = "u"
	// maxJudged bounds the rules that one explanation looks at, and maxIdle those in its
	// reply that do not apply.
	maxJudged = 100_000
	maxIdle   = 1_000
)

// listRules lists standing rules, also those that hold no more.
func (s *Server) listRules(w http.ResponseWriter, r *http.Request) error {
	query := queryOf(r)
	p, err := pagingOf(query, cursorRules)
	if err != nil {
		return err
	}
	q := runs.RuleQuery{SessionID: query.Get("session_id"), Limit: p.fetch()}
	if p.cursor != nil {
		if q.After, err = rulePosition(p.cursor); err != nil {
			return err
		}
	}
	if !possible(q.SessionID) {
		return nothing(w, r, &p, orderRules)
	}
	rows, err := s.store.Rules(r.Context(), q)
	if err != nil {
		return err
	}
	return respondList(w, r, &p, orderRules, rows, (*rules.Record).View,
		func(row *rules.Record) string {
			return writeCursor(cursorRules, strconv.FormatInt(row.Rule.CreatedAtMs, 10), row.Rule.RuleID)
		},
		func() (int64, error) { return s.store.CountRules(r.Context(), q) })
}

func rulePosition(cursor []string) (*runs.RulePosition, error) {
	if len(cursor) != 2 {
		return nil, invalidCursor()
	}
	created, ok := parseDecimal(cursor[0])
	if !ok {
		return nil, invalidCursor()
	}
	return &runs.RulePosition{CreatedAtMs: created, RuleID: cursor[1]}, nil
}

// rule returns the rule that a path names.
func (s *Server) rule(r *http.Request) (*rules.Record, error) {
	ruleID := wire.PathID(r, "rule_id")
	if !refusal.ValidID(ruleID) {
		return nil, refusal.UnknownRule(wire.Shown(ruleID))
	}
	return s.store.Rule(r.Context(), ruleID)
}

func (s *Server) getRule(w http.ResponseWriter, r *http.Request) error {
	record, err := s.rule(r)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, record.View())
}

type addRuleBody struct {
	keyed
	RuleID         *string        `json:"rule_id"`
	SessionID      *string        `json:"session_id"`
	AgentID        *string        `json:"agent_id"`
	ToolName       *string        `json:"tool_name"`
	Effect         api.RuleEffect `json:"effect"`
	Match          *api.RuleMatch `json:"match"`
	Reason         string         `json:"reason"`
	MaxUses        *int64         `json:"max_uses"`
	ExpiresAtMs    *int64         `json:"expires_at_ms"`
	ExpiresAfterMs *int64         `json:"expires_after_ms"`
}

// addRule writes a rule. A key stands in for the rule id that a caller may choose.
func (s *Server) addRule(w http.ResponseWriter, r *http.Request) error {
	var body addRuleBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	command := &runs.AddRule{
		RuleID: wrong.id("/rule_id", body.RuleID), SessionID: wrong.id("/session_id", body.SessionID),
		AgentID: wrong.id("/agent_id", body.AgentID), ToolName: wrong.id("/tool_name", body.ToolName),
		Effect: body.Effect, Reason: body.Reason,
		ExpiresAtMs: body.ExpiresAtMs, ExpiresAfterMs: body.ExpiresAfterMs, MaxAgeMs: s.maxRuleAgeMs,
	}
	if body.Match == nil {
		wrong.add("/match", "is required")
	} else {
		command.Match = *body.Match
	}
	if command.SessionID == rules.AllSessions {
		wrong.add("/session_id", "must be left out for a rule that holds in all sessions")
	}
	if body.MaxUses != nil {
		if command.MaxUses = *body.MaxUses; command.MaxUses < 1 {
			wrong.add("/max_uses", "must be at least 1")
		}
	}
	if err := wrong.err(); err != nil {
		return err
	}
	key, actor, err := credentials(r, body.IdempotencyKey, command)
	if err != nil {
		return err
	}
	command.Actor = actor
	byKey := key != "" && command.RuleID == ""
	if byKey {
		command.RuleID = idFromKey(runs.PrefixRule, cmp.Or(command.SessionID, actor.Name), key)
	}
	reply, err := s.store.Do(r.Context(), command)
	if byKey && refusal.CodeOf(err) == api.CodeIDConflict {
		return errKeyReused()
	}
	if err != nil {
		return err
	}
	status := http.StatusCreated
	switch {
	case reply.Existing && byKey:
		w.Header()[wire.ReplayedHeader] = replayed
	case reply.Existing:
		status = http.StatusOK
	}
	record := reply.Rule
	if reply.Existing {
		if record, err = s.store.Rule(r.Context(), record.Rule.RuleID); err != nil {
			return err
		}
	}
	if status == http.StatusCreated {
		w.Header()["Location"] = []string{"/v1/rules/" + record.Rule.RuleID}
	}
	return wire.Respond(w, r, status, record.View())
}

// revokeRule ends a rule. It looks the rule up first to know whose lock to take; a
// rule never changes its session.
func (s *Server) revokeRule(w http.ResponseWriter, r *http.Request) error {
	actor, err := wire.Actor(r.Header)
	if err != nil {
		return err
	}
	record, err := s.rule(r)
	if err != nil {
		return err
	}
	command := &runs.RevokeRule{RuleID: record.Rule.RuleID, SessionID: record.Rule.SessionID, Actor: actor}
	if _, err := s.store.Do(r.Context(), command); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

type explainRulesBody struct {
	SessionID   *string  `json:"session_id"`
	AgentID     *string  `json:"agent_id"`
	ToolName    string   `json:"tool_name"`
	ToolCallID  string   `json:"tool_call_id"`
	Input       api.JSON `json:"input"`
	PatternKeys []string `json:"pattern_keys"`
}

type explanation struct {
	api.Explanation
	// Remember has the texts of the rules that an allow with remember would write.
	Remember rememberTexts `json:"remember"`
}

type rememberTexts struct {
	Session string `json:"session,omitempty"`
	Always  string `json:"always,omitempty"`
}

// explainRules says what would happen to a call, and why.
func (s *Server) explainRules(w http.ResponseWriter, r *http.Request) error {
	var body explainRulesBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	call := rules.Call{
		SessionID: wrong.id("/session_id", body.SessionID), AgentID: wrong.id("/agent_id", body.AgentID),
		ToolName: body.ToolName, ToolCallID: body.ToolCallID, Input: body.Input, PatternKeys: body.PatternKeys,
	}
	if call.ToolName == "" {
		wrong.add("/tool_name", "is required")
	}
	if call.Input == nil {
		wrong.add("/input", "is required")
	}
	if call.SessionID != "" && !refusal.ValidID(call.SessionID) {
		wrong.add("/session_id", "must be the id of a session")
	}
	if err := wrong.err(); err != nil {
		return err
	}
	standing, nowMs, err := s.store.RulesFor(r.Context(), cmp.Or(call.SessionID, rules.AllSessions), maxJudged+1)
	if err != nil {
		return err
	}
	if len(standing) > maxJudged {
		return refusal.New(wire.CodeServiceUnavailable, "more than %d rules are in force, and an answer from some of them could be wrong", maxJudged)
	}
	answer := explanation{Explanation: rules.Explain(standing, call, nowMs)}
	idle := 0
	answer.Rules = slices.DeleteFunc(answer.Rules, func(rule api.ExplainedRule) bool {
		if !rule.Applies {
			idle++
		}
		return !rule.Applies && idle > maxIdle
	})
	if call.SessionID != "" {
		answer.Remember.Session = s.rememberText(&call, api.RememberSession, nowMs)
	}
	answer.Remember.Always = s.rememberText(&call, api.RememberAlways, nowMs)
	return wire.Respond(w, r, http.StatusOK, answer)
}

func (s *Server) rememberText(call *rules.Call, remember api.Remember, nowMs int64) string {
	preview, err := runs.PreviewRule(
		api.ApprovalRequest{ToolName: call.ToolName, Input: call.Input, PatternKeys: call.PatternKeys}, call.SessionID,
		runs.ApprovalDecision{Behavior: api.BehaviorAllow, Remember: remember}, s.maxRuleAgeMs, nowMs)
	if err != nil {
		return "" // no such rule can be written
	}
	return preview.Text
}
