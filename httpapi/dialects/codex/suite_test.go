package codex_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

// replica is a whole service with the dialect in it.
type replica struct{ *dialecttest.Service }

// serve starts a service. It has hermes too, for decisions on another dialect.
func serve(tb testing.TB, store runs.Store, change ...func(*httpapi.Options)) *replica {
	tb.Helper()
	change = append([]func(*httpapi.Options){func(o *httpapi.Options) {
		o.PollInterval = time.Minute // tests must not depend on polling
		o.Faces = append(o.Faces, hermes.Mount)
	}}, change...)
	return &replica{dialecttest.Serve(tb, store, codex.Mount, change...)}
}

// TestCodex runs every case on every engine. The second service shares the database of
// the first.
func TestCodex(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		one, two := database.Replicas(t)
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
			{"sessions", testSessions},
		} {
			t.Run(group.name, func(t *testing.T) { group.run(t, first, second) })
		}
	})
}

// answer is a reply of the dialect, or of /v1.
type answer struct{ *dialecttest.Reply }

func (s *replica) do(t *testing.T, method, path, body string, options ...dialecttest.Option) *answer {
	t.Helper()
	return &answer{s.Do(t, method, path, body, options...)}
}

func (s *replica) get(t *testing.T, path string, options ...dialecttest.Option) *answer {
	t.Helper()
	return s.do(t, http.MethodGet, path, "", options...)
}

func (s *replica) post(t *testing.T, path, body string, options ...dialecttest.Option) *answer {
	t.Helper()
	return s.do(t, http.MethodPost, path, body, options...)
}

// invalid checks that the reply is an invalid_request whose first issue has that path.
func (a *answer) invalid(path ...any) *answer {
	a.T.Helper()
	a.Want(http.StatusBadRequest)
	require.Equal(a.T, "error", a.At("status"))
	require.Equal(a.T, "invalid_request", a.At("code"), "%s", a.Text)
	require.Equal(a.T, "request validation failed", a.At("message"))
	for i, step := range path {
		if number, ok := step.(int); ok {
			path[i] = float64(number)
		}
	}
	if path == nil {
		path = []any{}
	}
	require.Equal(a.T, path, a.At("issues", 0, "path"), "%s", a.Text)
	require.NotEmpty(a.T, a.At("issues", 0, "message"))
	require.NotEmpty(a.T, a.At("issues", 0, "code"))
	return a
}

// run is a run of a test.
type run struct{ session, id, fence string }

// name returns a fresh id.
func name() string { return runs.NewID("t") }

// waiting creates a run that waits for the suspension's members.
func (s *replica) waiting(t *testing.T, members string) run {
	t.Helper()
	return s.waitingIn(t, name(), members)
}

func (s *replica) waitingIn(t *testing.T, session, members string) run {
	t.Helper()
	made := s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","suspend":{%s}}`, session, members)).Want(http.StatusAccepted)
	return run{session: session, id: made.TextAt("run_id")}
}

// attached creates a run whose worker stays attached while it waits.
func (s *replica) attached(t *testing.T, members string) run {
	t.Helper()
	return s.attachedIn(t, name(), members)
}

func (s *replica) attachedIn(t *testing.T, session, members string) run {
	t.Helper()
	made := s.post(t, "/v1/runs", fmt.Sprintf(
		`{"session_id":%q,"input":"go","claim":{"worker_id":"w1","lease_ms":60000},"suspend":{"hold":true,%s}}`, session, members)).Want(http.StatusAccepted)
	return run{session: session, id: made.TextAt("run", "run_id"), fence: made.TextAt("lease", "fence")}
}

// clarifying creates a clarification for a waiting child. It returns the run in the parent's
// session.
func (s *replica) clarifying(t *testing.T) run {
	t.Helper()
	parent, child := s.session(t, `{}`), name()
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, parent)).Want(http.StatusCreated)
	made := s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","claim":{"worker_id":"w"}}`, child)).Want(http.StatusAccepted)
	asked := s.post(t, "/v1/runs/"+made.TextAt("run", "run_id")+"/clarifications",
		fmt.Sprintf(`{"fence":%q,"park":true,"request":%s}`, made.TextAt("lease", "fence"), question("c1", ""))).Want(http.StatusAccepted)
	// The child's question is open only in the parent's session.
	s.get(t, "/api/sessions/"+child+"/tool-input").Is(http.StatusOK, `{"data":[]}`)
	return run{session: parent, id: asked.TextAt("clarification", "run_id")}
}

// session creates a session with metadata.
func (s *replica) session(t *testing.T, metadata string) string {
	t.Helper()
	id := name()
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"metadata":%s}`, id, metadata)).Want(http.StatusCreated)
	return id
}

// resolution returns the worker's copy of a decision after the run continues.
func (s *replica) resolution(t *testing.T, r run, kind string) map[string]any {
	t.Helper()
	shown := s.get(t, "/v1/runs/"+r.id).Want(http.StatusOK)
	resolution, ok := shown.At("resume", kind, 0, "resolution").(map[string]any)
	require.True(t, ok, "%s", shown.Text)
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

// approval is an approval for a suspension, with additional members after the required ones.
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
		{"id":"where","header":"Env","question":"Deploy where?","multi_select":false,"allow_freeform":true,"options":[{"id":"p","label":"prod","description":"live"},{"id":"s","label":"staging"}]},
		{"id":"how","header":"Way","question":"How?","multi_select":false,"options":[]}]%s}`, id, id, members)
}

// handle returns the only id in a list of the session.
func (s *replica) handle(t *testing.T, r run, list string) string {
	t.Helper()
	shown := s.get(t, "/api/sessions/"+r.session+"/"+list).Want(http.StatusOK)
	require.Equal(t, 1, shown.Count("data"), "%s", shown.Text)
	if list == "approvals" {
		return shown.TextAt("data", 0, "approvalId")
	}
	return shown.TextAt("data", 0, "requestId")
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
func (s *replica) decide(t *testing.T, approvalID, body string, options ...dialecttest.Option) *answer {
	t.Helper()
	return s.post(t, "/api/approvals/"+approvalID+"/decision", body, options...)
}

// reply answers a tool input.
func (s *replica) reply(t *testing.T, requestID, body string, options ...dialecttest.Option) *answer {
	t.Helper()
	return s.post(t, "/api/tool-input/"+requestID+"/decision", body, options...)
}
