package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// errDecidedElsewhere says that a prompt at the terminal has become moot.
var errDecidedElsewhere = errors.New("decided elsewhere")

// lookAgain is how often the demo looks whether a request was decided.
const lookAgain = 200 * time.Millisecond

// untilDecided returns a context that is done, because of errDecidedElsewhere, once somebody
// has decided the request. Call stop when nobody waits for that any more.
func (d *Demo) untilDecided(ctx context.Context, handle string) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// A service that is away for a moment is the prompt's own trouble, when it is answered.
		if _, err := d.awaitDecision(ctx, handle); err == nil {
			cancel(errDecidedElsewhere)
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-ended
	}
}

// awaitDecision waits for as long as ctx allows.
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

// decidedElsewhere waits until somebody has decided a request, and says what and who.
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
