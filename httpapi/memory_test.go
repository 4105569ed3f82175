package httpapi_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// TestMemoryOfReplies checks the table "Memory of a request" in docs/configuration.md. It is not
// parallel, because allocations of other tests would count.
func TestMemoryOfReplies(t *testing.T) {
	const (
		bytes = 900_000
		many  = 10 // 9 MB of each kind
	)
	store := openSQLite(t)
	a := serve(t, store, newContract(t))
	text := strings.Repeat("x", bytes)
	do := func(command runs.Command) runs.Reply {
		reply, err := store.Do(t.Context(), command)
		require.NoError(t, err)
		return reply
	}
	for n := range many {
		do(&runs.CreateRun{
			SessionID: fmt.Sprintf("s-%d", n), SessionGiven: true, RunID: fmt.Sprintf("r-%d", n), Input: api.JSON(`1`),
			Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{
				ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`"` + text + `"`),
			}}},
		})
	}
	// One run with as much as may be open, and with many outputs.
	large := do(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
	for n := range many {
		for range 2 {
			do(&runs.AppendEvents{RunID: "r", Fence: large.Run.Run.Fence, Events: []api.JSON{api.JSON(`{"type":"output","content":"` + text[:bytes/2] + `"}`)}})
		}
		if n < 9 {
			do(&runs.Suspend{RunID: "r", Fence: large.Run.Run.Fence, Suspension: api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{{
				ID: fmt.Sprintf("a-%d", n), ToolCallID: "c", ToolName: "bash", Input: api.JSON(`"` + text + `"`),
			}}}})
		}
	}
	handler := a.handler.Handler()
	for _, test := range []struct {
		path             string
		megabytes, reply int
	}{
		{"/v1/approvals", 60, 5},
		{"/v1/approvals?page=true", 60, 5},
		{"/v1/runs", 60, 5},
		{"/v1/runs?priority_active=true&page=true", 60, 5},
		{"/v1/runs/r/events", 60, 5},
		{"/v1/runs/r/outputs?page=true", 60, 5},
		{"/v1/runs/r", 200, 14},
		{"/v1/sessions/s", 200, 24},
		{"/v1/sessions", 1, 1},
	} {
		requireMemory(t, handler, http.MethodGet, test.path, "", test.megabytes, test.reply, http.StatusOK)
	}
	// Nothing is lost where pages end early.
	require.Len(t, a.cursorWalk(t, "/v1/approvals?page=true"), many+9)
	require.Len(t, a.cursorWalk(t, "/v1/runs?page=true"), many+1)
	newest := a.get(t, "/v1/runs?limit=20").want(http.StatusOK)
	require.Less(t, len(newest.list()), many)
	require.Equal(t, `</v1/runs?limit=20&page=true>; rel="first"`, newest.header.Get("Link"))
	require.Len(t, a.cursorWalk(t, "/v1/runs?limit=20&page=true"), many+1)
	require.Empty(t, a.get(t, "/v1/runs?limit=1").want(http.StatusOK).header.Get("Link"))
}

// requireMemory checks the allocations and the reply size of one call, in MiB.
func requireMemory(t *testing.T, handler http.Handler, method, path, body string, megabytes, reply, status int) {
	t.Helper()
	const megabyte = 1 << 20
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	request.Host = "localhost"
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer := &counting{discard: discard{header: http.Header{}}}
	// Buffers that earlier calls have left are freed by two collections: whether one is found is chance.
	runtime.GC()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	handler.ServeHTTP(answer, request)
	runtime.ReadMemStats(&after)
	allocated := float64(after.TotalAlloc-before.TotalAlloc) / megabyte
	t.Logf("%s %s: %.1f MiB allocated for a body of %.1f MiB and a reply of %.1f MiB",
		method, path, allocated, float64(len(body))/megabyte, float64(answer.bytes)/megabyte)
	require.Equal(t, status, answer.status, path)
	require.LessOrEqual(t, allocated, float64(megabytes), path)
	require.LessOrEqual(t, answer.bytes, reply*megabyte, path)
}

