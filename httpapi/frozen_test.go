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
	"github.com/holdpoint/holdpoint/store/committer"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// frozenStore answers nothing until the context of a call ends.
type frozenStore struct {
	runs.Store
	thawed chan struct{}
}

func (s *frozenStore) Ready(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s *frozenStore) Session(context.Context, string) (*model.SessionRecord, error) {
	<-s.thawed
	return nil, runs.ErrUnavailable
}

func TestFrozenDatabaseHoldsNoCaller(t *testing.T) {
	t.Parallel()
	store := &frozenStore{openSQLite(t), make(chan struct{})}
	defer close(store.thawed)
	service := serve(t, store, newContract(t))
	begin := time.Now()
	service.get(t, "/readyz").refused(wire.CodeServiceUnavailable)
	require.Less(t, time.Since(begin), 2*time.Second)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/v1/sessions/s/stream", http.NoBody)
	require.NoError(t, err)
	request.Host = "localhost"
	begin = time.Now()
	service.handler.Handler().ServeHTTP(&discard{header: http.Header{}}, request)
	require.Less(t, time.Since(begin), 2*time.Second, "opening a stream ends with its caller")
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
		Committer: committer.Options{Clock: nowMs.Load},
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
	a.get(t, "/readyz").want(http.StatusOK)
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(text []byte) (int, error) { return len(text), nil }
func (d *discard) WriteHeader(int)                {}
