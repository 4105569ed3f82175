package client_test

import (
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// pagesOf serves numbers as runs, pages of them.
func pagesOf(total int, paths *[]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*paths = append(*paths, r.URL.RequestURI())
		query := r.URL.Query()
		limit, _ := strconv.Atoi(query.Get("limit"))
		from, _ := strconv.Atoi(query.Get("cursor"))
		items := []map[string]string{}
		for i := from; i < min(from+limit, total); i++ {
			items = append(items, map[string]string{"run_id": strconv.Itoa(i), "session_id": strconv.Itoa(i)})
		}
		pagination := map[string]any{"limit": limit, "total_count": total, "has_more": from+limit < total, "next_cursor": nil, "order": "x"}
		if from+limit < total {
			pagination["next_cursor"] = strconv.Itoa(from + limit)
		}
		text, _ := json.Marshal(map[string]any{"items": items, "pagination": pagination})
		_, _ = w.Write(text)
	})
}

func TestIteratorsWalkAllPages(t *testing.T) {
	t.Parallel()
	var paths []string
	c := connect(t, pagesOf(250, &paths))
	next := 0
	for run, err := range c.AllRuns(t.Context(), client.RunListParams{SessionID: "s", PriorityActive: true}) {
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(next), run.RunID)
		next++
	}
	require.Equal(t, 250, next)
	require.Equal(t, []string{
		"/v1/runs?limit=100&page=true&priority_active=true&session_id=s",
		"/v1/runs?cursor=100&limit=100&page=true&priority_active=true&session_id=s",
		"/v1/runs?cursor=200&limit=100&page=true&priority_active=true&session_id=s",
	}, paths)
}

func TestAnIteratorCanBeLeftAndStopsAtAnError(t *testing.T) {
	t.Parallel()
	var paths []string
	c := connect(t, pagesOf(250, &paths))
	for range c.AllSessions(t.Context(), client.SessionListParams{}) {
		break
	}
	require.Len(t, paths, 1)

	for _, err := range connect(t, http.NotFoundHandler()).AllApprovals(t.Context(), client.PendingListParams{}) {
		require.ErrorIs(t, err, client.ErrNotFound)
	}
}

func TestOpenRequestsOfOneSessionHaveTheirOwnRoute(t *testing.T) {
	t.Parallel()
	var paths []string
	c := connect(t, pagesOf(0, &paths))
	must(c.ListApprovals(t.Context(), client.PendingListParams{SessionID: "s"}))(t)
	must(c.ListApprovals(t.Context(), client.PendingListParams{SessionID: "s", Below: true}))(t)
	page := must(c.ListQuestions(t.Context(), client.PendingListParams{PageParams: client.PageParams{Limit: 7, Cursor: "3"}}))(t)
	require.Empty(t, page.Pagination.NextCursor)
	require.Equal(t, []string{"/v1/sessions/s/approvals?page=true", "/v1/approvals?page=true&session_id=s", "/v1/questions?cursor=3&limit=7&page=true"}, paths)
}

// The service gets a negative limit as it is, and refuses it.
func TestANegativeLimitIsSent(t *testing.T) {
	t.Parallel()
	var paths []string
	c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.RequestURI())
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"code":"invalid_request"}`)
	}))
	_, err := c.ListTokens(t.Context(), client.TokenListParams{Limit: -1})
	require.ErrorIs(t, err, client.ErrInvalid)
	_, err = c.ListAudit(t.Context(), client.AuditListParams{Limit: -1})
	require.ErrorIs(t, err, client.ErrInvalid)
	require.Equal(t, []string{"/v1/tokens?limit=-1", "/v1/audit?limit=-1"}, paths)
}

func TestEventsAreWalkedToTheNewest(t *testing.T) {
	t.Parallel()
	c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		after, _ := strconv.Atoi(r.URL.Query().Get("after"))
		entries := []map[string]any{}
		for id := after + 1; id <= min(after+limit, 5); id++ {
			entries = append(entries, map[string]any{"id": strconv.Itoa(id), "event": map[string]string{"type": "x"}})
		}
		text, _ := json.Marshal(entries)
		_, _ = w.Write(text)
	}))
	var ids []string
	for event, err := range c.AllSessionEvents(t.Context(), "s", client.EventListParams{After: "1", Limit: 2}) {
		require.NoError(t, err)
		ids = append(ids, event.ID)
	}
	require.Equal(t, []string{"2", "3", "4", "5"}, ids)
}

// The same page again and again, for example out of a cache, ends with an error.
func TestEventsThatDoNotGoOnEnd(t *testing.T) {
	t.Parallel()
	c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", `</v1/sessions/s/events?after=2>; rel="next"`)
		_, _ = io.WriteString(w, `[{"id":"1","event":{"type":"x"}},{"id":"2","event":{"type":"x"}}]`)
	}))
	var ids []string
	var failure error
	for event, err := range c.AllSessionEvents(t.Context(), "s", client.EventListParams{}) {
		if ids = append(ids, event.ID); err != nil || len(ids) > 10 {
			failure = err
			break
		}
	}
	require.ErrorIs(t, failure, client.ErrUnavailable)
	require.Equal(t, []string{"1", "2", ""}, ids)
}

func TestWaitRunRidesOutAnUnavailableService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		served := 0
		c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			served++
			switch {
			case served < 20:
				w.WriteHeader(503)
			case served == 20:
				assert.Equal(t, "wait=60", r.Header.Get("Prefer"))
				assert.Equal(t, "until=decided", r.URL.RawQuery)
				<-time.After(time.Minute) // the service holds the reply; the clock is the bubble's
				_, _ = io.WriteString(w, `{"run_id":"r","status":"waiting_for_approval"}`)
			default:
				_, _ = io.WriteString(w, `{"run_id":"r","status":"running"}`)
			}
		}))
		run := must(c.WaitRun(t.Context(), "r", client.UntilDecided))(t)
		require.Equal(t, api.StatusRunning, run.Status)
		require.Equal(t, 21, served)
	})
}
