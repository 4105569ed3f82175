package codex_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// sessionIDs returns the ids of a list of sessions.
func sessionIDs(a *dialecttest.Reply) []string {
	var ids []string
	for i := range a.Count("data") {
		ids = append(ids, a.TextAt("data", i, "sessionId"))
	}
	return ids
}

// testSessions holds docs/spec/codex.md#sessions.
func testSessions(t *testing.T, service, other *replica) {
	t.Run("a session with its transcript", func(t *testing.T) {
		session := service.session(t, `{"title":"Deploy","cwd":"/srv"}`)
		service.attachedIn(t, session, approvals(approval("a1", ""))+","+questions(question("q1", "")))
		shown := service.get(t, "/api/sessions/"+session).Want(http.StatusOK)
		require.Equal(t, service.get(t, "/api/sessions/"+session+"/transcript").At("data"), shown.At("transcript"))
		require.Equal(t, 2, shown.Count("transcript"))
		seconds := func(name string) int64 {
			return int64(service.get(t, "/v1/sessions/"+session).At(name).(float64)) / 1000
		}
		require.Equal(t, map[string]any{
			"sessionId": session, "title": "Deploy", "materialized": true, "modelProvider": "holdpoint", "approvalPolicy": "on-request",
			"createdAt": float64(seconds("created_at_ms")), "updatedAt": float64(seconds("updated_at_ms")), "cwd": "/srv", "source": "default", "projectId": nil,
		}, shown.At("session"))
		require.Equal(t, shown.Text, other.get(t, "/api/sessions/"+session).Text)
		untitled := service.session(t, `{}`)
		require.Equal(t, untitled, service.get(t, "/api/sessions/"+untitled).At("session", "title"))
		require.Equal(t, 0, service.get(t, "/api/sessions/"+untitled).Count("transcript"))
	})
	t.Run("sessions that are not shown", func(t *testing.T) {
		for _, unknown := range []string{"nobody", "%00", "a%20b"} {
			answer := service.get(t, "/api/sessions/"+unknown).Want(http.StatusNotFound)
			require.Equal(t, "not_found", answer.At("status"))
		}
		ended, system := service.session(t, `{}`), service.session(t, `{"system":true}`)
		service.post(t, "/v1/sessions/"+ended+"/end", `{}`).Want(http.StatusOK)
		require.Equal(t, "deleted", service.get(t, "/api/sessions/"+ended).Want(http.StatusGone).At("status"))
		require.Equal(t, "system_session", service.get(t, "/api/sessions/"+system).Want(http.StatusForbidden).At("code"))
	})
	t.Run("what a client reads first", func(t *testing.T) {
		service.get(t, "/api/capabilities?refresh=true").Is(http.StatusOK,
			`{"status":"ok","runtime":{"initialized":true,"capabilitiesLastUpdatedAt":null},"methods":{},"details":{},"features":{"toolUserInput":true}}`)
		for _, list := range []string{"models?limit=100", "projects", "mcp/servers?limit=100"} {
			service.get(t, "/api/"+list).Is(http.StatusOK, `{"data":[],"nextCursor":null}`)
		}
	})
}

// TestListOfSessions holds the order and the pages of the list.
func TestListOfSessions(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		service := serve(t, database.Open(t))
		service.get(t, "/api/sessions").Is(http.StatusOK, `{"data":[],"nextCursor":null,"archived":false}`)
		var all []string
		for i := range 25 {
			id := fmt.Sprintf("s%02d", i)
			metadata := "{}"
			if i == 20 {
				metadata = `{"system":true}`
			}
			service.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"metadata":%s}`, id, metadata)).Want(http.StatusCreated)
			if i == 3 {
				service.post(t, "/v1/sessions/"+id+"/end", `{}`).Want(http.StatusOK)
			}
			if i != 20 && i != 3 {
				all = append(all, id)
			}
		}
		require.Equal(t, all, sessionIDs(service.get(t, "/api/sessions").Want(http.StatusOK)))
		service.waitingIn(t, "s20", approvals(approval("a1", "")))
		service.waitingIn(t, "s24", approvals(approval("a1", "")))
		service.waitingIn(t, "s23", questions(question("q1", "")))

		first := service.get(t, "/api/sessions?limit=10").Want(http.StatusOK)
		ids := sessionIDs(first)
		require.Len(t, ids, 10)
		require.ElementsMatch(t, []string{"s24", "s23"}, ids[:2], "those that wait go first")
		var rest []string
		for cursor := first.TextAt("nextCursor"); ; {
			page := service.get(t, "/api/sessions?limit=10&cursor="+cursor).Want(http.StatusOK)
			rest = append(rest, sessionIDs(page)...)
			if page.At("nextCursor") == nil {
				break
			}
			cursor = page.TextAt("nextCursor")
		}
		both := slices.Concat(ids, rest)
		slices.Sort(both)
		require.Equal(t, all, slices.Compact(both), "none is left out")

		// As many waiting sessions as a page has are a page of their own.
		for _, limit := range []int{1, 2, 3} {
			require.Equal(t, all, walked(t, service, limit), "limit %d", limit)
		}

		require.Equal(t, 0, service.get(t, "/api/sessions?archived=true").Want(http.StatusOK).Count("data"))
		require.Equal(t, 0, service.get(t, "/api/sessions?cursor=%00").Want(http.StatusOK).Count("data"))
		for _, limit := range []string{"0", "-1", "201", "x", "1.5"} {
			service.get(t, "/api/sessions?limit="+limit).invalid("limit")
		}
	})
}

// Sessions that are not shown take no place among the waiting ones.
func TestListOfSessionsBehindASystemSession(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t))
	for id, metadata := range map[string]string{"a": `{}`, "b-system": `{"system":true}`, "c": `{}`} {
		service.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"metadata":%s}`, id, metadata)).Want(http.StatusCreated)
	}
	service.waitingIn(t, "c", approvals(approval("a1", "")))
	service.waitingIn(t, "b-system", approvals(approval("a1", "")))
	require.Equal(t, []string{"c"}, sessionIDs(service.get(t, "/api/sessions?limit=1").Want(http.StatusOK)))
}

