package client

import (
	"context"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// GetRule returns a rule, revoked or not. Errors: [ErrNotFound].
func (c *Client) GetRule(ctx context.Context, ruleID string) (*api.RuleView, error) {
	return get[api.RuleView](ctx, c, at("/v1/rules", ruleID), nil)
}

// AddRuleParams describe a rule. Empty members are left out.
type AddRuleParams struct {
	RuleID string // made by the client when empty
	// Effect is RuleAllow when empty.
	Effect api.RuleEffect
	// SessionID binds the rule to a session, which need not exist yet; the rule holds in
	// all sessions when it is empty.
	SessionID string
	AgentID   string
	ToolName  string
	Match     api.RuleMatch
	// Reason reaches the worker with what the rule decides.
	Reason string
	// MaxUses ends the rule after so many decisions; it needs a session.
	MaxUses int64
	// Of the next two at most one is given; without either the rule holds as long as its
	// session, or 30 days.
	ExpiresAtMs *int64
	// ExpiresAfterMs counts from now; 0 is for ever.
	ExpiresAfterMs *int64
}

// AddRule writes a rule; its Text says what it does. Errors: [ErrInvalid];
// [ErrIDConflict]; [ErrSessionEnded].
func (c *Client) AddRule(ctx context.Context, params AddRuleParams) (*api.RuleView, error) {
	if params.RuleID == "" {
		params.RuleID = newID("rule")
	}
	return post[api.RuleView](ctx, c, at("/v1/rules"), api.AddRuleBody{
		RuleID: &params.RuleID, SessionID: optional(params.SessionID), AgentID: optional(params.AgentID),
		ToolName: optional(params.ToolName), Effect: params.Effect, Match: params.Match, Reason: params.Reason,
		MaxUses: optional(params.MaxUses), ExpiresAtMs: params.ExpiresAtMs, ExpiresAfterMs: params.ExpiresAfterMs,
	}, always)
}

// RevokeRule ends a rule at once: no request that is raised after it returned is
// settled by the rule. Again is a no-op. Errors: [ErrNotFound].
func (c *Client) RevokeRule(ctx context.Context, ruleID string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: at("/v1/rules", ruleID), repeat: always})
	return err
}

// ExplainParams describe a tool call.
type ExplainParams struct {
	SessionID   string
	AgentID     string
	ToolName    string
	ToolCallID  string
	Input       api.JSON
	PatternKeys []string
	// Effect and RememberForMs are those of the decision whose rules Remember shows: RuleAllow
	// when empty, for 30 days when nil.
	Effect        api.RuleEffect
	RememberForMs *int64
}

// RuleExplanation says what the rules would do to a call.
type RuleExplanation = api.RuleExplanation

// ExplainRules says what would happen to an approval that asks for a call now, and
// why. It changes nothing. Errors: [ErrInvalid].
func (c *Client) ExplainRules(ctx context.Context, params ExplainParams) (*RuleExplanation, error) {
	return post[RuleExplanation](ctx, c, at("/v1/rules/explain"), api.ExplainRulesBody{
		SessionID: optional(params.SessionID), AgentID: optional(params.AgentID), ToolName: params.ToolName,
		ToolCallID: params.ToolCallID, Input: params.Input, PatternKeys: params.PatternKeys,
		Effect: params.Effect, RememberForMs: params.RememberForMs,
	}, always)
}

// RememberFor returns a duration in the form of ApprovalResolution.RememberForMs and of
// AddRuleParams.ExpiresAfterMs; 0 is for ever.
func RememberFor(d time.Duration) *int64 { return new(d.Milliseconds()) }
