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

// Door is the one way to change rows.
type Door interface {
	// Do prepares and decides the command under its session's lock, and returns after the
	// commit. It returns the errors of the command, an error that wraps ErrClosed or
	// ErrUnavailable, or the context's error. After the latter two the command may have taken
	// effect: repeat it with the same key or id to be sure.
	Do(ctx context.Context, command Command) (Reply, error)
}

// Reader reads and changes nothing. Each method may also return an error that wraps
// ErrUnavailable or ErrClosed, and the context's error. Texts are sorted by their bytes. A list
// of an unknown session is empty.
type Reader interface {
	// Run returns a run with the requests of its view, without input and checkpoint. Errors:
	// run_not_found.
	Run(ctx context.Context, runID string) (*model.RunRecord, error)
	// ClaimedRun returns a run with its input and checkpoint, as a claim needs it. Errors:
	// run_not_found.
	ClaimedRun(ctx context.Context, runID string) (*model.RunRecord, error)
	// Session returns a session with what its view needs. Errors: session_not_found.
	Session(ctx context.Context, sessionID string) (*model.SessionRecord, error)
	// Named returns the record of an id that a caller has chosen for a run or a part of one. Errors:
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
	// Decisions returns settled approvals and questions. What a run asks of its parent's session
	// is not among them: the question there is.
	Decisions(ctx context.Context, q DecisionQuery) ([]model.DecidedRequest, error)
	CountDecisions(ctx context.Context, q DecisionQuery) (int64, error)
	// LeasedRuns returns the runs within a scope whose lease is in force, by (worker_id, run_id),
	// at most limit, and the engine's present moment.
	LeasedRuns(ctx context.Context, scope Scope, limit int) (leased []model.Run, nowMs int64, err error)
	// The counts are those of all rows that a query selects, whatever its Limit and After.
	CountRuns(ctx context.Context, q RunQuery) (int64, error)
	CountSessions(ctx context.Context, q SessionQuery) (int64, error)
	CountPendingRequests(ctx context.Context, q RequestQuery) (int64, error)
	CountEffects(ctx context.Context, q EffectQuery) (int64, error)

	// RequestByHandle returns a request by its handle, also a settled one. Errors:
	// request_not_found.
	RequestByHandle(ctx context.Context, handle string) (*model.PendingRequest, error)
	// DecisionByHandle is RequestByHandle with the status of the run, for an approval or a
	// question.
	DecisionByHandle(ctx context.Context, handle string) (*model.DecidedRequest, error)
	// Owners returns whose those of the runs are that are there, by run_id. The ids are valid.
	Owners(ctx context.Context, runIDs []string) (map[string]Owners, error)
	// SessionHead returns only the row of a session. Errors: session_not_found.
	SessionHead(ctx context.Context, sessionID string) (*model.Session, error)

	// Rule returns a rule, also a revoked one. Errors: rule_not_found.
	Rule(ctx context.Context, ruleID string) (*rules.Record, error)
	// Rules returns rules, also revoked ones.
	Rules(ctx context.Context, q RuleQuery) ([]rules.Record, error)
	CountRules(ctx context.Context, q RuleQuery) (int64, error)
	// RulesFor returns the rules of a session and of all sessions that are not revoked, in the
	// order of (created_at_ms, rule_id), at most limit and within a budget, and the engine's
	// present moment. Expired ones are among them.
	RulesFor(ctx context.Context, sessionID string, limit int, budget *Budget) (rules []rules.Rule, nowMs int64, err error)

	// EventsWithin returns the events that a query selects, oldest first, and whether there
	// are more. Errors: session_not_found, run_not_found, and event_cursor_reset when the query
	// goes on after an event and some of the wanted ones are not kept any more.
	EventsWithin(ctx context.Context, q EventQuery) (events []model.Event, more bool, err error)

	// Claimable returns the runs that a query selects.
	Claimable(ctx context.Context, q ClaimableQuery) ([]Claimable, error)
	// Effects returns effects of every state.
	Effects(ctx context.Context, q EffectQuery) ([]model.Effect, error)
}

// Worklist is what background loops read. No caller sees any of it.
type Worklist interface {
	// Due returns runs with an open request past its deadline, earliest deadline first. It may
	// return fewer than limit when a run has several.
	Due(ctx context.Context, limit int) ([]DueRun, error)
	// DueEffects returns effects that may be attempted now, but for those of webhooks, in the order
	// of (due_at_ms, session_id, effect_id). Its cost depends on the pending effects only, not on those that
	// are done.
	DueEffects(ctx context.Context, limit int) ([]DueEffect, error)
	// DataKeys returns the data keys of runs that have sensitive values, in the order of run_id, after
	// a run.
	DataKeys(ctx context.Context, after string, limit int) ([]RunKey, error)
	// NextDueAtMs returns the earliest deadline of all open requests, 0 when none has one, and
	// the engine's present moment.
	NextDueAtMs(ctx context.Context) (dueAtMs, nowMs int64, err error)
}

// Gauge says how much waits.
type Gauge interface {
	// Vitals counts what waits and what is owed, each by at most limit rows.
	Vitals(ctx context.Context, limit int) (*model.Vitals, error)
}

