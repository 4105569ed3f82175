package watch

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// cutOff returns a screen whose snapshot has one of the requests that the service lists, and the lists.
func cutOff(t *testing.T, ids ...string) (s *screen, fail *bool) {
	t.Helper()
	fail = new(bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if *fail {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"code":"forbidden","status":403,"title":"No","detail":"not for you"}`)
			return
		}
		page := api.Page[api.PendingApprovalView]{Items: []api.PendingApprovalView{}}
		if strings.HasSuffix(r.URL.Path, "/approvals") {
			for _, id := range ids {
				page.Items = append(page.Items, api.PendingApprovalView{SessionID: "s", RunID: "r", Request: asked(id, `{}`)})
			}
		}
		if err := json.MarshalWrite(w, page); err != nil {
			panic(err)
		}
	}))
	t.Cleanup(server.Close)
	opened, err := client.New(server.URL)
	require.NoError(t, err)
	t.Cleanup(opened.Close)
	s = screenOf()
	s.ctx, s.client = t.Context(), opened
	s.take(&client.StreamEvent{Inbox: &api.InboxView{More: true, PendingApprovals: []api.PendingApprovalView{
		{SessionID: "s", RunID: "r", Request: asked("b1", `{}`)},
	}}})
	return s, fail
}

func settled(id string) *client.StreamEvent {
	return &client.StreamEvent{Event: &api.RunEventEntry{SessionID: "s", RunID: "r", Event: api.JSON(
		`{"type":"approval_resolved","resolutions":[{"request_id":"` + id + `","outcome":"denied","resolved_by":"ada","via":"api:inbox"}]}`)}}
}

func handles(s *screen) (all []string) {
	for i := range s.items {
		all = append(all, s.items[i].handle())
	}
	return all
}

// A snapshot that the service cut off is completed from the lists. A request that was settled while
// they were read does not come back, and what stood in the list does not move.
func TestACutSnapshotIsCompleted(t *testing.T) {
	t.Parallel()
	s, _ := cutOff(t, "a0", "a1", "a2", "b1")
	s.press("j")
	require.Contains(t, s.text(), "1 request and more")
	read := s.readRest()
	require.NotNil(t, read)
	require.Nil(t, s.readRest(), "it is being read")
	message := read()
	_, _ = s.Update(*settled("a1"))
	_, _ = s.Update(message)
	require.Equal(t, []string{"h-b1", "h-a0", "h-a2"}, handles(s))
	require.Equal(t, "h-b1", s.chosen)
	require.Contains(t, s.text(), "1 of 3 requests ·")
	require.Nil(t, s.readRest())
}

// What was read for an earlier snapshot is dropped.
func TestANewSnapshotReplacesWhatWasRead(t *testing.T) {
	t.Parallel()
	s, _ := cutOff(t, "a1", "b1")
	message := s.readRest()()
	s.take(&client.StreamEvent{Inbox: &api.InboxView{}})
	_, _ = s.Update(message)
	require.Empty(t, s.items)
	require.Contains(t, s.text(), "Nothing waits for you.")
}

// While the rest cannot be read, the list does not say that nothing waits.
func TestARestThatCannotBeReadIsReadAgain(t *testing.T) {
	t.Parallel()
	s, fail := cutOff(t, "a1", "b1")
	at := s.now()
	s.now = func() time.Time { return at }
	*fail = true
	_, _ = s.Update(s.readRest()())
	require.Contains(t, s.note, "not for you")
	require.Nil(t, s.readRest(), "not at once")
	s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "s", RunID: "r2", Event: api.JSON(
		`{"type":"waiting_for_approval","requests":[{"id":"a1","handle":"h-a1","tool_call_id":"c","tool_name":"bash","input":{}}]}`)}})
	s.take(settled("b1"))
	require.NotContains(t, s.text(), "Nothing waits for you.")
	*fail, at = false, at.Add(restEvery)
	_, _ = s.Update(s.readRest()())
	require.Equal(t, []string{"h-a1", "h-b1"}, handles(s))
	require.Nil(t, s.readRest())
}

// Of a very long list, the rest follows when half of what is shown is decided.
func TestALongListFollows(t *testing.T) {
	t.Parallel()
	ids := make([]string, mostRequests+1)
	for i := range ids {
		ids[i] = "c" + strings.Repeat("0", i%7) + time.Duration(i).String()
	}
	s, _ := cutOff(t, ids...)
	at := s.now()
	s.now = func() time.Time { return at }
	_, _ = s.Update(s.readRest()())
	require.Len(t, s.items, mostRequests+1, "and the one of the snapshot")
	require.Contains(t, s.text(), "and more")
	at = at.Add(time.Hour)
	require.Nil(t, s.readRest())
	s.items = s.items[:mostRequests/2]
	require.NotNil(t, s.readRest())
}
