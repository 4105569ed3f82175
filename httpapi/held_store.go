package httpapi

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// heldStore is the store that every face works with. It holds each command to what its caller may
// do, whatever the route was (a decision may write a rule, and a call that starts a run may
// decide), and each read to what its caller reaches: see held_reads.go. What has no caller is the
// service's own.
//
// It embeds nothing, so that a method of [runs.Store] that is added must be held here, too.
type heldStore struct {
	store  runs.Store
	sealer runs.Sealer
	// checkCallback is nil where callbacks are not posted.
	checkCallback func(url string) error
	callbackRoles []api.Role // that may name callbacks; nil for all
	// backlog is nil where nothing bounds what waits.
	backlog *wire.Backlog
	stored  *wire.Stored
	// hasRoom reports whether the disk has more than its reserve; nil if the engine does not know.
	hasRoom func() bool
}

var _ runs.Store = heldStore{}

// atTheDoor are the actions for which it is enough that the token worked when the call came in.
var atTheDoor = []auth.Action{auth.Known, auth.Read, auth.Work, auth.Chat}

// Do implements [runs.Door]. What settles, cancels, writes a rule or repairs is decided only if the
// token works at that moment; that of a worker's call was read within half a second. Errors: forbidden,
// invalid_token, those of what does not exist for what is outside of the caller's scope, and those of
// the store.
func (s heldStore) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	runs.UseSealer(command, s.sealer)
	if trace := runs.TraceOf(ctx); trace.Traceparent != "" {
		runs.UseTrace(command, trace.Traceparent)
	}
	caller := auth.From(ctx)
	runs.UseCallbacks(command, s.callbackCheckFor(caller), ownerOf(caller))
	if caller == nil {
		return s.add(ctx, "", true, command, command)
	}
	if caller.Via == auth.ViaOpen && runs.ExcludesRequester(command) {
		return runs.Reply{}, refusal.New(api.CodeRequesterExclusionNeedsAuth, "an approval with exclude_requester takes a service that asks for credentials")
	}
	again := false
	for _, action := range runs.Demands(command) {
		if err := caller.Check(action); err != nil {
			return runs.Reply{}, err
		}
		again = again || !slices.Contains(atTheDoor, action)
	}
	switch c := command.(type) {
	case *runs.CreateRun:
		c.Principal, c.SessionPrefix = caller.Principal, runs.SessionPrefixFor(caller)
	case *runs.CreateSession:
		c.Principal, c.SessionPrefix = caller.Principal, runs.SessionPrefixFor(caller)
		if err := s.reachesParent(ctx, c.ParentSessionID); err != nil {
			return runs.Reply{}, err
		}
	}
	return s.add(ctx, caller.Principal, caller.Via == auth.ViaOpen, command, runs.By(runs.Authorized(command, caller, again), caller))
}

// callbackCheckFor returns what checks the callbacks that a caller names; nil where none are posted.
func (s heldStore) callbackCheckFor(caller *auth.Identity) func(url string) error {
	if s.checkCallback == nil || s.callbackRoles == nil || caller == nil || slices.Contains(s.callbackRoles, caller.Role) {
		return s.checkCallback
	}
	return func(string) error {
		return fmt.Errorf("must not be given by the role %s: --callback-roles does not name it", caller.Role)
	}
}

// ownerOf returns the principal that shares the slots for callbacks with others, "" where callers do not
// show who they are.
func ownerOf(caller *auth.Identity) string {
	if caller == nil || caller.Via == auth.ViaOpen {
		return ""
	}
	return caller.Principal
}

// add carries out a command, with known saying who calls, unless the caller may not store or leave open that
// much more. The reserve of the disk is for decisions, cancellations and ends. Errors: storage_reserved, too_many_stored_bytes, too_many_prompts, too_many_queued_runs.
func (s heldStore) add(ctx context.Context, principal string, open bool, command, known runs.Command) (runs.Reply, error) {
	bytes, settles := runs.Stores(command)
	if bytes > 0 && !settles && s.hasRoom != nil && !s.hasRoom() {
		return runs.Reply{}, refusal.New(wire.CodeStorageReserved, "the disk of the database is nearly full: what is left is for decisions, cancellations and ends")
	}
	giveBack, err := s.stored.Take(principal, open, bytes, settles)
	if err != nil {
		return runs.Reply{}, err
	}
	reply, err := s.addOpen(ctx, principal, open, command, known)
	if err == nil && (reply.Existing || reply.Replayed) || refusal.CodeOf(err) != "" {
		giveBack()
	}
	return reply, err
}

// addOpen carries out a command unless the caller has too many open prompts or queued runs. Errors:
// too_many_prompts, too_many_queued_runs.
func (s heldStore) addOpen(ctx context.Context, principal string, open bool, command, known runs.Command) (runs.Reply, error) {
	var adds wire.Waiting
	if adds.Prompts, adds.Queued = runs.Adds(command); s.backlog == nil || adds == (wire.Waiting{}) {
		return s.store.Do(ctx, known)
	}
	done, err := s.backlog.Take(ctx, principal, open, adds)
	if err != nil {
		return runs.Reply{}, err
	}
	taken := wire.TakenUnknown
	defer func() { done(taken) }()
	reply, err := s.store.Do(ctx, known)
	switch {
	case err == nil && (reply.Existing || reply.Replayed), refusal.CodeOf(err) != "":
		taken = wire.TakenNothing
	case err == nil:
		taken = wire.TakenAll
	}
	return reply, err
}

// reachesParent returns session_not_found unless the caller of a bounded scope reaches the session
// that a new one names as its parent: questions are asked in it. What decides about it never
// changes.
func (s heldStore) reachesParent(ctx context.Context, sessionID string) error {
	scope := scopeOf(ctx)
	if sessionID == "" || !scope.Bounded() || !refusal.ValidID(sessionID) {
		return nil
	}
	_, err := s.SessionHead(ctx, sessionID)
	return err
}

// asking is the store of [runs.Ask]: who may ask is checked with the command, and the parent of
// its session when that was made. Both may be out of reach for whoever holds a run in it.
type asking struct {
	runs.Door
	runs.Reader
}