// The sessions that wait are sorted by their newest request, not by the requests that one read returns.
func TestListOfSessionsByNewestRequest(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t))
	for id, metadata := range map[string]string{"a-system": `{"system":true}`, "b": `{}`, "c": `{}`, "d": `{}`} {
		service.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"metadata":%s}`, id, metadata)).Want(http.StatusCreated)
	}
	calling := func(session, approval string) int64 {
		made := service.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"kind":"call","input":"go","suspend":{%s}}`, session, approvals(approval))).Want(http.StatusAccepted)
		return int64(service.get(t, "/v1/runs/"+made.TextAt("run_id")).At("pending_approvals", 0, "created_at_ms").(float64))
	}
	large := approval("a1", fmt.Sprintf(`"input":{"command":%q}`, strings.Repeat("x", 900<<10)))
	for range 5 { // more than one read returns
		calling("a-system", large)
	}
	older := calling("c", approval("a1", ""))
	require.Equal(t, []string{"c"}, sessionIDs(service.get(t, "/api/sessions?limit=1").Want(http.StatusOK)))
	for newer := older; newer == older; { // until the clock has moved
		newer = calling("d", approval("a1", ""))
	}
	require.Equal(t, []string{"d"}, sessionIDs(service.get(t, "/api/sessions?limit=1").Want(http.StatusOK)))
	require.Equal(t, []string{"d", "c", "b"}, sessionIDs(service.get(t, "/api/sessions?limit=3").Want(http.StatusOK)))
}

// The sessions that are passed over are bounded.
func TestListOfSessionsBehindManySystemSessions(t *testing.T) {
	t.Parallel()
	store := &dialecttest.HeadsRead{Store: dialecttest.SQLite(t)}
	service := serve(t, store)
	for range 205 {
		service.waitingIn(t, service.session(t, `{"system":true}`), approvals(approval("a1", "")))
	}
	before := store.Count.Load()
	require.Empty(t, sessionIDs(service.get(t, "/api/sessions").Want(http.StatusOK)))
	require.EqualValues(t, 200, store.Count.Load()-before)
}

// endedFirst is a store with 3,000 ended sessions before the others. It counts the reads of the list.
type endedFirst struct {
	runs.Store
	reads atomic.Int64
}

func (s *endedFirst) Within(reads.Scope) reads.Reader { return s }

func (s *endedFirst) Sessions(ctx context.Context, q reads.SessionQuery) ([]model.SessionSummary, error) {
	s.reads.Add(1)
	var page []model.SessionSummary
	for i := range 3_000 {
		if id := fmt.Sprintf("ended-%04d", i); id > q.After && len(page) < q.Limit {
			page = append(page, model.SessionSummary{Session: model.Session{SessionID: id, EndedAtMs: 1}})
		}
	}
	if len(page) == q.Limit {
		return page, nil
	}
	q.Limit -= len(page)
	rest, err := s.Store.Sessions(ctx, q)
	return append(page, rest...), err
}

// A call reads a bounded number of pages, and the next one goes on after them.
func TestListOfSessionsBehindManyEndedSessions(t *testing.T) {
	t.Parallel()
	store := &endedFirst{Store: dialecttest.SQLite(t)}
	service := serve(t, store)
	service.post(t, "/v1/sessions", `{"session_id":"last"}`).Want(http.StatusCreated)
	for _, limit := range []int{1, 100, 200} {
		address := fmt.Sprintf("/api/sessions?limit=%d", limit)
		var found []string
		for next, calls := address, 0; next != ""; calls++ {
			require.Less(t, calls, 10)
			before := store.reads.Load()
			page := service.get(t, next).Want(http.StatusOK)
			require.LessOrEqual(t, store.reads.Load()-before, int64(10))
			found = append(found, sessionIDs(page)...)
			next = ""
			if page.At("nextCursor") != nil {
				next = address + "&cursor=" + page.TextAt("nextCursor")
			}
		}
		require.Equal(t, []string{"last"}, found, "limit %d", limit)
	}
}

// A short page of the store that fills the list is not the last.
func TestListOfSessionsThatFillsMidway(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t))
	for i := range 5 {
		service.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":"s0%d"}`, i)).Want(http.StatusCreated)
	}
	service.waitingIn(t, "s00", approvals(approval("a1", "")))
	service.waitingIn(t, "s01", approvals(approval("a1", "")))
	service.post(t, "/v1/sessions/s02/end", `{}`).Want(http.StatusOK)
	for limit := range 6 {
		require.Equal(t, []string{"s00", "s01", "s03", "s04"}, walked(t, service, limit+1), "limit %d", limit+1)
	}
}

// walked returns the sessions of all pages, each once, in order.
func walked(t *testing.T, service *replica, limit int) []string {
	t.Helper()
	var ids []string
	address := fmt.Sprintf("/api/sessions?limit=%d", limit)
	for next := address; ; {
		page := service.get(t, next).Want(http.StatusOK)
		require.LessOrEqual(t, page.Count("data"), limit)
		ids = append(ids, sessionIDs(page)...)
		if page.At("nextCursor") == nil {
			break
		}
		require.Less(t, len(ids), 100, "the pages end")
		next = address + "&cursor=" + page.TextAt("nextCursor")
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
