package reads

import (
	"context"
	"iter"

	"github.com/holdpoint/holdpoint/runs/model"
)

// Settled yields the settled requests of a run in the order of the decisions, read page by page. It ends after an
// error, which may be run_not_found.
func Settled(ctx context.Context, reader Reader, runID string) iter.Seq2[*model.Request, error] {
	return func(yield func(*model.Request, error) bool) {
		for after, more := int64(0), true; more; {
			run, settled, err := reader.SettledAfter(ctx, runID, after)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range settled {
				if !yield(&settled[i], nil) {
					return
				}
				after = settled[i].SettledNumber
			}
			more = len(settled) > 0 && after < run.SettledCount
		}
	}
}
