package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Door is the only way to change rows.
type Door interface {
	// Do prepares the command, decides it under its session's lock, and returns after the commit. It
	// returns the command's errors, an error that wraps ErrClosed or ErrUnavailable, or the
	// context's error. After ErrUnavailable or a context error the command may have taken effect:
	// repeat it with the same key or id to be sure.
	Do(ctx context.Context, command Command) (Reply, error)
}

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
	// SettledAfter returns the row of a run, and its requests with a settled number above
	// after, in the order of the decisions. Errors: run_not_found.
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
	// LeasedRuns returns the runs whose lease is in force, by (worker_id, run_id), at most limit, and
	// the engine's current time.
	LeasedRuns(ctx context.Context, limit int) (leased []model.Run, nowMs int64, err error)
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

// Worklist has the reads of background loops. Callers never see the results.
type Worklist interface {
	// Due returns runs with an open request past its deadline, earliest deadline first. It may return
	// fewer than limit when a run has several.
	Due(ctx context.Context, limit int) ([]DueRun, error)
	// DueEffects returns effects that may be attempted now, except webhook deliveries, in the order of
	// (due_at_ms, session_id, effect_id). Its cost depends only on the number of pending effects, not
	// on finished ones.
	DueEffects(ctx context.Context, limit int) ([]DueEffect, error)
	// DataKeys returns the data keys of runs with sensitive values after a run, in the order of run_id.
	DataKeys(ctx context.Context, after string, limit int) ([]RunKey, error)
	// Owners returns the owner of each existing run, keyed by run_id. The ids must be valid.
	Owners(ctx context.Context, runIDs []string) (map[string]Owners, error)
	// NextDueAtMs returns the earliest deadline of all open requests, 0 when none has one, and
	// the engine's current time.
	NextDueAtMs(ctx context.Context) (dueAtMs, nowMs int64, err error)
}

// Presence tells whether a worker will continue a run. Callers never see the results.
type Presence interface {
	// Holdings returns what is known of the workers of runs, keyed by run_id, of those that exist. The ids
	// must be valid.
	Holdings(ctx context.Context, runIDs []string) (map[string]Holding, error)
	// AloneMs is how long this process has known that no other one serves the database; 0 if another
	// one may.
	AloneMs() int64
}

// Gauge counts pending work.
type Gauge interface {
	// Vitals counts open requests, pending effects and other pending work, each up to limit rows.
	Vitals(ctx context.Context, limit int) (*model.Vitals, error)
}

// Disk is implemented by an engine that can measure its database's disk.
type Disk interface {
	// FreeBytes returns the number of free bytes, math.MaxInt64 if unknown.
	FreeBytes() int64
}

// Redaction names the events of a session whose bodies are removed.
type Redaction struct {
	SessionID string
	EventIDs  []int64
	// Entry returns the audit log's entry about it. It is not called if no event had a body left.
	Entry func() *journal.Entry
}

// Redactor removes bodies of events. Every engine implements it.
type Redactor interface {
	// RedactEvents removes the bodies of events of finished runs, all or none. It also removes the
	// requests, resolutions and outputs that the events report. The digests stay. It returns how many
	// of the events have no body now. That includes bodies removed before, so a repeated call has the
	// same answer. Errors: session_not_found; invalid_request for an event that the session does not
	// have; event_needed when an event's run is not finished, or its deliveries are pending; an error
	// that wraps ErrUnavailable or ErrClosed.
	RedactEvents(ctx context.Context, r *Redaction) (int, error)
}

// Rewrapper re-encrypts the data keys of callbacks. Every engine implements it.
type Rewrapper interface {
	// SealedRequests returns at most limit requests after a position, in the order of (session_id,
	// run_id, request_id), with the sealed values of those that have a callback.
	SealedRequests(ctx context.Context, after SealedRequest, limit int) ([]SealedRequest, error)
	// OwedCallbacks returns at most limit settled requests with a pending callback, in any order.
	OwedCallbacks(ctx context.Context, limit int) ([]SealedRequest, error)
	// RewrapRequest replaces a request's sealed values with re-encrypted ones. It does nothing and
	// returns false if the values have changed since they were read. Errors: one that wraps
	// ErrUnavailable or ErrClosed.
	RewrapRequest(ctx context.Context, read SealedRequest, rewrapped api.JSON) (bool, error)
}

