package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// TestMemoryOfReplies holds the table "Memory of a request" in docs/configuration.md. It is not
// parallel: what others allocate would count.
func TestMemoryOfReplies(t *testing.T) {
	const (
		megabyte = 1 << 20
		bytes    = 900_000
		many     = 10 // 9 MB of each kind
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
		do(&runs.AppendEvents{RunID: "r", Fence: large.Run.Run.Fence, Events: []api.JSON{api.JSON(`{"type":"output","content":"` + text + `"}`)}})
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
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, http.NoBody)
		request.Host = "localhost"
		reply := &counting{discard: discard{header: http.Header{}}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		handler.ServeHTTP(reply, request)
		runtime.ReadMemStats(&after)
		allocated := float64(after.TotalAlloc-before.TotalAlloc) / megabyte
		t.Logf("%s: %.1f MiB allocated for a reply of %.1f MiB", test.path, allocated, float64(reply.bytes)/megabyte)
		require.Equal(t, http.StatusOK, reply.status, test.path)
		require.LessOrEqual(t, allocated, float64(test.megabytes), test.path)
		require.LessOrEqual(t, reply.bytes, test.reply*megabyte, test.path)
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
