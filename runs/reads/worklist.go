package reads

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

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
	// Owners returns the owners of each existing run, keyed by run_id. The ids must be valid.
	Owners(ctx context.Context, runIDs []string) (map[string]Owners, error)
	// Requesters returns the requesters of each existing session, keyed by session_id. The ids must be valid.
	Requesters(ctx context.Context, sessionIDs []string) (map[string]Requesters, error)
	// NextDueAtMs returns the earliest deadline of all open requests, 0 when none has one, and
	// the engine's current time.
	NextDueAtMs(ctx context.Context) (dueAtMs, nowMs int64, err error)
}

// Presence tells whether a worker will continue a run. Callers never see the results.
type Presence interface {
	// Holdings returns what is known of the workers of runs, keyed by run_id, of those that exist. The ids
	// must be valid.
	Holdings(ctx context.Context, runIDs []string) (map[string]Holding, error)
	// Watched returns, by handle, the open requests that the service withdraws once their worker is gone.
	Watched(ctx context.Context, handles []string) (map[string]Watched, error)
	// KnownMs is how long this process has known of the claims of all workers of the database; 0 if it
	// may not know of some.
	KnownMs() int64
	// OthersServe reports whether another process may serve the database.
	OthersServe() bool
}

// Messages tells what became of the messages about open requests. The results are not restricted to a scope.
type Messages interface {
	// PersonMessages returns the messages of channels about requests, in no order. The handles must be
	// valid. whole is false if a channel has more than limit, and some are missing.
	PersonMessages(ctx context.Context, channels, handles []string, limit int) (messages []PersonMessage, whole bool, err error)
}

// PersonMessage is a message to a person about a request, without its payload.
type PersonMessage struct {
	Handle, Channel string
	model.NoticePlace
	State api.EffectState
	// Attempts is 0 if the effect ended without a message of its own.
	Attempts int64
	// AtInbox says that it waits while the person is looking at their inbox.
	AtInbox bool
}

// Asked names the agents whose runs workers asked a process for.
type Asked struct {
	// Any says that it may have been every agent: too many to name.
	Any    bool
	Agents []AskedAgent
}

// AskedAgent is one agent of [Asked]. Its JSON form is what replicas tell each other.
type AskedAgent struct {
	AgentID string `json:"a"` // "" stands for all agents
	// Named says that a claim named the agent, ByRun that one of its runs was claimed by its id.
	Named bool `json:"n,omitzero"`
	ByRun bool `json:"r,omitzero"`
}

// Asks is what a process knows of the claims of workers, its own and those of other replicas.
type Asks interface {
	// AskedSince returns what workers asked this process for since a moment of its own clock, and that clock's time.
	AskedSince(ms int64) (asked Asked, nowMs int64)
	// HearAsked adds what workers asked another replica for until now.
	HearAsked(asked Asked)
}

// Gauge counts pending work.
type Gauge interface {
	// Vitals counts open requests, pending effects and other pending work, each up to limit rows.
	Vitals(ctx context.Context, limit int) (*model.Vitals, error)
}

// Owners are the principals that created a run and that claimed it last, its session, and the run above it, "" for none.
type Owners struct {
	Principal, HolderPrincipal, SessionID, ParentRunID string
}

// Requesters are the requesters of a session, as its row has them, and the session above it, "" for none.
type Requesters struct {
	Names, ParentSessionID string
}

// Holding is what a run's row says of its worker.
type Holding struct {
	// Attached says that the newest holder keeps its lease while the run waits.
	Attached bool
	// Claims counts the claims. InOneStep says that the run was created and claimed at once.
	Claims    int64
	InOneStep bool
}

// Watched is an open request that is withdrawn once its worker is gone.
type Watched struct {
	// LeaseExpiresAtMs is the run's; 0 without a lease.
	LeaseExpiresAtMs int64
	// Payload is the payload of the effect that withdraws it.
	Payload api.JSON
}

// Claimable names a claimable run.
type Claimable struct {
	RunID         string
	SessionID     string
	AgentID       string
	ClaimableAtMs int64
	// Principal and HolderPrincipal are copied from the run. A Reader leaves them empty.
	Principal, HolderPrincipal string
}

// DueRun names a run with a request past its deadline.
type DueRun struct {
	RunID     string
	SessionID string
}

// DueEffect names an effect that may be attempted now.
type DueEffect struct {
	SessionID string
	EffectID  string
}

// RunKey is the data key of a run that has sensitive values.
type RunKey struct {
	RunID, SessionID string
	DataKey          string // encrypted
}
