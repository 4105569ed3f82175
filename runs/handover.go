package runs

import "github.com/holdpoint/holdpoint/runs/reads"

// Taker claims runs for workers that wait at this process, in the transaction that makes the runs
// claimable. Its methods are called on the commit path and must not block.
type Taker interface {
	// Waiting reports whether any worker waits, so that Take may be worth calling.
	Waiting() bool
	// Take returns, for each run that is about to become claimable, the claim of a waiting worker, or
	// nil. The claim is decided right after the decision that makes the run claimable.
	Take(claimable []reads.Claimable) []*ClaimRun
	// Taken reports the result of a claim, once per claim: the reply after the commit, or an error
	// if the run was not handed over.
	Taken(claim *ClaimRun, reply Reply, err error)
}

// Claimant is a Taker that knows which runs a worker at this process is about to claim. Other
// processes are not notified of these runs, because they would only compete for the session. If
// the claim fails, they find the run by polling.
type Claimant interface {
	Taker
	// Claiming reports whether a claim of the run is in progress.
	Claiming(run reads.Claimable) bool
}
