package ask

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
)

// HandedOver is a decided call whose run a worker has claimed for another process to read.
type HandedOver struct {
	RunID string
	// Fence is the fence of the worker's lease.
	Fence string
}

// take uses the lease of a worker for a run that it has handed over.
func (r *Raised) take(handed HandedOver) {
	if r.RunID == handed.RunID {
		r.fence = handed.Fence
	}
}

// Defer raises a call, or finds it again by its key, and returns the decision if there is one. It does
// not wait: without a decision the Outcome is empty, and the request stays open when this process ends.
// A worker that claims the decided run gets the checkpoint. It resumes the agent, which makes the same
// call again: handed says by which lease that process may read the decision. Errors: as of [Asker.Raise]
// and [Asker.Await].
func (a *Asker) Defer(ctx context.Context, call Call, checkpoint api.JSON, handed HandedOver) (*Answer, error) {
	call.checkpoint = checkpoint
	for {
		raised, err := a.raise(ctx, call, 0)
		if err != nil {
			return nil, err
		}
		raised.take(handed)
		answer, err := a.await(ctx, raised, 0)
		if err != nil || !answer.Again() {
			return answer, err
		}
	}
}
