package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
)

// PageParams select one page of a list.
type PageParams struct {
	// Limit is 1 to 100; the service's default if 0.
	Limit int
	// Cursor is the NextCursor of the previous page; empty for the first page.
	Cursor string
}

func (p PageParams) page() PageParams { return p }

// addTo sets the parameters that are not empty.
func (p PageParams) addTo(query url.Values) {
	if p.Limit != 0 {
		query.Set("limit", strconv.Itoa(p.Limit))
	}
	set(query, "cursor", p.Cursor)
}

// Page is one page of a list.
type Page[T any] = api.Page[T]

// listParams are the filters of a list.
type listParams interface {
	// list returns the list's path and filters. Empty filters match everything.
	list() (path, map[string]string)
	page() PageParams
}

// listPage reads one page.
func listPage[T any](ctx context.Context, c *Client, params listParams, page PageParams) (*Page[T], error) {
	from, filters := params.list()
	query := url.Values{"page": {"true"}}
	for name, value := range filters {
		set(query, name, value)
	}
	page.addTo(query)
	return get[Page[T]](ctx, c, from, query, "items", "pagination")
}

// walk yields the rows of all pages. Pages have the maximum size by default. It ends after the
// first error.
func walk[T any](ctx context.Context, c *Client, params listParams) iter.Seq2[T, error] {
	page := params.page()
	if page.Limit == 0 {
		page.Limit = api.MaxPageLimit
	}
	return func(yield func(T, error) bool) {
		at := page
		for {
			result, err := listPage[T](ctx, c, params, at)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range result.Items {
				if !yield(item, nil) {
					return
				}
			}
			next := result.Pagination.NextCursor
			if !result.Pagination.HasMore || next == nil || *next == at.Cursor {
				return
			}
			at.Cursor = *next
		}
	}
}

// set sets a parameter unless it is empty.
func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// RunListParams filter runs. Empty members match everything.
type RunListParams struct {
	SessionID string
	AgentID   string
	Status    api.Status
	Kind      api.RunKind
	// PriorityActive lists unfinished runs before the others.
	PriorityActive bool
	PageParams
}

func (p RunListParams) list() (path, map[string]string) {
	filters := map[string]string{
		"session_id": p.SessionID, "agent_id": p.AgentID, "status": string(p.Status), "kind": string(p.Kind),
	}
	if p.PriorityActive {
		filters["priority_active"] = "true"
	}
	return at("/v1/runs"), filters
}

// ListRuns returns one page of runs, oldest first.
func (c *Client) ListRuns(ctx context.Context, params RunListParams) (*Page[api.RunView], error) {
	return listPage[api.RunView](ctx, c, params, params.PageParams)
}

// AllRuns walks all pages of [Client.ListRuns]. It ends after the first error.
func (c *Client) AllRuns(ctx context.Context, params RunListParams) iter.Seq2[api.RunView, error] {
	return walk[api.RunView](ctx, c, params)
}

// SessionListParams filter sessions. Empty members match everything.
type SessionListParams struct {
	Status  api.Status
	AgentID string
	PageParams
}

func (p SessionListParams) list() (path, map[string]string) {
	return at("/v1/sessions"), map[string]string{"status": string(p.Status), "agent_id": p.AgentID}
}

// ListSessions returns one page of sessions, sorted by id.
func (c *Client) ListSessions(ctx context.Context, params SessionListParams) (*Page[api.SessionSummaryView], error) {
	return listPage[api.SessionSummaryView](ctx, c, params, params.PageParams)
}

// AllSessions walks all pages of [Client.ListSessions]. It ends after the first error.
func (c *Client) AllSessions(ctx context.Context, params SessionListParams) iter.Seq2[api.SessionSummaryView, error] {
	return walk[api.SessionSummaryView](ctx, c, params)
}

// PendingListParams filter open requests.
type PendingListParams struct {
	// SessionID selects one session; all if empty. An unknown session has no requests.
	SessionID string
	// Below includes the requests of the sessions below SessionID: its children, their children,
	// and so on.
	Below bool
	PageParams
}

// pendingList is the list of open approvals or open questions.
type pendingList struct {
	PendingListParams
	noun string
}

func (p pendingList) list() (path, map[string]string) {
	switch {
	case p.SessionID == "":
		return at("/v1", p.noun), nil
	case p.Below:
		return at("/v1", p.noun), map[string]string{"session_id": p.SessionID}
	}
	return at("/v1/sessions", p.SessionID, p.noun), nil
}

// ListApprovals returns one page of open approvals, sorted by session, run and request id.
func (c *Client) ListApprovals(ctx context.Context, params PendingListParams) (*Page[api.PendingApprovalView], error) {
	return listPage[api.PendingApprovalView](ctx, c, pendingList{params, "approvals"}, params.PageParams)
}

// AllApprovals walks all pages of [Client.ListApprovals]. It ends after the first error.
func (c *Client) AllApprovals(ctx context.Context, params PendingListParams) iter.Seq2[api.PendingApprovalView, error] {
	return walk[api.PendingApprovalView](ctx, c, pendingList{params, "approvals"})
}

// ListQuestions returns one page of open questions, sorted by session, run and request id.
func (c *Client) ListQuestions(ctx context.Context, params PendingListParams) (*Page[api.PendingQuestionView], error) {
	return listPage[api.PendingQuestionView](ctx, c, pendingList{params, "questions"}, params.PageParams)
}