// TestMemoryOfWrites checks the other rows of that table: bodies of the maximum size, the mailbox,
// and reading and explaining rules.
func TestMemoryOfWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	a := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Limits = httpapi.Limits{} })
	handler := a.handler.Handler()
	do := func(command runs.Command) runs.Reply {
		reply, err := store.Do(t.Context(), command)
		require.NoError(t, err)
		return reply
	}

	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	insert := func(count int, statement string, args ...any) {
		_, err := db.ExecContext(t.Context(), fmt.Sprintf(`WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < %d) `, count)+statement, args...)
		require.NoError(t, err)
	}
	params := map[string]string{}
	for n := range 64 {
		params[fmt.Sprintf("p%d", n)] = "*@-" + strings.Repeat("x", 4000) + "*"
	}
	match, err := json.Marshal(api.RuleMatch{Params: params})
	require.NoError(t, err)
	// A quarter of the maximum number and cost: with all of them the race detector takes half a
	// minute.
	const ofRules = 250 / 4
	insert(api.MaxRuleBytesOfAllSessions/4/len(match), `
INSERT INTO rules (created_at_ms, uses, session_id, rule_id, tool_name, effect, created_by, text, match)
SELECT n, 0, '*', 'rule-' || n, 'bash', 'allow', 'ann', 'a rule', replace($1, '@', n) FROM counted`, string(match))
	requireMemory(t, handler, http.MethodPost, "/v1/rules/explain", `{"tool_name":"bash","input":{"p0":"`+strings.Repeat("y", 500)+`"}}`, ofRules, 5, http.StatusOK)

	held := do(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w", LeaseMs: api.MaxLeaseMs}})
	insert(20, `
INSERT INTO messages (session_id, message_id, run_id, from_session_id, state, subject, payload, created_at_ms, delivery_attempts)
SELECT 's', 'm-' || n, 'r', 'p', 'pending', 'clarification_answer', '{"type":"parent_clarification_answer","summary":"' || printf('%.500000c', 'x') || '"}', n, 0 FROM counted`)
	require.NoError(t, db.Close())
	requireMemory(t, handler, http.MethodGet, "/v1/sessions/s/mailbox", "", 60, 5, http.StatusOK)

	// The first command that raises an approval reads the rules.
	approval := func(input string) string {
		return `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":` + input + `}]}}`
	}
	requireMemory(t, handler, http.MethodPost, "/v1/runs", approval(`1`), ofRules, 1, http.StatusAccepted)
	fence := held.Run.Run.Fence
	large := strings.Repeat("x", 1_000_000)
	one, many := `"`+large+`"`, "["+strings.TrimSuffix(strings.Repeat("{},", 300_000), ",")+"]"
	for _, input := range []string{one, many} {
		requireMemory(t, handler, http.MethodPost, "/v1/runs", `{"input":`+input+`}`, 60, 2, http.StatusAccepted)
		requireMemory(t, handler, http.MethodPost, "/v1/runs", approval(input), 60, 5, http.StatusAccepted)
	}
	for _, events := range []string{
		`{"type":"delta","value":"` + large[:500_000] + `"}`,
		`{"type":"delta","value":[` + strings.TrimSuffix(strings.Repeat("{},", 150_000), ",") + `]}`,
		strings.TrimSuffix(strings.Repeat(`{"type":"output","content":"`+large[:1900]+`"},`, api.MaxEventsPerCall), ","),
	} {
		requireMemory(t, handler, http.MethodPost, "/v1/runs/r/events", fmt.Sprintf(`{"fence":"%d","events":[%s]}`, fence, events), 60, 1, http.StatusAccepted)
	}
	requireMemory(t, handler, http.MethodPost, "/v1/runs/r/complete", fmt.Sprintf(`{"fence":"%d","output":%s}`, fence, many), 60, 5, http.StatusOK)
}

// cursorWalk returns all items of a list, page by page.
func (a *rig) cursorWalk(t *testing.T, path string) (items []any) {
	t.Helper()
	for cursor := ""; ; {
		page := a.get(t, path+cursor).want(http.StatusOK)
		rows := page.list("items")
		require.NotEmpty(t, rows)
		items = append(items, rows...)
		if page.at("pagination", "has_more") == false {
			return items
		}
		cursor = "&cursor=" + page.textAt("pagination", "next_cursor")
	}
}

type counting struct {
	discard
	status, bytes int
}

func (c *counting) WriteHeader(status int) { c.status = status }

func (c *counting) Write(text []byte) (int, error) {
	c.bytes += len(text)
	return len(text), nil
}
