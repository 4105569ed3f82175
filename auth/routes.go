package auth

// Route is one row of the table: the action that a route requires.
type Route struct {
	// Method is in upper case; GET includes HEAD.
	Method string
	// Path is the registered pattern.
	Path   string
	Action Action
}

// Routes is the one table of permissions for /v1 and all dialects. A route that is not in it is
// refused for every caller. Where a call does more (a rule created with a decision, a decision in a
// call that starts a run), the handler also checks [RoleMay].
var Routes = []Route{
	{"GET", "/livez", Public},
	{"GET", "/readyz", Public},
	{"GET", "/version", Known},
	{"GET", "/openapi.yaml", Known},
	{"GET", "/openapi.json", Known},
	{"GET", "/v1/me", Known},
	// Only deciders are notified, so only they may have messages sent.
	{"GET", "/v1/me/addresses", Decide},
	{"POST", "/v1/me/addresses", Decide},
	{"POST", "/v1/me/addresses/{address_id}/verify", Decide},
	{"DELETE", "/v1/me/addresses/{address_id}", Decide},
	{"GET", "/v1/channels", Administer},
	{"POST", "/v1/channels/{name}/test", Administer},
	// Each call over the connection is checked against its own row.
	{"GET", "/v1/calls", Known},
	// The token is in the body, or there is nothing to sign in to.
	{"POST", "/v1/login", Public},
	// Anyone with a signature may verify it.
	{"GET", "/v1/keys", Public},
	{"POST", "/v1/logout", Known},
	{"POST", "/v1/stream-tickets", Known},
	{"GET", "/v1/oidc", Public},
	{"GET", "/v1/oidc/start", Public},
	{"GET", "/v1/oidc/callback", Public},

	{"POST", "/v1/sessions", Work},
	{"GET", "/v1/sessions", Read},
	{"GET", "/v1/sessions/{session_id}", Read},
	{"PATCH", "/v1/sessions/{session_id}", Work},
	{"POST", "/v1/sessions/{session_id}/interrupt", Cancel},
	{"POST", "/v1/sessions/{session_id}/end", Decide},
	{"POST", "/v1/sessions/{session_id}/redact", Administer},
	{"GET", "/v1/sessions/{session_id}/events", Read},
	{"GET", "/v1/sessions/{session_id}/stream", Read},
	{"POST", "/v1/sessions/{session_id}/runs", Work},
	{"POST", "/v1/sessions/{session_id}/input", Work},
	{"GET", "/v1/sessions/{session_id}/approvals", Read},
	{"POST", "/v1/sessions/{session_id}/approvals", Decide},
	{"POST", "/v1/sessions/{session_id}/approval-runs", Decide},
	{"GET", "/v1/sessions/{session_id}/questions", Read},
	{"POST", "/v1/sessions/{session_id}/questions", Decide},
	// Reading the mailbox leases the returned messages.
	{"GET", "/v1/sessions/{session_id}/mailbox", Work},
	{"GET", "/v1/sessions/{session_id}/mailbox/dead-letter", Administer},
	{"POST", "/v1/sessions/{session_id}/mailbox/{message_id}/ack", Work},
	{"POST", "/v1/sessions/{session_id}/mailbox/dead-letter/{message_id}/replay", Administer},
	{"POST", "/v1/sessions/{session_id}/effects/{effect_id}/retry", Administer},

	{"POST", "/v1/runs", Work},
	{"GET", "/v1/runs", Read},
	{"POST", "/v1/runs/claim", Work},
	{"GET", "/v1/runs/{run_id}", Read},
	{"GET", "/v1/runs/{run_id}/explain", Read},
	{"GET", "/v1/runs/{run_id}/events", Read},
	{"GET", "/v1/runs/{run_id}/outputs", Read},
	{"GET", "/v1/runs/{run_id}/stream", Read},
	{"POST", "/v1/runs/{run_id}/cancel", Cancel},
	{"POST", "/v1/runs/{run_id}/retry", Decide},
	{"POST", "/v1/runs/{run_id}/approvals", Decide},
	{"POST", "/v1/runs/{run_id}/questions", Decide},
	{"POST", "/v1/runs/{run_id}/questions/{request_id}/cancel", Cancel},
	{"POST", "/v1/runs/{run_id}/claim", Work},
	{"POST", "/v1/runs/{run_id}/heartbeat", Work},
	{"POST", "/v1/runs/{run_id}/suspend", Work},
	{"GET", "/v1/runs/{run_id}/resume", Work},
	{"POST", "/v1/runs/{run_id}/requests/{request_id}/withdraw", Work},
	{"POST", "/v1/runs/{run_id}/clarifications", Work},
	{"POST", "/v1/runs/{run_id}/events", Work},
	{"POST", "/v1/runs/{run_id}/complete", Work},
	{"POST", "/v1/runs/{run_id}/fail", Work},
	{"POST", "/v1/runs/{run_id}/release", Work},

	{"POST", "/v1/grants/redeem", Work},

	{"GET", "/v1/stream", Read},
	{"GET", "/v1/requests/{handle}", Read},
	{"GET", "/v1/requests/{handle}/explain", Read},
	{"GET", "/v1/decisions", Read},
	{"GET", "/v1/workers", Read},
	{"GET", "/v1/approvals", Read},
	{"GET", "/v1/questions", Read},
	{"GET", "/v1/effects", Read},
	{"GET", "/v1/rules", Read},
	{"POST", "/v1/rules", WriteRule},
	{"POST", "/v1/rules/explain", Read},
	{"GET", "/v1/rules/{rule_id}", Read},
	{"DELETE", "/v1/rules/{rule_id}", WriteRule},

	{"POST", "/v1/tokens", Administer},
	{"GET", "/v1/tokens", Administer},
	{"GET", "/v1/tokens/{token_id}", Administer},
	{"POST", "/v1/tokens/{token_id}/rotate", Administer},
	{"DELETE", "/v1/tokens/{token_id}", Administer},

	{"GET", "/v1/audit", Administer},
	{"GET", "/v1/audit/export", Administer},
	{"POST", "/v1/webhooks", Administer},
	{"GET", "/v1/webhooks", Administer},
	{"GET", "/v1/webhooks/{webhook_id}", Administer},
	{"POST", "/v1/webhooks/{webhook_id}", Administer},
	{"DELETE", "/v1/webhooks/{webhook_id}", Administer},
	{"POST", "/v1/webhooks/{webhook_id}/rotate", Administer},
	{"POST", "/v1/webhooks/{webhook_id}/test", Administer},
	{"POST", "/v1/webhooks/{webhook_id}/replay", Administer},

	// Its tools make calls of /v1, which are checked.
	{"POST", "/mcp", Known},

	// The documents contain nothing that is stored.
	{"GET", "/docs", Public},
	{"GET", "/docs/*", Public},

	// hermes
	{"GET", "/api/approval/pending", Read},
	{"GET", "/api/clarify/pending", Read},
	{"GET", "/api/approval/stream", Read},
	{"GET", "/api/clarify/stream", Read},
	{"POST", "/api/approval/respond", Decide},
	{"POST", "/api/clarify/respond", Decide},

	// codex
	{"GET", "/api/sessions", Read},
	{"GET", "/api/sessions/{sessionId}", Read},
	{"GET", "/api/capabilities", Read},
	{"GET", "/api/models", Read},
	{"GET", "/api/projects", Read},
	{"GET", "/api/mcp/servers", Read},
	{"GET", "/api/sessions/{sessionId}/approvals", Read},
	{"GET", "/api/sessions/{sessionId}/tool-input", Read},
	{"GET", "/api/sessions/{sessionId}/transcript", Read},
	{"POST", "/api/approvals/{approvalId}/decision", Decide},
	{"POST", "/api/tool-input/{requestId}/decision", Decide},
	{"GET", "/api/stream", Read},

	// timbal
	{"POST", "/stream", Chat},
	{"POST", "/run", Chat},
	{"GET", "/runs/{run_id}/events", Read},
	{"POST", "/cancel/{run_id}", Cancel},
	{"GET", "/healthcheck", Known},
	{"POST", "/agents/{agent_id}/stream", Chat},
	{"POST", "/agents/{agent_id}/run", Chat},
	{"GET", "/agents/{agent_id}/runs/{run_id}/events", Read},
	{"POST", "/agents/{agent_id}/cancel/{run_id}", Cancel},
	{"GET", "/agents/{agent_id}/healthcheck", Known},

	// relay
	{"GET", "/models", Read},
	{"POST", "/chat", Chat},
	{"POST", "/chat/relay/{relayId}", Decide},
}

var actions = func() map[[2]string]Action {
	table := make(map[[2]string]Action, len(Routes))
	for _, route := range Routes {
		table[[2]string{route.Method, route.Path}] = route.Action
	}
	return table
}()

// ActionOf returns the action that a route requires. A route that is not in the table gets "",
// which no role may do.
func ActionOf(method, path string) Action {
	if method == "HEAD" {
		method = "GET"
	}
	return actions[[2]string{method, path}]
}
