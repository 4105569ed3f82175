package faces

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/httpapi/dialects/timbal"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// patience is how long something may take before it counts as hung.
const patience = 60 * time.Second

// pause is between two looks at what nobody tells.
const pause = time.Millisecond

// inProcess is a service of this process, whose clock and rows can be looked at.
type inProcess struct {
	*Service
	engine string
	store  runs.Store
}

var openers = map[string]func(testing.TB) runs.Store{
	"sqlite": func(tb testing.TB) runs.Store {
		tb.Helper()
		store, err := sqlite.Open(context.Background(), sqlite.Memory, sqlite.Options{})
		require.NoError(tb, err)
		return store
	},
	"postgres": func(tb testing.TB) runs.Store {
		tb.Helper()
		store, err := postgres.Open(context.Background(), postgrestest.URL(tb), postgres.Options{})
		require.NoError(tb, err)
		return store
	},
}

// start starts a service with all faces. The clock settles nothing by itself: there is
// no expiry loop, so that a test says when a deadline is noticed.
func start(t *testing.T, engine string) *inProcess {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	store := openers[engine](t)
	hub := watch.NewHub()
	unsubscribe := store.Subscribe(hub.Publish)
	dispatcher := claims.New(store, claims.Options{Logger: logger})
	looping, stop := context.WithCancel(context.Background())
	loops := []func(context.Context) error{dispatcher.Run, loop.NewEffects(store, loop.EffectsOptions{Logger: logger}).Run}
	ended := make(chan error, len(loops))
	for _, run := range loops {
		go func() { ended <- run(looping) }()
	}
	api := httpapi.New(httpapi.Options{
		Store: store, Hub: hub, Claims: dispatcher, Logger: logger,
		Dialects: []kit.Mount{
			hermes.Mount, codex.New(codex.Options{}), timbal.New(timbal.Options{}), relay.New(relay.Options{}),
		},
	})
	server := httptest.NewServer(api.Handler())
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(func() {
		api.Drain()
		transport.CloseIdleConnections()
		server.Close()
		unsubscribe()
		stop()
		for range loops {
			require.NoError(t, <-ended)
		}
		require.NoError(t, store.Close())
	})
	return &inProcess{
		Service: &Service{URL: server.URL, HTTP: &http.Client{Transport: transport}}, engine: engine, store: store,
	}
}

// TestFaces runs every case against one service on each engine.
func TestFaces(t *testing.T) {
	t.Parallel()
	for engine := range openers {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine)
			t.Run("cases", func(t *testing.T) {
				for _, one := range []struct {
					name string
					run  func(*testing.T, *inProcess)
				}{
					{"race table", testRaceTable},
					{"at once", testAtOnce},
					{"vocabulary", testVocabulary},
					{"payloads", testPayloads},
					{"shown", testShown},
				} {
					t.Run(one.name, func(t *testing.T) {
						t.Parallel()
						one.run(t, s)
					})
				}
			})
		})
	}
}

// soon returns a context that ends when something hangs.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// begin starts a scene that ends with the test.
func (s *inProcess) begin(t *testing.T) *Scene {
	t.Helper()
	scene, err := s.Begin(soon(t))
	require.NoError(t, err)
	t.Cleanup(scene.Chat.Close)
	return scene
}

// passed waits until the clock that decides has passed a moment.
func (s *inProcess) passed(t *testing.T, momentMs int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		nowMs, err := s.store.NowMs(t.Context())
		return err == nil && nowMs >= momentMs
	}, patience, time.Millisecond)
}
