package runs

// Decide is the one door (design.md §3). It takes one session's rows, a prepared
// command and the moment, and returns what to write and what to answer. It reads
// no clock, has no randomness and changes nothing it is given.
//
// The change may be worth writing even when there is an error: a request that is
// found to be past its deadline is expired on the spot, and the caller is told.
// So the caller commits the change first and then answers, error or not.
func Decide(state *State, command Command, nowMs int64) (Change, Reply, error) {
	w := newWork(state, nowMs)
	reply, err := command.decide(w)
	return w.change(), reply, err
}

// Prepare checks a command on its own and fills in the identifiers that the
// caller left to the service. It is called once, before the command is given to
// [Decide], and returns an [Error] when the command is at fault.
func Prepare(command Command, newID IDSource) error {
	return command.prepare(newID)
}