// Disk is implemented by an engine that knows the disk of its database.
type Disk interface {
	// FreeBytes returns how many bytes are free, math.MaxInt64 if that is not known.
	FreeBytes() int64
}

// Redaction is what is taken out of a session's log.
type Redaction struct {
	SessionID string
	EventIDs  []int64
	// Entry returns the line of the audit's own log about it, which is not asked for when no event had a body any more.
	Entry func() *journal.Entry
}

// Redactor takes out bodies of events. Every engine implements it.
type Redactor interface {
	// RedactEvents takes out the bodies of events of runs that are over, with the requests,
	// resolutions and outputs that they tell of, all or none, and returns how many events have none
	// now: what was taken out before counts too, so that a repeated call has the same answer. The digests stay. Errors: session_not_found; invalid_request for an event that the session
	// does not have; event_needed when the run of one is not over, or something of it is owed to others;
	// an error that wraps ErrUnavailable or ErrClosed.
	RedactEvents(ctx context.Context, r *Redaction) (int, error)
}

// Rewrapper changes what the data keys of callbacks are encrypted with. Every engine implements it.
type Rewrapper interface {
	// SealedRequests returns at most limit requests in the order of (session_id, run_id, request_id)
	// after a position, with what is sealed of those that have a callback.
	SealedRequests(ctx context.Context, after SealedRequest, limit int) ([]SealedRequest, error)
	// OwedCallbacks returns at most limit settled requests, in any order, that are still to be posted to
	// their callback.
	OwedCallbacks(ctx context.Context, limit int) ([]SealedRequest, error)
	// RewrapRequest replaces what is sealed of a request by the same values, encrypted otherwise. It does
	// nothing and returns false when they are not those that were read any more. Errors: one that wraps
	// ErrUnavailable or ErrClosed.
	RewrapRequest(ctx context.Context, read SealedRequest, rewrapped api.JSON) (bool, error)
}

// Keeper maintains a store. It decides nothing.
type Keeper interface {
	// SweepIdempotency deletes up to limit idempotency records that are older than a moment, but
	// for those of names, which go with their run, and returns how many it deleted.
	SweepIdempotency(ctx context.Context, beforeMs int64, limit int) (int, error)
	// SweepRules deletes up to limit rules that were revoked or expired before a moment and
	// settled no request that is kept, and returns how many it deleted.
	SweepRules(ctx context.Context, beforeMs int64, limit int) (int, error)
	// FinishedRuns returns runs that were over before a moment, in the order of
	// (finished_at_ms, run_id), after a position.
	FinishedRuns(ctx context.Context, beforeMs int64, after FinishedRun, limit int) ([]FinishedRun, error)
	// TrimSession deletes the oldest events of a session's log, at most limit, up to the first
	// one of a run that must stay, and the runs of which none is left with all that they have.
	// A run stays until it has been over since before the moment, and while something needs it
	// (docs/retention.md). A session of which nothing is left goes too. Nothing happens to a
	// session that does not exist or that somebody else has locked.
	TrimSession(ctx context.Context, sessionID string, beforeMs int64, limit int) (Trimmed, error)
	// WedgedSessions looks at up to limit sessions behind one, in the order of their ids, and returns those
	// whose active run is over, with that run. next is the last session that it looked at, "" behind the
	// last of all. Only a fault or a person with the database leaves one: nothing in it would go on.
	WedgedSessions(ctx context.Context, after string, limit int) (wedged []DueRun, next string, err error)
	// Close finishes what is in flight and closes the database. Do returns ErrClosed from then
	// on.
	Close() error
}

// Service is what handlers of calls work with.
type Service interface {
	Door
	Reader
	// NowMs returns the present moment of the clock that decides: the database's on Postgres,
	// the process's on SQLite.
	NowMs(ctx context.Context) (int64, error)
	// Ready returns nil when the database answers and has the schema of this program, else an
	// error that says what is wrong.
	Ready(ctx context.Context) error
	// Subscribe calls the function with the notice of each commit of this process, and with
	// notices of other replicas where the engine receives them. The function is called on the
	// commit path and must not block. It may be called once more while unsubscribe runs.
	Subscribe(func(Notice)) (unsubscribe func())
}

// Store is everything that an engine does.
type Store interface {
	Service
	Worklist
	Keeper
	Gauge
}

// Errors of a store that no call is at fault for.
var (
	// ErrClosed says that the store is shutting down and did nothing.
	ErrClosed = errors.New("store is closed")
	// ErrUnavailable says that the database refused or could not be reached. A command may or
	// may not have taken effect.
	ErrUnavailable = errors.New("database is unavailable")
)

// cannotSeal returns the error of a call that meets a key which the service does not have. A refusal
// and nil stay what they are.
func cannotSeal(err error) error {
	if err == nil || refusal.CodeOf(err) != "" {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// NotReadyError is why a store cannot do its work. It wraps what went wrong.
type NotReadyError struct {
	// Detail is shown to whoever asks: it names no path, address or user.
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
