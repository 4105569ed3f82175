package relay_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// engine opens stores of one fresh database.
type engine struct {
	name string
	// open returns stores on the same database, as many replicas have.
	open func(tb testing.TB, replicas int) []runs.Store
}

var engines = []engine{{"sqlite", openSQLite}, {"postgres", openPostgres}}

// openSQLite returns one store for all: there is one process only.
func openSQLite(tb testing.TB, replicas int) []runs.Store {
	tb.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Memory, sqlite.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	stores := make([]runs.Store, replicas)
	for i := range stores {
		stores[i] = store
	}
	return stores
}

func openPostgres(tb testing.TB, replicas int) []runs.Store {
	tb.Helper()
	url := postgrestest.URL(tb)
	stores := make([]runs.Store, replicas)
	for i := range stores {
		store, err := postgres.Open(context.Background(), url, postgres.Options{})
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, store.Close()) })
		stores[i] = store
	}
	return stores
}

// onEngines runs a test against a service on each engine.
func onEngines(t *testing.T, options relay.Options, test func(t *testing.T, s *service)) {
	t.Helper()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			test(t, serve(t, e.open(t, 1)[0], options))
		})
	}
}

// service is a whole service with the dialect, over HTTP.
type service struct {
	server  *httptest.Server
	handler *httpapi.Server
	store   runs.Store
	client  *http.Client
}

func serve(tb testing.TB, store runs.Store, options relay.Options, change ...func(*httpapi.Options)) *service {
	tb.Helper()
	hub := watch.NewHub()
	dispatcher := claims.New(store, claims.Options{ScanInterval: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- dispatcher.Run(ctx) }()
	unsubscribe := store.Subscribe(hub.Publish)
	wanted := httpapi.Options{Store: store, Hub: hub, Claims: dispatcher, Dialects: []kit.Mount{relay.New(options)}}
	for _, apply := range change {
		apply(&wanted)
	}
	s := &service{handler: httpapi.New(wanted), store: store}
	s.server = httptest.NewServer(s.handler.Handler())
	s.client = s.server.Client()
	tb.Cleanup(func() {
		s.handler.Drain()
		s.client.CloseIdleConnections()
		s.server.Close()
		unsubscribe()
		cancel()
		require.NoError(tb, <-done)
	})
	return s
}

// reply is an answer of the service.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	text   string
}

func (s *service) do(t *testing.T, method, path, body string) *reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.server.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("X-Actor", "mara")
	response, err := s.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return &reply{t: t, status: response.StatusCode, header: response.Header, text: strings.TrimSuffix(string(text), "\n")}
}

func (s *service) post(t *testing.T, path, body string) *reply {
	t.Helper()
	return s.do(t, http.MethodPost, path, body)
}

func (s *service) get(t *testing.T, path string) *reply {
	t.Helper()
	return s.do(t, http.MethodGet, path, "")
}

// is checks the status and the whole body.
func (r *reply) is(status int, body string) {
	r.t.Helper()
	require.Equal(r.t, status, r.status, "%s", r.text)
	require.Equal(r.t, body, r.text)
}

// refused checks for one of the errors of the dialect.
func (r *reply) refused(status int, text string) {
	r.t.Helper()
	encoded, err := json.Marshal(text)
	require.NoError(r.t, err)
	r.is(status, `{"error":`+string(encoded)+`}`)
	require.Equal(r.t, "application/json", r.header.Get("Content-Type"))
}

// into decodes the body of a success.
func (r *reply) into(value any) {
	r.t.Helper()
	require.Less(r.t, r.status, 300, "%s", r.text)
	require.NoError(r.t, json.Unmarshal([]byte(r.text), value))
}

const (
	invalidJSON     = "Invalid JSON body"
	relayIncomplete = "sessionId and response are required"
	chatIncomplete  = "model and messages are required"
	noSession       = "Session not found"
	noRelay         = "Relay not found"
)

// answer decides about a relay.
func (s *service) answer(t *testing.T, sessionID, relayID, response string) *reply {
	t.Helper()
	return s.post(t, "/chat/relay/"+relayID, `{"sessionId":"`+sessionID+`","response":`+response+`}`)
}

// accepted checks the only success that there is.
func (r *reply) accepted() {
	r.t.Helper()
	r.is(http.StatusOK, `{"success":true}`)
}
