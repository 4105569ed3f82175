package load

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/door"
)

// unfinishedRuns are the sessions whose oldest runs end, with the batch's maximum number,
// their kind if it is only one, and maximum bytes.
var unfinishedRuns = Key{Parts: 4, ofSession: func(load *door.Load, add func(tuple)) {
	all, besides, bytes := 0, 0, strconv.Itoa(runs.DrainBytes)
	for i := range load.Needs {
		if load.Needs[i].UnfinishedRuns {
			all++
		}
		if load.Needs[i].UnfinishedBesides {
			besides++
		}
	}
	if all > 0 {
		add(tuple{load.SessionID, strconv.Itoa((all+besides)*runs.DrainChunk + 1), "", bytes})
	}
	if besides > 0 {
		most := strconv.Itoa((all+besides)*runs.DrainChunk + 1)
		add(tuple{load.SessionID, most, string(api.KindParentClarification), bytes})
		add(tuple{load.SessionID, most, string(api.KindCall), bytes})
	}
}}

// unfinishedRun is a run, whether it is beyond the bytes that may be loaded, and whether later runs of
// its key's kind may exist that are not loaded.
type unfinishedRun struct {
	model.Run
	beyond, cut int64
	ofKind      string
}

// readUnfinishedRuns counts the queue positions itself: the start of the queue is loaded, and
// counting each position in SQL would be quadratic.
func (s *States) readUnfinishedRuns(rows columns.Rows) error {
	queues := map[string][]*model.Run{}
	whole := map[string]bool{}
	targets := func(u *unfinishedRun) []any {
		return append(columns.Runs.Targets(&u.Run), &u.beyond, &u.cut, &u.ofKind)
	}
	err := columns.Each(rows, targets, func(u *unfinishedRun) {
		r, state := &u.Run, s.of[u.SessionID]
		if u.beyond == 0 {
			whole[r.RunID] = true
			delete(state.LeftOut, r.RunID)
		} else if !whole[r.RunID] {
			state.LeftOut[r.RunID] = true
		}
		if last := state.Cut[api.RunKind(u.ofKind)]; u.cut != 0 && (last == nil || last.FirstEventID < r.FirstEventID) {
			state.Cut[api.RunKind(u.ofKind)] = r
		}
		state.Runs[r.RunID] = r
		if r.Status == api.StatusQueued {
			queues[r.SessionID] = append(queues[r.SessionID], r)
		}
	})
	for _, queue := range queues {
		slices.SortFunc(queue, func(a, b *model.Run) int { return cmp.Compare(a.FirstEventID, b.FirstEventID) })
		for ahead, run := range queue {
			run.QueuedAhead = int64(ahead)
		}
	}
	return err
}
