package reads

import (
	"context"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Reader has only read methods, and shows only the rows in its scope (see [Store.Within]): for it, the
// others do not exist. Each may also return an error that wraps ErrUnavailable or
// ErrClosed, and the context's error. Texts are sorted by their bytes. A list of an unknown
// session is empty.
type Reader interface {
	// Run returns a run with the requests of its view, without input and checkpoint. Errors:
	// run_not_found.
	Run(ctx context.Context, runID string) (*model.RunRecord, error)
	// ClaimedRun returns a run with its input and checkpoint, as a claim needs it. Errors:
	// run_not_found.
	ClaimedRun(ctx context.Context, runID string) (*model.RunRecord, error)
	// Session returns a session with the rows that its view needs. Errors: session_not_found.
	Session(ctx context.Context, sessionID string) (*model.SessionRecord, error)
	// Named returns the record of a caller-chosen id for a run or a part of one. Errors:
	// run_not_found.
	Named(ctx context.Context, name string) (*model.IdempotencyRecord, error)
	// SettledAfter returns the row of a run, and the first of its requests with a settled number above after, in
	// the order of the decisions: at most api.MaxUnpaged and api.MaxReplyBytes, but at least one. There are more
	// if the last one's number is not the run's SettledCount. Errors: run_not_found.
	SettledAfter(ctx context.Context, runID string, after int64) (*model.Run, []model.Request, error)

	// The lists of sessions, runs, requests, effects and rules have the order and the limit
	// that their queries name.
	Sessions(ctx context.Context, q SessionQuery) ([]model.SessionSummary, error)
	Runs(ctx context.Context, q RunQuery) ([]model.RunRecord, error)
	// PendingRequests returns open requests, each with the agent and kind of its run.
	PendingRequests(ctx context.Context, q RequestQuery) ([]model.PendingRequest, error)
	// Decisions returns settled approvals and questions. It omits the child's side of clarifications;
	// the question in the parent's session is included.
	Decisions(ctx context.Context, q DecisionQuery) ([]model.DecidedRequest, error)
	CountDecisions(ctx context.Context, q DecisionQuery) (int64, error)
	// LeasedRuns returns the runs whose lease is in force, those of kind [api.KindCall] last, by (worker_id, run_id), and the
	// engine's current time.
	LeasedRuns(ctx context.Context, q LeaseQuery) (leased []model.Run, nowMs int64, err error)
	// The counts cover all rows that a query selects, ignoring its Limit and After.
	CountRuns(ctx context.Context, q RunQuery) (int64, error)
	CountSessions(ctx context.Context, q SessionQuery) (int64, error)
	CountPendingRequests(ctx context.Context, q RequestQuery) (int64, error)
	CountEffects(ctx context.Context, q EffectQuery) (int64, error)

	// RequestByHandle returns a request by its handle, even a settled one. Errors:
	// request_not_found.
	RequestByHandle(ctx context.Context, handle string) (*model.PendingRequest, error)
	// DecisionByHandle is RequestByHandle with the status of the run, for an approval or a
	// question.
	DecisionByHandle(ctx context.Context, handle string) (*model.DecidedRequest, error)
	// SessionHead returns only the row of a session. Errors: session_not_found.
	SessionHead(ctx context.Context, sessionID string) (*model.Session, error)

	// SessionNames returns what lists show of sessions, keyed by session_id, of those that exist. The
	// ids must be valid.
	SessionNames(ctx context.Context, sessionIDs []string) (map[string]model.SessionName, error)

	// Rule returns a rule, even a revoked one. A bounded scope has no rules for all sessions. Errors:
	// rule_not_found.
	Rule(ctx context.Context, ruleID string) (*rules.Record, error)
	// Rules returns rules, including revoked ones.
	Rules(ctx context.Context, q RuleQuery) ([]rules.Record, error)
	CountRules(ctx context.Context, q RuleQuery) (int64, error)
	// RulesFor returns the unrevoked rules for a session and for all sessions, in the order of
	// (created_at_ms, rule_id), at most limit and within a budget, and the engine's current time.
	// Expired rules are included. The rules for all sessions apply to a session in the scope, so they
	// are returned with it; for a session outside of the scope there are none.
	RulesFor(ctx context.Context, sessionID string, limit int, budget *Budget) (rules []rules.Rule, nowMs int64, err error)

	// EventsWithin returns the events that a query selects, oldest first, and whether there are more.
	// Errors: session_not_found, run_not_found, and event_cursor_reset when the query continues after
	// an event and some of the requested events are no longer kept.
	EventsWithin(ctx context.Context, q EventQuery) (events []model.Event, more bool, err error)

	// Claimable returns the runs that a query selects.
	Claimable(ctx context.Context, q ClaimableQuery) ([]Claimable, error)
	// Effects returns effects of every state.
	Effects(ctx context.Context, q EffectQuery) ([]model.Effect, error)
}
