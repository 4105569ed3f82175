package runs

import (
	"cmp"
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Command is a change requested by a caller, a worker or a background loop. This package defines
// all commands, and all of them go through [Decide].
type Command interface {
	// Spec describes the command. It may be called before and after [Prepare].
	Spec() Spec
	// Needs returns the rows that the decision needs. Call it after [Prepare].
	Needs() Needs
	// prepare checks the command without rows, and fills in missing defaults and ids. It runs once,
	// before any lock.
	prepare(call *Call, newID IDSource) error
	// decide makes the decision on a working copy of the rows.
	decide(w *workingCopy) (Reply, error)
}

// Reply is the answer to a command, valid once its change is committed. Only the members that
// the command's comment names are set.
type Reply struct {
	Run *model.RunRecord
	// Session is the session's row. Its view needs more rows, which are read after the commit.
	Session *model.Session
	Claim   *api.Claim
	// Lapsed says that the claim took over from a worker that had neither ended nor renewed its lease in time.
	Lapsed bool
	// Existing says that the call changed nothing: its effect already existed, with the same
	// payload.
	Existing bool
	// Replayed says that the same call already used the key (docs/spec/v1.md#replay). Run is then
	// nil, and ReplayRunID names the run whose current view is the answer. CreateRun and
	// OpenClarification also set ReplayRunID with Existing.
	Replayed    bool
	ReplayRunID string
	// More says that work is left: issue the same command again.
	More bool
	// Interrupted says that the call interrupted something.
	Interrupted      bool
	LeaseExpiresAtMs int64
	CancelRequested  bool
	LastEventID      int64
	// Clarification names the run in the parent's session that a child's question becomes.
	Clarification *api.WaitingOn
	Messages      []model.Message
	Effect        *model.Effect
	Redemption    *api.Redemption
	Rule          *rules.Record
	NowMs         int64
}

// Decide makes every decision: it takes one session's rows, a prepared command and the time in
// ms since the epoch, and returns the change to write and the reply. It is pure: no I/O, no
// clock, no randomness, and it does not change the State.
//
// An error may come with a Change that must still be written: a request past its deadline
// expires even when the command is refused. Commit the Change first, then return the Reply or
// the error.
//
// Errors: the command's errors, as a [refusal.Error]; [ErrUnchecked], for which see
// [CheckValues]; a [RulesChangedError], for which see [MatchRules]. After the latter two the
// caller decides the command again, and the Change is empty.
func Decide(state *State, command Command, nowMs int64) (Change, Reply, error) {
	w := newWorkingCopy(state, nowMs)
	w.actor = command.Spec().Actor
	reply, err := command.decide(w)
	if errors.As(err, new(*RulesChangedError)) || errors.Is(err, ErrUnchecked) {
		return Change{}, Reply{}, err
	}
	if call, is := command.(*Call); is && call.OnlyRepeat != nil {
		if err == nil && !reply.Existing && !reply.Replayed {
			reply, err = Reply{}, call.OnlyRepeat
		}
		return Change{}, reply, err
	}
	if (state.NotifyAfterMs > 0 || state.Notifies) && err == nil {
		w.enqueueAdvances()
	}
	if w.owed != nil {
		w.enqueueDeliveries()
	}
	return w.change(), reply, err
}

// Prepare checks a command without rows and fills in missing ids. Call it once, before [Decide].
// It returns a [refusal.Error] when the command is invalid.
func Prepare(command Command, newID IDSource) error {
	return command.prepare(&Call{Command: command}, newID)
}

// Actor names who issues a command and through which interface; both are recorded with a
// decision (docs/spec/v1.md#actor). Empty members get defaults.
type Actor struct {
	Name string
	Via  string
	// ViaPrincipal is the caller's principal when Name is somebody else, for whom the caller may
	// act.
	ViaPrincipal string
}

// ActorOf returns the actor of a command that an identity issues itself: its person, if it works on behalf of one.
func ActorOf(identity *auth.Identity, via string) Actor {
	if identity.OnBehalfOf == "" {
		return Actor{Name: identity.Principal, Via: via}
	}
	return Actor{Name: identity.OnBehalfOf, Via: via, ViaPrincipal: identity.Principal}
}

func (a *Actor) prepare() {
	a.Name = cmp.Or(a.Name, api.DefaultActorID)
	a.Via = cmp.Or(a.Via, api.ViaAPI)
}
