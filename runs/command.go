package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Command is one thing that somebody wants changed. The types in this package are
// the only ones there are: whoever asks, by whatever face, ends up here, and every
// one of them goes through [Decide].
type Command interface {
	// Needs says which rows the decision is made from.
	Needs() Needs
	// prepare checks all that can be checked without a row, and fills in what the
	// caller left to the service. It runs once, before any lock.
	prepare(newID IDSource) error
	// decide makes the decision on a working copy of the rows.
	decide(w *workingCopy) (Reply, error)
}

// Reply is what a command is answered with, once it is durable. Only the members
// that the command's comment names are set.
type Reply struct {
	Run *model.RunRecord
	// Session is the session's row; its view is read after the commit.
	Session *model.Session
	Claim   *api.Claim
	Resume  *api.Resume
	// Existing: the thing was there already with the same payload.
	Existing bool
	// Replayed: the key was used before for the same call. Run is nil and ReplayRunID
	// names the run whose current view is the answer. So it is when CreateRun finds a
	// run of the same id and payload (Existing).
	Replayed    bool
	ReplayRunID string
	// Interrupted: there was something to interrupt.
	Interrupted      bool
	LeaseExpiresAtMs int64
	CancelRequested  bool
	LastEventID      int64
	// Clarification names the run in the parent's session that a child's question
	// became.
	Clarification *api.WaitingOn
	Messages      []model.Message
	Effect        *model.Effect
	Rule          *rules.Record
	NowMs         int64
}

// Decide is the one door (design.md §3). It takes one session's rows, a prepared
// command and the moment, and returns what to write and what to answer. It reads
// no clock, has no randomness and changes nothing it is given.
//
// The change may be worth writing even when there is an error: a request that is
// found to be past its deadline is expired on the spot, and the caller is told.
// So the caller commits the change first and then answers, error or not.
func Decide(state *State, command Command, nowMs int64) (Change, Reply, error) {
	w := newWorkingCopy(state, nowMs)
	reply, err := command.decide(w)
	return w.change(), reply, err
}

// Prepare checks a command on its own and fills in the identifiers that the
// caller left to the service. It is called once, before the command is given to
// [Decide], and returns an [Error] when the command is at fault.
func Prepare(command Command, newID IDSource) error {
	return command.prepare(newID)
}

// Actor is who gives a command and by what way; both end up in what is recorded.
type Actor struct {
	Name string
	Via  string
}

func (a *Actor) prepare() {
	a.Name = cmp.Or(a.Name, api.DefaultActorID)
	a.Via = cmp.Or(a.Via, api.ViaAPI)
}
