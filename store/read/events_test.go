package read

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// shortened is a log whose events have large bodies, and from which retention deletes all up to
// gone after the first read.
type shortened struct {
	frozen
	events []model.Event
	gone   int64
	reads  int
}

func (l *shortened) Ask(_ context.Context, queries ...Query) error {
	after, _ := queries[0].Args[1].(int64)
	if err := queries[0].Read(&eventRows{events: slices.DeleteFunc(slices.Clone(l.events), func(e model.Event) bool { return e.EventID <= after })}); err != nil {
		return err
	}
	ends := numberRows{l.events[0].EventID, l.events[len(l.events)-1].EventID}
	if l.reads++; l.reads == 1 {
		l.events = slices.DeleteFunc(l.events, func(e model.Event) bool { return e.EventID <= l.gone })
	}
	return queries[1].Read(&ends)
}

type eventRows struct{ events []model.Event }

func (r *eventRows) Next() bool { return len(r.events) > 0 }
func (r *eventRows) Err() error { return nil }

func (r *eventRows) Scan(targets ...any) error {
	id, _ := targets[1].(*int64)
	body, _ := targets[6].(*[]byte)
	*id, *body = r.events[0].EventID, r.events[0].Body
	r.events = r.events[1:]
	return nil
}

// numberRows is one row with the log's first kept and its last event.
type numberRows struct{ first, last int64 }

func (r *numberRows) Next() bool { return r.first != 0 }
func (r *numberRows) Err() error { return nil }

func (r *numberRows) Scan(targets ...any) error {
	first, _ := targets[0].(*int64)
	last, _ := targets[1].(*int64)
	*first, *last, r.first = r.first, r.last, 0
	return nil
}

// A page continues with a second read. Events that retention deletes in between must not leave a
// gap, nor turn the first part into an error.
func TestAPageThatIsShortenedMeanwhileHasNoGap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		gone  int64
		ids   []int64
		more  bool
		reads int
	}{
		{0, []int64{1, 2, 3, 4, 5, 6}, false, 2},
		{2, []int64{1, 2, 3, 4, 5, 6}, false, 2},
		{3, []int64{1, 2}, true, 2},
		{5, []int64{1, 2}, true, 2},
	} {
		for _, kept := range []bool{false, true} {
			log := &shortened{gone: test.gone}
			for id := range int64(6) {
				log.events = append(log.events, model.Event{EventID: id + 1, Body: make(api.JSON, cpulimit.Bytes/2)})
			}
			r := New(log, &Statements{}, 1)
			events, more, err := r.EventsWithin(t.Context(), reads.EventQuery{SessionID: "s", Limit: 100, MaxBytes: api.MaxReplyBytes, Kept: kept})
			require.NoError(t, err)
			var ids []int64
			for i := range events {
				ids = append(ids, events[i].EventID)
			}
			require.Equal(t, test.ids, ids, "%+v", test)
			require.Equal(t, test.more, more, "%+v", test)
			require.Equal(t, test.reads, log.reads)

			// The next page reports the missing events.
			if test.more {
				_, _, err = r.EventsWithin(t.Context(), reads.EventQuery{SessionID: "s", After: 2, Limit: 100, MaxBytes: api.MaxReplyBytes, Kept: kept})
				require.Equal(t, !kept, refusal.CodeOf(err) == api.CodeEventCursorReset)
			}
		}
	}
}
