package httpapi_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
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

type discard struct{ header http.Header }

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(text []byte) (int, error) { return len(text), nil }
func (d *discard) WriteHeader(int)                {}