// AllQuestions walks all pages of [Client.ListQuestions]. It ends after the first error.
func (c *Client) AllQuestions(ctx context.Context, params PendingListParams) iter.Seq2[api.PendingQuestionView, error] {
	return walk[api.PendingQuestionView](ctx, c, pendingList{params, "questions"})
}

// RuleListParams filter rules.
type RuleListParams struct {
	// SessionID selects the rules of one session; all if empty.
	SessionID string
	PageParams
}

func (p RuleListParams) list() (path, map[string]string) {
	return at("/v1/rules"), map[string]string{"session_id": p.SessionID}
}

// ListRules returns one page of rules, oldest first, including revoked and expired ones.
func (c *Client) ListRules(ctx context.Context, params RuleListParams) (*Page[api.RuleView], error) {
	return listPage[api.RuleView](ctx, c, params, params.PageParams)
}

// AllRules walks all pages of [Client.ListRules]. It ends after the first error.
func (c *Client) AllRules(ctx context.Context, params RuleListParams) iter.Seq2[api.RuleView, error] {
	return walk[api.RuleView](ctx, c, params)
}

// EffectListParams filter effects. Empty members match everything.
type EffectListParams struct {
	State api.EffectState
	// SessionID is the session of the decision that caused the effect.
	SessionID string
	// WebhookID selects the deliveries to one webhook.
	WebhookID string
	PageParams
}

func (p EffectListParams) list() (path, map[string]string) {
	return at("/v1/effects"), map[string]string{"state": string(p.State), "session_id": p.SessionID, "webhook_id": p.WebhookID}
}

// ListEffects returns one page of effects, oldest first.
func (c *Client) ListEffects(ctx context.Context, params EffectListParams) (*Page[api.EffectView], error) {
	return listPage[api.EffectView](ctx, c, params, params.PageParams)
}

// AllEffects walks all pages of [Client.ListEffects]. It ends after the first error.
func (c *Client) AllEffects(ctx context.Context, params EffectListParams) iter.Seq2[api.EffectView, error] {
	return walk[api.EffectView](ctx, c, params)
}

// DecisionListParams filter decisions. Empty members match everything.
type DecisionListParams struct {
	SessionID string
	AgentID   string
	// Actor is the name of the person who decided.
	Actor   string
	Outcome api.Outcome
	// SinceMs omits earlier decisions.
	SinceMs int64
	// Summary truncates the inputs of approvals to 4 KiB.
	Summary bool
	PageParams
}

func (p DecisionListParams) list() (path, map[string]string) {
	filters := map[string]string{
		"session_id": p.SessionID, "agent_id": p.AgentID, "actor": p.Actor, "outcome": string(p.Outcome),
	}
	if p.SinceMs > 0 {
		filters["since_ms"] = strconv.FormatInt(p.SinceMs, 10)
	}
	if p.Summary {
		filters["fields"] = "summary"
	}
	return at("/v1/decisions"), filters
}

// ListDecisions returns one page of settled requests, newest first.
func (c *Client) ListDecisions(ctx context.Context, params DecisionListParams) (*Page[api.RequestView], error) {
	return listPage[api.RequestView](ctx, c, params, params.PageParams)
}

// AllDecisions walks all pages of [Client.ListDecisions]. It ends after the first error.
func (c *Client) AllDecisions(ctx context.Context, params DecisionListParams) iter.Seq2[api.RequestView, error] {
	return walk[api.RequestView](ctx, c, params)
}

// GetRequest returns an approval or a question by its handle, open or settled. Errors:
// [ErrNotFound].
func (c *Client) GetRequest(ctx context.Context, handle string) (*api.RequestView, error) {
	return get[api.RequestView](ctx, c, at("/v1/requests", handle), nil, "run_id", "request")
}

// GetRequestContext is [Client.GetRequest] with the newest settled requests of the session, at most
// [api.MaxContextCalls], in Context.
func (c *Client) GetRequestContext(ctx context.Context, handle string, calls int) (*api.RequestView, error) {
	return get[api.RequestView](ctx, c, at("/v1/requests", handle), url.Values{"context": {strconv.Itoa(calls)}}, "run_id", "request")
}

// AcknowledgeRequest says whether the caller is looking at an open request, and returns the request.
// It decides nothing. Errors: [ErrNotFound]; [ErrAlreadyDecided]; [ErrInvalid].
func (c *Client) AcknowledgeRequest(ctx context.Context, handle string, body api.AcknowledgementBody) (*api.RequestView, error) {
	return document[api.RequestView](ctx, c, call{
		method: http.MethodPut, path: at("/v1/requests", handle, "acknowledgement"), body: body, repeat: always, needs: []string{"run_id", "request"},
	})
}

// ExplainRequest explains why an approval or a question is open, and who may decide it. Errors:
// [ErrNotFound].
func (c *Client) ExplainRequest(ctx context.Context, handle string) (*api.RequestExplanation, error) {
	return get[api.RequestExplanation](ctx, c, at("/v1/requests", handle, "explain"), nil, "handle", "state", "text")
}

// ExplainRun explains why a run waits. Errors: [ErrNotFound].
func (c *Client) ExplainRun(ctx context.Context, runID string) (*api.RunExplanation, error) {
	return get[api.RunExplanation](ctx, c, at("/v1/runs", runID, "explain"), nil, "run_id", "state", "text")
}

// ListWorkers returns the active leases by worker.
func (c *Client) ListWorkers(ctx context.Context) (*api.WorkersView, error) {
	return get[api.WorkersView](ctx, c, at("/v1/workers"), nil, "workers")
}
