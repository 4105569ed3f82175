package runs

// Taker takes runs for workers that wait at this process, in the transaction that makes the runs
// claimable. Its methods are called on the commit path and must not block.
type Taker interface {
	// Waiting reports whether any worker waits, so that Take may be worth a call.
	Waiting() bool
	// Take returns, for each run that is about to become claimable, the claim of a worker that
	// waits for it, or nil. The claim is decided behind the decision that makes the run
	// claimable.
	Take(claimable []Claimable) []*ClaimRun
	// Taken tells how a claim ended, once for each: with its reply after the commit, or with an
	// error, and then the run was not handed over.
	Taken(claim *ClaimRun, reply Reply, err error)
}

// Claimant is a Taker that knows which runs somebody at this process is about to claim. Other
// processes need not be told of them: they would only race for the session. When the claim comes
// to nothing, they find the run by looking.
type Claimant interface {
	Taker
	// Claiming reports whether a claim of the run is under way.
	Claiming(run Claimable) bool
}
