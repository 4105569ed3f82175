//go:build unix && faults

package failover

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/test/rig"
)

// A database whose processes are stopped keeps its connections and answers nothing.
func TestNobodyWaitsForAFrozenDatabase(t *testing.T) {
	t.Parallel()
	cluster := rig.NewCluster(t, rig.ClusterOptions{})
	require.NoError(t, cluster.Start())
	url, err := cluster.CreateDatabase("holdpoint")
	require.NoError(t, err)
	_, urls := rig.StartReplicas(t, 1, rig.Options{Database: url})
	store, err := postgres.Open(t.Context(), url, postgres.Options{})
	require.NoError(t, err)
	require.NoError(t, store.Ready(t.Context()))
	status := func(path string, timeout time.Duration) (int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, urls[0]+path, http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	ready, err := status("/readyz", time.Minute)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, ready)

	cluster.Freeze()
	thawed := false
	thaw := func() {
		if !thawed {
			thawed = true
			cluster.Thaw()
		}
	}
	defer thaw()
	// The service answers by itself: its callers and the database would wait without end.
	for _, path := range []string{"/readyz", "/v1/runs/r", "/v1/runs", "/v1/sessions/s/stream"} {
		got, err := status(path, time.Minute)
		require.NoError(t, err, path)
		require.Equal(t, http.StatusServiceUnavailable, got, path)
	}
	for name, call := range map[string]func(context.Context) error{
		"ready": store.Ready,
		"sweep": func(ctx context.Context) error { _, err := store.SweepIdempotency(ctx, 1, 1); return err },
		"trim":  func(ctx context.Context) error { _, err := store.TrimSession(ctx, "s", 1, 1); return err },
		"run":   func(ctx context.Context) error { _, err := store.Run(ctx, "r"); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		select {
		case err := <-ended:
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
		case <-rig.Soon(t).Done():
			require.Fail(t, name+" outlasts its deadline")
		}
		cancel()
	}
	thaw()
	rig.Await(t, func() bool { return store.Ready(t.Context()) == nil })
	_, err = store.Run(t.Context(), "r")
	require.NotErrorIs(t, err, runs.ErrUnavailable)
	require.NoError(t, store.Close())
}
