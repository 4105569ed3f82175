package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// RuleListParams choose rules.
type RuleListParams struct {
	// SessionID chooses those that are bound to a session; all when empty.
	SessionID string
	PageParams
}

// ListRules returns one page of rules, oldest first, also those that are revoked or
// expired.
func (c *Client) ListRules(ctx context.Context, params RuleListParams) (*Page[api.RuleView], error) {
	query := params.query()
	set(query, "session_id", params.SessionID)
	return get[Page[api.RuleView]](ctx, c, "/v1/rules", query)
}

// AllRules walks all pages of [Client.ListRules]. It ends after the first error.
func (c *Client) AllRules(ctx context.Context, params RuleListParams) iter.Seq2[api.RuleView, error] {
	return walk(params.PageParams, func(page PageParams) (*Page[api.RuleView], error) {
		params.PageParams = page
		return c.ListRules(ctx, params)
	})
}

// GetRule returns a rule, revoked or not. Errors: [ErrNotFound].
func (c *Client) GetRule(ctx context.Context, ruleID string) (*api.RuleView, error) {
	path, err := route("/v1/rules", ruleID)
	if err != nil {
		return nil, err
	}
	return get[api.RuleView](ctx, c, path, nil)
}

// AddRuleParams describe a rule. Empty members are left out.
type AddRuleParams struct {
	RuleID string `json:"rule_id,omitempty"` // made by the client when empty
	// Effect is RuleAllow when empty.
	Effect api.RuleEffect `json:"effect,omitempty"`
	// SessionID binds the rule to a session, which need not be there; it holds in all
	// sessions when empty.
	SessionID string        `json:"session_id,omitempty"`
	AgentID   string        `json:"agent_id,omitempty"`
	ToolName  string        `json:"tool_name,omitempty"`
	Match     api.RuleMatch `json:"match"`
	// Reason is told to the worker with what the rule decides.
	Reason string `json:"reason,omitempty"`
	// MaxUses ends the rule after so many decisions; it needs a session.
	MaxUses int64 `json:"max_uses,omitzero"`
	// Of the next two at most one is given; without either the rule holds for 30 days.
	ExpiresAtMs *int64 `json:"expires_at_ms,omitempty"`
	// ExpiresAfterMs counts from now; 0 is for ever.
	ExpiresAfterMs *int64 `json:"expires_after_ms,omitempty"`
}

// AddRule writes a rule; its Text says what it does. Errors: [ErrInvalid];
// [ErrIDConflict]; [ErrSessionEnded].
func (c *Client) AddRule(ctx context.Context, params AddRuleParams) (*api.RuleView, error) {
	if params.RuleID == "" {
		var err error
		if params.RuleID, err = newID("rule"); err != nil {
			return nil, err
		}
	}
	return post[api.RuleView](ctx, c, "/v1/rules", params, always)
}

// RevokeRule ends a rule at once: nothing that is asked for after it returned is
// settled by the rule. Again is the same. Errors: [ErrNotFound].
func (c *Client) RevokeRule(ctx context.Context, ruleID string) error {
	path, err := route("/v1/rules", ruleID)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, call{method: http.MethodDelete, path: path, repeat: always})
	return err
}

// ExplainParams describe a tool call.
type ExplainParams struct {
	SessionID   string   `json:"session_id,omitempty"`
	AgentID     string   `json:"agent_id,omitempty"`
	ToolName    string   `json:"tool_name"`
	ToolCallID  string   `json:"tool_call_id,omitempty"`
	Input       api.JSON `json:"input"`
	PatternKeys []string `json:"pattern_keys,omitempty"`
}

// RuleExplanation says what the rules would do to a call.
type RuleExplanation struct {
	// Decision is what would happen; RuleAsk also when no rule applies.
	Decision api.RuleEffect      `json:"decision"`
	Rules    []api.ExplainedRule `json:"rules"`
	// Remember has the text of the rule that an allow with remember would write.
	Remember struct {
		Session string `json:"session,omitempty"`
		Always  string `json:"always,omitempty"`
	} `json:"remember,omitzero"`
}

// ExplainRules says what would happen to an approval that asks for a call now, and
// why. It changes nothing. Errors: [ErrInvalid].
func (c *Client) ExplainRules(ctx context.Context, params ExplainParams) (*RuleExplanation, error) {
	return post[RuleExplanation](ctx, c, "/v1/rules/explain", params, always)
}

// RememberFor returns what ApprovalResolution.RememberForMs takes.
func RememberFor(d time.Duration) *int64 {
	ms := d.Milliseconds()
	return &ms
}
