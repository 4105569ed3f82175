package hermes_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// engines make a place for a database, and open it as often as it is asked for.
var engines = map[string]func(testing.TB) func() runs.Store{
	"sqlite": func(tb testing.TB) func() runs.Store {
		tb.Helper()
		path := filepath.Join(tb.TempDir(), "holdpoint.db")
		return func() runs.Store {
			store, err := sqlite.Open(context.Background(), path, sqlite.Options{})
			require.NoError(tb, err)
			return store
		}
	},
	"postgres": func(tb testing.TB) func() runs.Store {
		tb.Helper()
		url := postgrestest.URL(tb)
		return func() runs.Store {
			store, err := postgres.Open(context.Background(), url, postgres.Options{})
			require.NoError(tb, err)
			return store
		}
	},
}

// service is a whole running server with the dialect in it.
type service struct {
	store   runs.Store
	handler *httpapi.Server
	server  *httptest.Server
	client  *http.Client
	stop    func()
}

// serve starts a server on a store. Stopping it, which the end of the test does too,
// leaves the store open.
func serve(tb testing.TB, store runs.Store, change ...func(*httpapi.Options)) *service {
	tb.Helper()
	hub := watch.NewHub()
	silent := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 3)
	dispatcher := claims.New(store, claims.Options{ScanInterval: 20 * time.Millisecond, Logger: silent})
	for _, run := range []func(context.Context) error{
		dispatcher.Run,
		loop.NewExpiry(store, loop.ExpiryOptions{Logger: silent}).Run,
		loop.NewEffects(store, loop.EffectsOptions{Logger: silent}).Run,
	} {
		go func() { done <- run(ctx) }()
	}
	unsubscribe := store.Subscribe(hub.Publish)
	options := httpapi.Options{
		Store: store, Hub: hub, Claims: dispatcher, KeepAlive: 200 * time.Millisecond,
		Dialects: []kit.Mount{hermes.Mount},
	}
	for _, apply := range change {
		apply(&options)
	}
	s := &service{store: store, handler: httpapi.New(options)}
	s.server = httptest.NewServer(s.handler.Handler())
	transport := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
	s.client = &http.Client{Transport: transport}
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		s.handler.Drain()
		transport.CloseIdleConnections()
		s.server.Close()
		unsubscribe()
		cancel()
		for range cap(done) {
			require.NoError(tb, <-done)
		}
	}
	tb.Cleanup(s.stop)
	return s
}

// TestHermes runs every case on every engine.
func TestHermes(t *testing.T) {
	t.Parallel()
	for engine, at := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			store := at(t)()
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			s := serve(t, store)
			t.Run("cases", func(t *testing.T) {
				for name, group := range map[string]func(*testing.T, *service){
					"snapshots":          testSnapshots,
					"bodies":             testBodies,
					"replies":            testReplies,
					"approvals":          testApprovals,
					"lost approvals":     testLostApprovals,
					"rules":              testRules,
					"clarifications":     testClarifications,
					"typed questions":    testTypedQuestions,
					"several":            testSeveralQuestions,
					"lost answers":       testLostAnswers,
					"races":              testRaces,
					"streams":            testStreams,
					"streams that go on": testLongStreams,
				} {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						group(t, s)
					})
				}
			})
		})
	}
}
