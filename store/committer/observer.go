package committer

import (
	"context"
	"errors"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// Observer is told what a Committer does, for metrics and logs. Its methods are called by
// several goroutines at once, Began, Ended and Committed on the lanes: they must not block,
// must not call the Committer, and must not change what they are handed.
type Observer interface {
	// Answered is told of each command that was given to Do, by the goroutine that gave it, how
	// it was answered and after how long.
	Answered(command runs.Command, reply runs.Reply, err error, took time.Duration)
	// Began is told how long a command had waited in its lane when its batch began; of one that
	// waits for a locked session, at each try.
	Began(waited time.Duration)
	// Ended is told of each transaction.
	Ended(Transaction)
	// Committed is told of what a transaction wrote, after its callers were answered.
	Committed(changes []runs.Change)
	// Lost is told, by a goroutine of its own, of how many sessions the database has less than callers
	// were told of: a standby has taken over that did not have all, or an older state was restored.
	Lost(sessions int)
}

// Transaction says how a transaction of a lane went.
type Transaction struct {
	Lane     int
	Commands int
	// Read says that it loaded rows. One that did not was decided from remembered rows.
	Read   bool
	Result Result
	// Took includes what others did meanwhile, when it was written in parts (see Parted).
	Took time.Duration
}

// Result is how a transaction ended.
type Result string

// The results of transactions.
const (
	// ResultCommitted wrote something, ResultEmpty had nothing to write.
	ResultCommitted Result = "committed"
	ResultEmpty     Result = "empty"
	// ResultStale was decided from remembered rows that were not those of the database any more.
	ResultStale Result = "stale"
	// ResultRefused was certainly not committed; of ResultFailed it is not known.
	ResultRefused Result = "refused"
	ResultFailed  Result = "failed"
)

// observe begins the watch of a transaction of some calls, and returns the context that the engine
// gets, and what ends the watch. Whether something was written, and the error, are read at the end.
func (c *Committer) observe(ctx context.Context, calls []*call, t *Transaction, written *bool, err *error) (traced context.Context, done func()) {
	observer := c.options.Observer
	var endSpan func(Transaction)
	if c.options.Tracer != nil {
		ctx, endSpan = c.traceTransaction(ctx, calls)
	}
	if observer == nil && endSpan == nil {
		return ctx, func() {}
	}
	begun := time.Now()
	return ctx, func() {
		t.Took, t.Result = time.Since(begun), ResultEmpty
		switch {
		case *written:
			t.Result = ResultCommitted
		case errors.Is(*err, ErrStale):
			t.Result = ResultStale
		case errors.Is(*err, ErrRefused):
			t.Result = ResultRefused
		case *err != nil:
			t.Result = ResultFailed
		}
		if endSpan != nil {
			endSpan(*t)
		}
		if observer != nil {
			observer.Ended(*t)
		}
	}
}
