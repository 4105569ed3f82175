package runs

// Limits of decisions and reads. Package api has the limits of callers.
const (
	// DefaultMaxAttempts is how many claims of a run may make no progress if ClaimRun gives no limit.
	DefaultMaxAttempts = 10
	// MaxRunNames is how many segments of a run can be named by calls that decide nothing.
	MaxRunNames = 1_000
	// MaxSessionsBelow limits the sessions of a query with Below, including the named one.
	MaxSessionsBelow = 1_000
	// MaxExactRulesLoaded limits the exact rules for one input that a decision loads, for a session
	// and for all sessions each. At the limit, exact rules allow nothing and a person is asked.
	MaxExactRulesLoaded = 64
	// MaxExactRuleBytesLoaded limits their texts and reasons in the same way. The last rule may exceed
	// it.
	MaxExactRuleBytesLoaded = 40 << 10
	// MaxOwedRows limits the rows that a decision writes for one webhook. A decision with more events
	// writes one effect, from which [FanOutDeliveries] creates the deliveries after the commit.
	MaxOwedRows = 4
	// FanOutChunk is the maximum number of deliveries that one [FanOutDeliveries] writes.
	FanOutChunk = 100
	// DrainChunk is the maximum number of runs that one decision ends, not counting the active run
	// and the head of the queue.
	DrainChunk = 100
	// DrainBytes bounds the rows and open requests of these runs. At least one run is always ended.
	DrainBytes = 4 << 20
	// MaxStamp bounds [State.Stamp].
	MaxStamp = 1<<61 - 1
)
