package timbal

import (
	"context"
	"iter"
	"math"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Page size of reads, in events and bytes. A single event may be larger.
const (
	pageSize  = 500
	pageBytes = 1 << 20
)

// requestEvents returns a run's events about requests, oldest first. It does not read the others,
// which may be very many.
func (f *face) requestEvents(ctx context.Context, runID string) iter.Seq2[*model.Event, error] {
	return func(yield func(*model.Event, error) bool) {
		query := reads.EventQuery{RunID: runID, AboutRequests: true, Kept: true, Limit: pageSize, MaxBytes: pageBytes}
		for more := true; more; {
			var events []model.Event
			var err error
			if events, more, err = f.Store.Reader(ctx).EventsWithin(ctx, query); err != nil {
				yield(nil, err)
				return
			}
			for i := range events {
				query.After = events[i].EventID
				if !yield(&events[i], nil) {
					return
				}
			}
		}
	}
}

// historyAt folds a run's log up to an event.
func (f *face) historyAt(ctx context.Context, runID string, at int64) (*history, error) {
	newest, _, err := f.Store.Reader(ctx).EventsWithin(ctx, reads.EventQuery{RunID: runID, Kept: true, After: at - 1, Limit: 1})
	if err != nil {
		return nil, err
	}
	h := newHistory()
	for event, err := range f.requestEvents(ctx, runID) {
		if err != nil {
			return nil, err
		}
		if event.EventID > at {
			break
		}
		if err := h.apply(event); err != nil {
			return nil, err
		}
	}
	if len(newest) > 0 && newest[0].EventID > h.lastEventID {
		err = h.apply(&newest[0])
	}
	return &h, err
}

// historyAtEnd folds a run's whole log.
func (f *face) historyAtEnd(ctx context.Context, runID string) (*history, error) {
	run, _, err := f.Store.Reader(ctx).SettledAfter(ctx, runID, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	return f.historyAt(ctx, runID, run.LastEventID)
}

// historyUntil folds a run's log up to the first event about requests for which last returns true.
func (f *face) historyUntil(ctx context.Context, runID string, last func(*model.Event) bool) (*history, error) {
	h := newHistory()
	for event, err := range f.requestEvents(ctx, runID) {
		if err != nil {
			return nil, err
		}
		if err := h.apply(event); err != nil {
			return nil, err
		}
		if last(event) {
			break
		}
	}
	return &h, nil
}
