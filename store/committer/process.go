package committer

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
)

// process answers every call of a batch. It skips abandoned calls, and calls of locked sessions
// keep waiting in the lane.
func (c *Committer) process(l *lane, batch []*call) {
	batch = slices.DeleteFunc(batch, func(w *call) bool { return w.abandoned() || w.answered() })
	if len(batch) == 0 {
		return
	}
	l.batches++
	defer c.watch(l, batch)()
	if c.spread != nil {
		c.spread.note(len(batch))
	}
	locked, err := c.carryOut(l, batch, true, inLane)
	for _, waiting := range locked {
		c.waitForSession(l, waiting)
	}
	if err == nil {
		return
	}
	batch = slices.DeleteFunc(batch, (*call).answered)
	if !errors.Is(err, ErrRefused) {
		c.giveUp(batch, err)
		return
	}
	c.options.Logger.Debug("batch refused, trying its commands one by one",
		slog.Int("commands", len(batch)), slog.Any("error", err))
	c.tryOneByOne(l, batch, err)
}

// tryOneByOne runs each call of a refused batch in its own transaction. A call that is refused
// again is taken off the lane with its session.
func (c *Committer) tryOneByOne(l *lane, batch []*call, err error) {
	waits, lockTries := map[string]bool{}, 0
	for _, waiting := range batch {
		if waits[waiting.sessionID] {
			c.waitForSession(l, waiting)
			continue
		}
		refusal, locked := err, []*call(nil)
		switch {
		case len(batch) == 1:
		case lockTries >= maxLockTries:
			refusal = nil
		default:
			if locked, refusal = c.carryOut(l, []*call{waiting}, false, inLane); refusal == nil && len(locked) == 0 {
				continue
			}
		}
		waits[waiting.sessionID] = true
		switch {
		case len(locked) > 0:
			c.waitForSession(l, waiting)
		case refusal != nil && !errors.Is(refusal, ErrRefused):
			c.giveUp([]*call{waiting}, refusal)
			waits[waiting.sessionID] = false
		default:
			if errors.Is(refusal, ErrLocked) {
				lockTries++
			}
			c.setAside(l, waiting, refusal)
		}
	}
}

// giveUp answers calls whose outcome is unknown, or which the database keeps refusing.
func (c *Committer) giveUp(calls []*call, err error) {
	c.options.Logger.Error("transaction failed", slog.Int("commands", len(calls)), slog.Any("error", err))
	for _, waiting := range calls {
		waiting.answer(runs.Reply{}, fmt.Errorf("%w: %w", runs.ErrUnavailable, err))
	}
}
