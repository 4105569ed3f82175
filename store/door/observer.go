package door

import (
	"context"
	"errors"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/facts"
)

// Observer receives what a Door does, for metrics and logs. Several goroutines call its
// methods at once. Began, Ended and Committed run on the lanes. They must not block, call the
// Door or change their arguments.
type Observer interface {
	// Answered is called for each command given to Do, on the caller's goroutine, and on the lane for each claim by which
	// a run was handed over; that one took no time of its own.
	Answered(command runs.Command, reply runs.Reply, err error, took time.Duration)
	// Began is called with the time a command waited in its lane before its batch. For a command
	// that waits for a locked session, it is called at each try.
	Began(waited time.Duration)
	// Ended is called for each transaction.
	Ended(Transaction)
	// Committed is called with the changes of a transaction, after its callers were answered.
	Committed(changes []runs.Change)
	// Lost is called on its own goroutine with the number of sessions that have lost acknowledged
	// commits. Either a standby took over without all commits, or a backup was restored.
	Lost(sessions int)
}

// Transaction describes a transaction of a lane.
type Transaction struct {
	Lane     int
	Commands int
	// Read reports whether it loaded rows. If not, it was decided from cached rows.
	Read   bool
	Result Result
	Took   time.Duration
}

// Result is the outcome of a transaction.
type Result string

// Results of transactions.
const (
	// ResultCommitted wrote something, ResultEmpty had nothing to write.
	ResultCommitted Result = "committed"
	ResultEmpty     Result = "empty"
	// ResultStale was decided from cached rows that had changed in the database.
	ResultStale Result = "stale"
	// ResultRefused was not committed. The outcome of ResultFailed is unknown.
	ResultRefused Result = "refused"
	ResultFailed  Result = "failed"
)

// observe starts observing a transaction and returns the context for the engine. The caller calls
// done at the end, which reads written and err.
func (d *Door) observe(ctx context.Context, calls []*call, t *Transaction, written *bool, err *error) (traced context.Context, done func()) {
	observer := d.options.Observer
	var endSpan func(Transaction)
	if d.options.Tracer != nil {
		ctx, endSpan = d.traceTransaction(ctx, calls)
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
		case errors.Is(*err, facts.ErrStale):
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
