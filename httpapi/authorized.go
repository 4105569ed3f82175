package httpapi

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/calltrace"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// authorized is the store behind every API. It checks each command against the caller's permissions,
// whatever the route was (a decision may create a rule, and a call that starts a run may decide), and
// its reads have the caller's scope. Without a caller in the context it acts for the service itself.
//
// It embeds nothing, so that a method of [runs.Service] that is added is authorized here, too.
type authorized struct {
	store  runs.Store
	sealer runs.Sealer
	// checkCallback is nil when callbacks are disabled.
	checkCallback func(url string) error
	callbackRoles []api.Role // roles that may name callbacks; nil for all
	// backlog is nil without limits on pending work.
	backlog *wire.Backlog
	stored  *wire.Stored
	// hasRoom reports whether the disk has more free space than its reserve; nil if the engine does
	// not know.
	hasRoom func() bool
}

var _ runs.Service = authorized{}

// newAuthorized returns the store behind every API.
func newAuthorized(options *Options) authorized {
	held := authorized{
		store: options.Store, sealer: options.Sealer,
		stored: wire.NewStored(options.Limits.Quota, time.Now), //nolint:forbidigo // budgets refill by this process's clock
	}
	if options.Webhooks != nil {
		held.checkCallback, held.callbackRoles = options.Webhooks.CheckCallback, options.Webhooks.CallbackRoles
		if held.checkCallback == nil {
			held.checkCallback = options.Webhooks.Manager.CheckURL
		}
	}
	if options.Backlogs != nil {
		held.backlog = wire.NewBacklog(options.Limits.Quota, options.Backlogs, time.Now) //nolint:forbidigo // the age of a count is by this process's clock
	}
	if disk, known := options.Store.(upkeep.Disk); known {
		held.hasRoom = func() bool { return disk.FreeBytes() >= ReservedBytes }
	}
	return held
}

// scopeOf returns the scope of the context's caller.
func scopeOf(ctx context.Context) reads.Scope { return reads.ScopeOf(auth.From(ctx)) }

// Reader implements [runs.Service].
func (s authorized) Reader(ctx context.Context) reads.Reader { return s.store.Within(scopeOf(ctx)) }

// NowMs implements [runs.Service].
func (s authorized) NowMs(ctx context.Context) (int64, error) { return s.store.NowMs(ctx) }

// Ready implements [runs.Service].
func (s authorized) Ready(ctx context.Context) error { return s.store.Ready(ctx) }

// Subscribe implements [runs.Service]. A notice names sessions and runs of all scopes: subscribers
// show only what they then read with Reader.
func (s authorized) Subscribe(notify func(reads.Notice)) (unsubscribe func()) {
	return s.store.Subscribe(notify)
}

// Do implements [runs.Door]. A decision, cancellation, rule or repair re-checks the token, and a
// browser's sign-in, within its transaction. A worker's token was read within the last half second. Errors: forbidden,
// invalid_token, the not-found errors for anything outside of the caller's scope, and errors of the
// store.
func (s authorized) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	caller := auth.From(ctx)
	call := &runs.Call{
		Command: command, Caller: caller, Sealer: s.sealer, Traceparent: calltrace.Of(ctx).Traceparent,
		CheckCallback: s.callbackCheckFor(caller), CallbackOwner: ownerOf(caller),
	}
	spec := command.Spec()
	if err := call.Permitted(&spec); err != nil {
		return runs.Reply{}, err
	}
	// Questions of a new session are asked in its parent, so the caller must reach that, too.
	if parent := spec.ParentSessionID; refusal.ValidID(parent) {
		if err := s.reaches(ctx, parent); err != nil {
			return runs.Reply{}, err
		}
	}
	return s.carryOut(ctx, call, &spec)
}

// callbackCheckFor returns the check for callback URLs of a caller; nil when callbacks are
// disabled.
func (s authorized) callbackCheckFor(caller *auth.Identity) func(url string) error {
	if s.checkCallback == nil || s.callbackRoles == nil || caller == nil || slices.Contains(s.callbackRoles, caller.Role) {
		return s.checkCallback
	}
	return func(string) error {
		return fmt.Errorf("must not be given by the role %s: --callback-roles does not name it", caller.Role)
	}
}

// ownerOf returns the principal that a callback's slots are counted under; "" when no credential is
// required.
func ownerOf(caller *auth.Identity) string {
	if caller == nil || caller.Via == auth.ViaOpen {
		return ""
	}
	return caller.Principal
}

// carryOut carries out a call unless the caller may not store that much more. The reserve of the disk is for
// decisions, cancellations and ends. A call that repeats an earlier one stores nothing, so it always gets its
// recorded reply. Errors: storage_reserved, too_many_stored_bytes, too_many_prompts,
// too_many_queued_runs.
func (s authorized) carryOut(ctx context.Context, call *runs.Call, spec *runs.Spec) (runs.Reply, error) {
	bytes := spec.Size().Stored()
	if bytes > 0 && !spec.Settles && s.hasRoom != nil && !s.hasRoom() {
		call.OnlyRepeat = refusal.New(wire.CodeStorageReserved, "the disk of the database is nearly full: the rest is reserved for decisions, cancellations and ends")
		return s.store.Do(ctx, call)
	}
	principal, open := sharesOf(call.Caller)
	giveBack, err := s.stored.Take(principal, open, bytes, spec.Settles)
	if err != nil {
		call.OnlyRepeat = err
		return s.store.Do(ctx, call)
	}
	reply, sent, err := s.addOpen(ctx, call, spec.Adds)
	if !sent || err == nil && (reply.Existing || reply.Replayed) || refusal.CodeOf(err) != "" {
		giveBack()
	}
	return reply, err
}

// sharesOf returns whose quotas a call counts to. Callers without credentials, and the service itself, share.
func sharesOf(caller *auth.Identity) (principal string, open bool) {
	if caller == nil {
		return "", true
	}
	return caller.Principal, caller.Via == auth.ViaOpen
}

// addOpen carries out a call unless the caller has too many open prompts or queued runs. sent says that the
// call reached the store. Errors: too_many_prompts, too_many_queued_runs.
func (s authorized) addOpen(ctx context.Context, call *runs.Call, adds runs.Adds) (reply runs.Reply, sent bool, err error) {
	if s.backlog == nil || adds == (runs.Adds{}) {
		reply, err = s.store.Do(ctx, call)
		return reply, true, err
	}
	principal, open := sharesOf(call.Caller)
	done, err := s.backlog.Take(ctx, principal, open, wire.Waiting{Prompts: adds.Prompts, Queued: adds.Queued})
	if err != nil {
		return runs.Reply{}, false, err
	}
	taken := wire.TakenUnknown
	defer func() { done(taken) }()
	reply, err = s.store.Do(ctx, call)
	switch {
	case err == nil && (reply.Existing || reply.Replayed), refusal.CodeOf(err) != "":
		taken = wire.TakenNothing
	case err == nil:
		taken = wire.TakenAll
	}
	return reply, true, err
}

// reaches returns session_not_found unless the session is in the caller's scope.
func (s authorized) reaches(ctx context.Context, sessionID string) error {
	if scope := scopeOf(ctx); !scope.Bounded() {
		return nil
	}
	_, err := s.Reader(ctx).SessionHead(ctx, sessionID)
	return err
}
