package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// errDecidedElsewhere ends an obsolete prompt at the terminal.
var errDecidedElsewhere = errors.New("decided elsewhere")

// lookAgain is the interval of checks whether a request was decided.
const lookAgain = 200 * time.Millisecond

// untilDecided returns a context that ends with errDecidedElsewhere once somebody has
// decided the request. The caller must call stop.
func (d *Demo) untilDecided(ctx context.Context, handle string) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// If the service is down, the person's answer reports it.
		if _, err := d.awaitDecision(ctx, handle); err == nil {
			cancel(errDecidedElsewhere)
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-ended
	}
}

// awaitDecision waits for the decision until ctx ends.
func (d *Demo) awaitDecision(ctx context.Context, handle string) (*api.RequestView, error) {
	for {
		view, err := d.client.GetRequest(ctx, handle)
		if err != nil {
			return nil, err
		}
		if view.Resolution != nil {
			return view, nil
		}
		if err := sleep(ctx, lookAgain); err != nil {
			return nil, err
		}
	}
}

// decidedElsewhere waits for somebody's decision, and prints it with their name.
func (d *Demo) decidedElsewhere(ctx context.Context, handle string) error {
	if d.Open != nil {
		d.tell("   Decide in the inbox: %s", d.url)
	}
	view, err := d.awaitDecision(ctx, handle)
	if err != nil {
		return fmt.Errorf("look at %s: %w", handle, err)
	}
	d.tell("   Decided elsewhere: %s by %s.", view.Resolution.Outcome, view.Resolution.ResolvedBy)
	return nil
}
