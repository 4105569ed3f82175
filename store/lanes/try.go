package lanes

import (
	"errors"
	"log/slog"
	"slices"
)

// process carries out every item of a batch. It skips abandoned items, and items of locked keys
// keep waiting in the lane.
func (l *lane[W]) process(batch []W) {
	batch = slices.DeleteFunc(batch, func(w W) bool { return w.item().abandoned() || over(w) })
	if len(batch) == 0 {
		return
	}
	l.batches++
	defer l.watch(batch)()
	if l.spread != nil {
		l.spread.note(len(batch))
	}
	locked, err := l.options.Carry(l.number, batch, Together)
	for _, waiting := range locked {
		l.wait(waiting)
	}
	if err == nil {
		return
	}
	batch = slices.DeleteFunc(batch, over[W])
	if !errors.Is(err, ErrRefused) {
		l.options.Fail(batch, err)
		return
	}
	l.options.Logger.Debug("batch refused, trying its commands one by one",
		slog.Int("commands", len(batch)), slog.Any("error", err))
	l.tryOneByOne(batch, err)
}

// tryOneByOne runs each item of a refused batch in its own transaction. An item that is refused
// again is taken off the lane with its key.
func (l *lane[W]) tryOneByOne(batch []W, err error) {
	waits, lockTries := map[string]bool{}, 0
	for _, waiting := range batch {
		if waits[waiting.item().Key] {
			l.wait(waiting)
			continue
		}
		refusal, locked := err, []W(nil)
		switch {
		case len(batch) == 1:
		case lockTries >= maxLockTries:
			refusal = nil
		default:
			if locked, refusal = l.options.Carry(l.number, []W{waiting}, Alone); refusal == nil && len(locked) == 0 {
				continue
			}
		}
		waits[waiting.item().Key] = true
		switch {
		case len(locked) > 0:
			l.wait(waiting)
		case refusal != nil && !errors.Is(refusal, ErrRefused):
			l.options.Fail([]W{waiting}, refusal)
			waits[waiting.item().Key] = false
		default:
			if errors.Is(refusal, ErrLocked) {
				lockTries++
			}
			l.setAside(waiting, refusal)
		}
	}
}