// Keeper maintains a store. It decides nothing.
type Keeper interface {
	// SweepIdempotency deletes up to limit idempotency records older than beforeMs, and returns how
	// many it deleted. It keeps the records of names, which are deleted with their run.
	SweepIdempotency(ctx context.Context, beforeMs int64, limit int) (int, error)
	// SweepRules deletes up to limit rules that were revoked or expired before beforeMs and settled no
	// kept request, and returns how many it deleted.
	SweepRules(ctx context.Context, beforeMs int64, limit int) (int, error)
	// FinishedRuns returns runs that finished before beforeMs, after a position, in the order of
	// (finished_at_ms, run_id).
	FinishedRuns(ctx context.Context, beforeMs int64, after FinishedRun, limit int) ([]FinishedRun, error)
	// TrimSession deletes the oldest events of a session's log, at most limit, up to the first event
	// of a run that must stay. It also deletes runs without events left, with all their rows. A run
	// stays if it finished after beforeMs, and while something needs it (docs/retention.md). An empty
	// session is deleted too. TrimSession skips a session that does not exist or that is locked.
	TrimSession(ctx context.Context, sessionID string, beforeMs int64, limit int) (Trimmed, error)
	// WedgedSessions checks up to limit sessions after one, in the order of their ids. It returns those
	// whose active run is finished, with that run. next is the last checked session, "" at the end of
	// the list. Only a defect or a manual change of the database causes this, and the session is stuck.
	WedgedSessions(ctx context.Context, after string, limit int) (wedged []DueRun, next string, err error)
	// Close finishes calls in flight and closes the database. Do returns ErrClosed from then on.
	Close() error
}

// Service is a store for the handlers of calls. It checks each command against the permissions of
// the context's caller.
type Service interface {
	Door
	Instance
	// Reader returns the reads in the scope of the context's caller.
	Reader(ctx context.Context) Reader
}

// Instance is the clock, the state and the notices of an open store.
type Instance interface {
	// NowMs returns the current time of the clock that decides: the database's on Postgres,
	// the process's on SQLite.
	NowMs(ctx context.Context) (int64, error)
	// Ready returns nil when the database answers and has this program's schema. Otherwise the error
	// says what is wrong.
	Ready(ctx context.Context) error
	// Subscribe calls the function with the notice of each commit of this process, and with notices
	// of other replicas if the engine receives them. The function is called on the commit path and
	// must not block. It may be called once more while unsubscribe runs.
	Subscribe(func(Notice)) (unsubscribe func())
}

// Store is the complete interface of an engine.
type Store interface {
	Door
	Reader
	// Within returns the reads in a scope. The store itself reads everything.
	Within(scope Scope) Reader
	Instance
	Worklist
	Presence
	Keeper
	Gauge
}

// Errors of a store that are not caused by the call.
var (
	// ErrClosed says that the store is shutting down and did nothing.
	ErrClosed = errors.New("store is closed")
	// ErrUnavailable says that the database refused or could not be reached. A command may or
	// may not have taken effect.
	ErrUnavailable = errors.New("database is unavailable")
)

// cannotSeal wraps the error of a call that needs an unconfigured key. It returns a refusal and nil
// unchanged.
func cannotSeal(err error) error {
	if err == nil || refusal.CodeOf(err) != "" {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// NotReadyError says why a store cannot work. It wraps the cause.
type NotReadyError struct {
	// Detail is shown to callers: it names no path, address or user.
	Detail string
	Err    error
}

func (e *NotReadyError) Error() string {
	if e.Err == nil || strings.Contains(e.Detail, e.Err.Error()) {
		return e.Detail
	}
	return e.Detail + ": " + e.Err.Error()
}

func (e *NotReadyError) Unwrap() error { return e.Err }
