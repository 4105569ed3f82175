package runs

import (
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Door is where every change goes through.
type Door interface {
	// Do decides the command under its session's lock and returns after the commit.
	// It returns the command's domain errors (see the command), an error that wraps
	// ErrClosed when the store is shutting down, ErrUnavailable when the database
	// refused, or the context's error. After the latter two the command may or may
	// not have taken effect: a caller who wants to be sure repeats it with its key
	// or its id.
	Do(ctx context.Context, command Command) (Reply, error)
}

// Reader answers questions and changes nothing. Lists are ordered by bytes.
type Reader interface {
	// Run returns a run. Errors: run_not_found.
	Run(ctx context.Context, runID string) (*model.RunRecord, error)
	// ClaimedRun returns a run with its input and checkpoint. Errors: run_not_found.
	ClaimedRun(ctx context.Context, runID string) (*model.RunRecord, error)
	// Session returns a session. Errors: session_not_found.
	Session(ctx context.Context, sessionID string) (*model.SessionRecord, error)
	// SettledAfter returns the requests of a run that were settled after a number,
	// in the order of the decisions, with the run itself. Errors: run_not_found.
	SettledAfter(ctx context.Context, runID string, after int64) (*model.Run, []model.Request, error)

	Sessions(ctx context.Context, q SessionQuery) ([]model.SessionSummary, error)
	Runs(ctx context.Context, q RunQuery) ([]model.RunRecord, error)
	// PendingRequests returns the open requests of a kind in the order of
	// (session_id, run_id, request_id), each with its run's agent and kind.
	PendingRequests(ctx context.Context, q RequestQuery) ([]model.PendingRequest, error)
	// Count functions back the total_count of the list envelopes.
	CountRuns(ctx context.Context, q RunQuery) (int64, error)
	CountSessions(ctx context.Context, q SessionQuery) (int64, error)
	CountPendingRequests(ctx context.Context, q RequestQuery) (int64, error)
	CountEffects(ctx context.Context, q EffectQuery) (int64, error)

	// RequestByHandle returns a request, open or settled, by its handle. Errors:
	// request_not_found.
	RequestByHandle(ctx context.Context, handle string) (*model.PendingRequest, error)
	// SessionHead returns a session's row. Errors: session_not_found.
	SessionHead(ctx context.Context, sessionID string) (*model.Session, error)

	// Rule returns a rule, revoked or not. Errors: rule_not_found.
	Rule(ctx context.Context, ruleID string) (*rules.Record, error)
	// Rules returns rules, revoked ones too, in the order of (created_at_ms, rule_id).
	Rules(ctx context.Context, q RuleQuery) ([]rules.Record, error)
	CountRules(ctx context.Context, q RuleQuery) (int64, error)
	// RulesFor returns the rules of a session and those of all sessions that are not
	// revoked, in the order of (created_at_ms, rule_id), at most limit, and the present
	// moment by the engine's clock.
	RulesFor(ctx context.Context, sessionID string, limit int) (rules []rules.Rule, nowMs int64, err error)

	// SessionEvents returns the session's events after a sequence number, oldest
	// first, and the newest number there is. Errors: session_not_found.
	SessionEvents(ctx context.Context, sessionID string, after int64, limit int) ([]model.Event, error)
	// RunEvents is the same for one run; the numbers are the session's. Errors:
	// run_not_found.
	RunEvents(ctx context.Context, runID string, after int64, limit int) ([]model.Event, error)

	// Claimable returns runs that may be claimed now, in the order in which they
	// became claimable, of the given agents (of all when empty).
	Claimable(ctx context.Context, agentIDs []string, limit int) ([]Claimable, error)
	// Due returns runs with an open request whose deadline is past, earliest first.
	Due(ctx context.Context, limit int) ([]DueRun, error)
	// DueEffects returns effects that may be tried now, those that are due the longest
	// first, and of equals by session_id and effect_id. It costs in proportion to what
	// is owed.
	DueEffects(ctx context.Context, limit int) ([]DueEffect, error)
	// Effects returns effects in the order of (created_at_ms, effect_id).
	Effects(ctx context.Context, q EffectQuery) ([]model.Effect, error)
	// NextDueAtMs returns the earliest deadline of all open requests, 0 when none
	// has one, and the present moment by the engine's clock.
	NextDueAtMs(ctx context.Context) (dueAtMs, nowMs int64, err error)
}

// Keeper does what keeps a store in order and decides nothing.
type Keeper interface {
	// SweepIdempotency deletes up to limit records made before a moment and returns
	// how many.
	SweepIdempotency(ctx context.Context, beforeMs int64, limit int) (int, error)
	// NowMs returns the present moment by the clock that decides.
	NowMs(ctx context.Context) (int64, error)
	// Ready returns nil when the database answers and its schema is the one that
	// this program knows, else an error that says what is wrong.
	Ready(ctx context.Context) error
	// Close finishes what is in flight and closes the database. Do returns ErrClosed
	// from then on.
	Close() error
}

// Store is a whole engine.
type Store interface {
	Door
	Reader
	Keeper
	// Notices returns the notices of this process's commits and, where the engine
	// hears of them, of other replicas'.
	Subscribe(func(Notice)) (unsubscribe func())
}

// Failures of a store that are nobody's request.
var (
	// ErrClosed: the store is shutting down and took nothing.
	ErrClosed = errors.New("store is closed")
	// ErrUnavailable: the database refused or could not be reached. The command may
	// or may not have taken effect.
	ErrUnavailable = errors.New("database is unavailable")
)
