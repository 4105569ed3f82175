package codex_test

import (
	"context"
	"fmt"
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
	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// replica is one running service with the dialect mounted.
type replica struct {
	server *httptest.Server
	api    *httpapi.Server
	store  runs.Store
	client *http.Client
}

// pair opens a fresh database of each engine and serves it twice: by two replicas on
// Postgres, by two services of one process on SQLite.
var pairs = map[string]func(testing.TB) (runs.Store, runs.Store){
	"sqlite": func(tb testing.TB) (runs.Store, runs.Store) {
		tb.Helper()
		store := openSQLite(tb)
		return store, store
	},
	"postgres": func(tb testing.TB) (runs.Store, runs.Store) {
		tb.Helper()
		url := postgrestest.URL(tb)
		return openPostgres(tb, url), openPostgres(tb, url)
	},
}

func openSQLite(tb testing.TB) runs.Store {
	tb.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Memory, sqlite.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}

func openPostgres(tb testing.TB, url string) runs.Store {
	tb.Helper()
	store, err := postgres.Open(context.Background(), url, postgres.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}

// serve starts a service on a store.
func serve(tb testing.TB, store runs.Store, change ...func(*httpapi.Options)) *replica {
	tb.Helper()
	hub := watch.NewHub()
	dispatcher := claims.New(store, claims.Options{ScanInterval: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- dispatcher.Run(ctx) }()
	unsubscribe := store.Subscribe(hub.Publish)

	options := httpapi.Options{
		Store: store, Hub: hub, Claims: dispatcher,
		// Nothing here depends on what is found without a hint.
		PollInterval: time.Minute,
		Dialects:     []kit.Mount{codex.New(codex.Options{ReviewHook: true}), hermes.Mount},
	}
	for _, apply := range change {
		apply(&options)
	}
	api := httpapi.New(options)
	server := httptest.NewServer(api.Handler())
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	tb.Cleanup(func() {
		api.Drain()
		transport.CloseIdleConnections()
		server.Close()
		unsubscribe()
		cancel()
		require.NoError(tb, <-done)
	})
	return &replica{server: server, api: api, store: store, client: &http.Client{Transport: transport}}
}

// TestCodex runs every case on every engine. The second service shares the database of
// the first.
func TestCodex(t *testing.T) {
	t.Parallel()
	for engine, open := range pairs {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			one, two := open(t)
			first, second := serve(t, one), serve(t, two)
			for _, group := range []struct {
				name string
				run  func(t *testing.T, first, second *replica)
			}{
				{"lists", testLists},
				{"guards", testGuards},
				{"shown", testShown},
				{"approvals", testApprovals},
				{"tool input", testToolInput},
				{"typed tool input", testTypedToolInput},
				{"refusals", testRefusals},
				{"late", testLate},
				{"races", testRaces},
				{"transcript", testTranscript},
				{"sockets", testSockets},
				{"reviews", testReviews},
			} {
				t.Run(group.name, func(t *testing.T) { group.run(t, first, second) })
			}
		})
	}
}

// answer is a reply of the service.
type answer struct {
	t      *testing.T
	status int
	text   string
	body   any
}

type option func(*http.Request)

func header(name, value string) option {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// do sends a request; body is JSON text, or "" for none.
func (s *replica) do(t *testing.T, method, path, body string, options ...option) *answer {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, s.server.URL+path, reader)
	require.NoError(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, apply := range options {
		apply(request)
	}
	response, err := s.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	written, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	reply := &answer{t: t, status: response.StatusCode, text: strings.TrimSuffix(string(written), "\n")}
	if len(written) > 0 && strings.HasPrefix(response.Header.Get("Content-Type"), "application/") {
		require.NoError(t, json.Unmarshal(written, &reply.body), "%s", written)
	}
	return reply
}

func (s *replica) get(t *testing.T, path string, options ...option) *answer {
	t.Helper()
	return s.do(t, http.MethodGet, path, "", options...)
}

func (s *replica) post(t *testing.T, path, body string, options ...option) *answer {
	t.Helper()
	return s.do(t, http.MethodPost, path, body, options...)
}

// is checks the status and the whole body.
func (a *answer) is(status int, body string) *answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.text)
	require.Equal(a.t, body, a.text)
	return a
}

// want checks the status.
func (a *answer) want(status int) *answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.text)
	return a
}

// at returns what is at a path of names and indexes, nil when nothing is there.
func (a *answer) at(path ...any) any { return at(a.body, path...) }

func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			array, _ := value.([]any)
			if step >= len(array) {
				return nil
			}
			value = array[step]
		}
	}
	return value
}

func (a *answer) textAt(path ...any) string {
	a.t.Helper()
	found, ok := a.at(path...).(string)
	require.True(a.t, ok, "%v in %s", path, a.text)
	return found
}

func (a *answer) count(path ...any) int {
	a.t.Helper()
	list, ok := a.at(path...).([]any)
	require.True(a.t, ok, "%v in %s", path, a.text)
	return len(list)
}

// invalid checks that the reply is an invalid_request whose first issue has that path.
func (a *answer) invalid(path ...any) *answer {
	a.t.Helper()
	a.want(http.StatusBadRequest)
	require.Equal(a.t, "error", a.at("status"))
	require.Equal(a.t, "invalid_request", a.at("code"), "%s", a.text)
	require.Equal(a.t, "request validation failed", a.at("message"))
	for i, step := range path {
		if number, ok := step.(int); ok {
			path[i] = float64(number)
		}
	}
	if path == nil {
		path = []any{}
	}
	require.Equal(a.t, path, a.at("issues", 0, "path"), "%s", a.text)
	require.NotEmpty(a.t, a.at("issues", 0, "message"))
	require.NotEmpty(a.t, a.at("issues", 0, "code"))
	return a
}

