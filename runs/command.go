package runs

import (
	"cmp"
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Command is a change that a caller, a worker or a loop asks for. The types of this package are
// the only commands, and all of them go through [Decide].
type Command interface {
	// Spec returns what the command says about itself. It may be called before and after [Prepare].
	Spec() Spec
	// Needs returns the rows that the decision needs. Call it after [Prepare].
	Needs() Needs
	// prepare checks what can be checked without rows, and fills in defaults and ids that the
	// caller left out. It runs once, before any lock.
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
	// Existing says that the call changed nothing: its effect was there before, with the same
	// payload.
	Existing bool
	// Replayed says that the key was used before for the same call (docs/spec/v1.md#replay).
	// Run is then nil, and ReplayRunID names the run whose current view is the answer. An
	// Existing of CreateRun or OpenClarification sets ReplayRunID, too.
	Replayed    bool
	ReplayRunID string
	// More says that a part of the work is done: give the same command again.
	More bool
	// Interrupted says that there was something to interrupt.
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

// Decide makes every decision: it takes one session's rows, a prepared command and a moment in
// ms since the epoch, and returns what to write and what to reply. It is pure: no I/O, no
// clock, no randomness, and it does not change the State.
//
// The Change may be worth writing together with an error: a request past its deadline is
// expired even when the command is refused. So commit the Change first, and then return the
// Reply or the error.
//
// Errors: those of the command, as a [refusal.Error]; [ErrUnchecked], for which see
// [CheckValues]; a [RulesChangedError], for which see [MatchRules]. After the latter two the
// command is decided again, and the Change is empty.
func Decide(state *State, command Command, nowMs int64) (Change, Reply, error) {
	w := newWorkingCopy(state, nowMs)
	w.actor = command.Spec().Actor
	reply, err := command.decide(w)
	if errors.As(err, new(*RulesChangedError)) || errors.Is(err, ErrUnchecked) {
		return Change{}, Reply{}, err
	}
	if state.NotifyAfterMs > 0 && err == nil {
		w.enqueueAdvances()
	}
	if w.owed != nil {
		w.enqueueDeliveries()
	}
	return w.change(), reply, err
}

// Prepare checks a command by itself and fills in the ids that the caller left out. Call it
// once, before [Decide]. It returns a [refusal.Error] when the command is at fault.
func Prepare(command Command, newID IDSource) error {
	return command.prepare(&Call{Command: command}, newID)
}

// Actor is who gives a command and by which way; both are recorded with a decision
// (docs/spec/v1.md#actor). Empty members get defaults.
type Actor struct {
	Name string
	Via  string
	// ViaPrincipal is whose credential it was, when Name is not its principal but somebody for
	// whom it may act.
	ViaPrincipal string
}

func (a *Actor) prepare() {
	a.Name = cmp.Or(a.Name, api.DefaultActorID)
	a.Via = cmp.Or(a.Via, api.ViaAPI)
}
