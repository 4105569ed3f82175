package door

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/lanes"
)

// call is a command that was given to the door. Its key in the lanes is its session.
type call struct {
	lanes.Item
	command runs.Command
	needs   runs.Needs
	span    CommandSpan // nil if not traced

	// reply and err may be read once the item has ended.
	reply runs.Reply
	err   error
}

// answer ends the call. It must be called exactly once.
func (c *call) answer(reply runs.Reply, err error) {
	c.reply, c.err = reply, err
	c.End()
}

// began reports that a call is tried.
func (d *Door) began(waiting *call, waited time.Duration, commands int) {
	if d.options.Observer != nil {
		d.options.Observer.Began(waited)
	}
	if waiting.span != nil {
		waiting.span.Began(waited, commands)
	}
}

// fail answers calls that were not decided, or whose outcome is unknown.
func (d *Door) fail(calls []*call, err error) {
	switch {
	case errors.Is(err, lanes.ErrClosed):
		err = runs.ErrClosed
	case errors.Is(err, ErrSessionLocked), errors.Is(err, ErrSessionFailing):
		err = fmt.Errorf("%w: %w", runs.ErrUnavailable, err)
	default:
		d.options.Logger.Error("transaction failed", slog.Int("commands", len(calls)), slog.Any("error", err))
		err = fmt.Errorf("%w: %w", runs.ErrUnavailable, err)
	}
	for _, waiting := range calls {
		waiting.answer(runs.Reply{}, err)
	}
}