// run is a run of a test.
type run struct{ session, id, fence string }

// name returns a fresh id.
func name() string { return runs.NewID("t") }

// waiting makes a run that waits for what the suspension's members say.
func (s *replica) waiting(t *testing.T, members string) run {
	t.Helper()
	return s.waitingIn(t, name(), members)
}

func (s *replica) waitingIn(t *testing.T, session, members string) run {
	t.Helper()
	made := s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","suspend":{%s}}`, session, members)).want(http.StatusAccepted)
	return run{session: session, id: made.textAt("run_id")}
}

// attached makes a run whose worker stays while it waits.
func (s *replica) attached(t *testing.T, members string) run {
	t.Helper()
	return s.attachedIn(t, name(), members)
}

func (s *replica) attachedIn(t *testing.T, session, members string) run {
	t.Helper()
	made := s.post(t, "/v1/runs", fmt.Sprintf(
		`{"session_id":%q,"input":"go","claim":{"worker_id":"w1","lease_ms":60000},"suspend":{"hold":true,%s}}`, session, members)).want(http.StatusAccepted)
	return run{session: session, id: made.textAt("run", "run_id"), fence: made.textAt("lease", "fence")}
}

// clarifying makes a clarification of which a child waits for the answer. The run is the
// one in the parent's session.
func (s *replica) clarifying(t *testing.T) run {
	t.Helper()
	parent, child := s.session(t, `{}`), name()
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, parent)).want(http.StatusCreated)
	made := s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","claim":{"worker_id":"w"}}`, child)).want(http.StatusAccepted)
	asked := s.post(t, "/v1/runs/"+made.textAt("run", "run_id")+"/clarifications",
		fmt.Sprintf(`{"fence":%q,"park":true,"request":%s}`, made.textAt("lease", "fence"), question("c1", ""))).want(http.StatusAccepted)
	// What the child waits for is asked in the parent's session, and there alone.
	s.get(t, "/api/sessions/"+child+"/tool-input").is(http.StatusOK, `{"data":[]}`)
	return run{session: parent, id: asked.textAt("clarification", "run_id")}
}

// session makes a session with metadata.
func (s *replica) session(t *testing.T, metadata string) string {
	t.Helper()
	id := name()
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"metadata":%s}`, id, metadata)).want(http.StatusCreated)
	return id
}

// resolution returns what the worker is handed about a request of a run that goes on.
func (s *replica) resolution(t *testing.T, r run, kind string) map[string]any {
	t.Helper()
	shown := s.get(t, "/v1/runs/"+r.id).want(http.StatusOK)
	resolution, ok := shown.at("resume", kind, 0, "resolution").(map[string]any)
	require.True(t, ok, "%s", shown.text)
	return resolution
}

// payload is the runtime payload of a resolution, as JSON.
func payload(t *testing.T, resolution map[string]any) string {
	t.Helper()
	written, err := json.Marshal(resolution["runtime_payload"], json.Deterministic(true))
	require.NoError(t, err)
	return string(written)
}

func approvals(list ...string) string { return `"approvals":[` + strings.Join(list, ",") + `]` }

func questions(list ...string) string { return `"questions":[` + strings.Join(list, ",") + `]` }

// approval is an approval of a suspension; members come after those that it must have.
func approval(id, members string) string {
	if members != "" {
		members = "," + members
	}
	return fmt.Sprintf(`{"id":%q,"tool_call_id":"call-%s","tool_name":"bash"%s}`, id, id, withInput(members))
}

// withInput adds an input where a test gives none.
func withInput(members string) string {
	if strings.Contains(members, `"input":`) {
		return members
	}
	return `,"input":{"command":"npm test"}` + members
}

// question asks where and how: one of two, and any text.
func question(id, members string) string {
	if members != "" {
		members = "," + members
	}
	return fmt.Sprintf(`{"id":%q,"tool_call_id":"call-%s","questions":[
		{"id":"where","header":"Env","question":"Deploy where?","multi_select":false,"options":[{"id":"p","label":"prod","description":"live"},{"id":"s","label":"staging"}]},
		{"id":"how","header":"Way","question":"How?","multi_select":false,"options":[]}]%s}`, id, id, members)
}

// handle returns the only id in a list of the session.
func (s *replica) handle(t *testing.T, r run, list string) string {
	t.Helper()
	shown := s.get(t, "/api/sessions/"+r.session+"/"+list).want(http.StatusOK)
	require.Equal(t, 1, shown.count("data"), "%s", shown.text)
	if list == "approvals" {
		return shown.textAt("data", 0, "approvalId")
	}
	return shown.textAt("data", 0, "requestId")
}

func (s *replica) approvalID(t *testing.T, r run) string {
	t.Helper()
	return s.handle(t, r, "approvals")
}

func (s *replica) requestID(t *testing.T, r run) string {
	t.Helper()
	return s.handle(t, r, "tool-input")
}

// decide decides about an approval.
func (s *replica) decide(t *testing.T, approvalID, body string, options ...option) *answer {
	t.Helper()
	return s.post(t, "/api/approvals/"+approvalID+"/decision", body, options...)
}

// reply answers a tool input.
func (s *replica) reply(t *testing.T, requestID, body string, options ...option) *answer {
	t.Helper()
	return s.post(t, "/api/tool-input/"+requestID+"/decision", body, options...)
}
