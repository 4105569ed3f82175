package dialecttest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// Shortening is a store that returns events one per page and deletes a session's finished runs
// before the second page is read.
type Shortening struct {
	runs.Store
	tb   testing.TB
	once sync.Once
}

// NewShortening returns a store that trims one log.
func NewShortening(tb testing.TB, store runs.Store) *Shortening {
	tb.Helper()
	return &Shortening{Store: store, tb: tb}
}

// Within implements runs.Store: the test reads everything.
func (s *Shortening) Within(reads.Scope) reads.Reader { return s }

// EventsWithin implements [reads.Reader].
func (s *Shortening) EventsWithin(ctx context.Context, q reads.EventQuery) (events []model.Event, more bool, err error) {
	q.Limit = 1
	if q.After > 0 {
		s.once.Do(func() {
			sessionID := q.SessionID
			if sessionID == "" {
				record, err := s.Run(ctx, q.RunID)
				require.NoError(s.tb, err)
				sessionID = record.Run.SessionID
			}
			trimmed := storetest.TrimSession(s.tb, s.Store, sessionID, time.Now().Add(time.Hour).UnixMilli(), 1000)
			require.Positive(s.tb, trimmed.Runs)
			require.False(s.tb, trimmed.Session)
		})
	}
	return s.Store.EventsWithin(ctx, q)
}
