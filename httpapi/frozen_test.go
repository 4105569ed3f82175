package httpapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// frozenStore answers nothing until the context of a call ends.
type frozenStore struct {
	runs.Store
	// entered gets a value when a read of a session begins.
	entered, thawed chan struct{}
	// readyWithin is how long the last question about readiness may take.
	readyWithin time.Duration
}

func (s *frozenStore) Within(reads.Scope) reads.Reader { return s }

func (s *frozenStore) Ready(ctx context.Context) error {
	if deadline, bounded := ctx.Deadline(); bounded {
		s.readyWithin = time.Until(deadline)
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *frozenStore) Session(context.Context, string) (*model.SessionRecord, error) {
	s.entered <- struct{}{}
	<-s.thawed
	return nil, runs.ErrUnavailable
}

func TestFrozenDatabaseHoldsNoCaller(t *testing.T) {
	t.Parallel()
	store := &frozenStore{Store: openSQLite(t), entered: make(chan struct{}, 1), thawed: make(chan struct{}), readyWithin: time.Hour}
	defer close(store.thawed)
	service := serve(t, store, newContract(t))
	service.get(t, "/readyz").refused(wire.CodeServiceUnavailable)
	require.Less(t, store.readyWithin, 2*time.Second, "the deadline of the question, not the time that it took")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/v1/sessions/s/stream", http.NoBody)
	require.NoError(t, err)
	request.Host = "localhost"
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		service.handler.Handler().ServeHTTP(&discard{header: http.Header{}}, request)
	}()
	<-store.entered
	cancel()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		require.Fail(t, "opening a stream goes on without its caller")
	}
}

func TestNotReadyWhileALaneDoesNotMove(t *testing.T) {
	t.Parallel()
	var nowMs atomic.Int64
	var stuck atomic.Pointer[chan struct{}]
	reached := make(chan struct{})
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "holdpoint.db"), sqlite.Options{
		// The clock is read by the lane, within its transaction.
		NowMs: func() int64 {
			if gate := stuck.Swap(nil); gate != nil {
				close(reached)
				<-*gate
			}
			return 1_750_000_000_000
		},
		Door: door.Options{Clock: nowMs.Load},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	a := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Logger = slog.New(slog.DiscardHandler) })
	gate := make(chan struct{})
	stuck.Store(&gate)
	held := later(func() *reply { return a.post(t, "/v1/runs", `{"input":1}`) })
	<-reached
	nowMs.Add(4_999)
	a.get(t, "/readyz").want(http.StatusOK)
	nowMs.Add(1)
	a.get(t, "/readyz").refused(wire.CodeServiceUnavailable)
	a.get(t, "/livez").want(http.StatusOK)
	close(gate)
	soon(t, held).want(http.StatusAccepted)
	// The lane replies before its batch has ended.
	require.Eventually(t, func() bool { return a.get(t, "/readyz").status == http.StatusOK }, time.Minute, time.Millisecond)
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(text []byte) (int, error) { return len(text), nil }
func (d *discard) WriteHeader(int)                {}
