package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// scripted answers each connection of a stream with its next reply, and reports the session
// as alive unless told otherwise.
type scripted struct {
	mu      sync.Mutex
	replies []string
	asked   []string // the Last-Event-ID of each
	view    string
	events  string
	// resetAfter is the event after which some were deleted.
	resetAfter string
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/stream"):
		s.asked = append(s.asked, r.Header.Get("Last-Event-ID"))
		if len(s.replies) == 0 {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		reply := s.replies[0]
		s.replies = s.replies[1:]
		reply, later := strings.CutSuffix(reply, " later")
		if status, err := strconv.Atoi(reply); err == nil {
			if later {
				w.Header().Set("Retry-After", "3600")
			}
			w.WriteHeader(status)
			return
		}
		reply, cut := strings.CutSuffix(reply, "CUT")
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, reply)
		w.(http.Flusher).Flush()
		if cut {
			panic(http.ErrAbortHandler)
		}
	case strings.HasSuffix(r.URL.Path, "/events"):
		if s.resetAfter != "" && r.URL.Query().Get("after") == s.resetAfter {
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"code":"event_cursor_reset","domain":"events","first_kept_event_id":"41"}`)
			return
		}
		w.Header().Set("Link", `</next>; rel="next"`)
		fmt.Fprint(w, s.events)
	default:
		fmt.Fprint(w, s.view)
	}
}

func (s *scripted) connect(t *testing.T) *client.Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	c, err := client.New(server.URL, client.WithRetry(client.RetryPolicy{MaxAttempts: 2, BaseDelay: time.Millisecond, MaxDelay: time.Millisecond, MaxRetryAfter: time.Millisecond}))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func event(id int, name string) string {
	return fmt.Sprintf("id: %d\nevent: %s\ndata: {\"id\":\"%d\",\"run_id\":\"r\",\"session_id\":\"s\",\"event\":{\"type\":%q}}\n\n", id, name, id, name)
}

const (
	sessionAt2 = "retry: 1000\n\nid: 2\nevent: snapshot\ndata: {\"session_id\":\"s\",\"status\":\"idle\",\"last_event_id\":\"2\"}\n\n"
	runAt2     = "retry: 1000\n\nid: 2\nevent: snapshot\ndata: {\"run_id\":\"r\",\"status\":\"running\"}\n\n"
	alive      = `{"session_id":"s","run_id":"r","status":"running","last_event_id":"2"}`
)

// readItems names the items of a stream, at most limit of them.
func readItems(stream func(func(client.StreamEvent, error) bool), limit int) (list []string, err error) {
	for item, failure := range stream {
		switch {
		case failure != nil:
			return list, failure
		case item.Session != nil:
			list = append(list, "session "+item.ID)
		case item.Run != nil:
			list = append(list, "run "+item.ID)
		case item.Inbox != nil:
			list = append(list, fmt.Sprint("inbox ", len(item.Inbox.PendingApprovals), item.Inbox.More))
		case item.Event != nil && item.ID == "":
			list = append(list, item.Event.SessionID+":"+item.Event.ID)
		case item.Event != nil:
			list = append(list, item.ID)
		default:
			list = append(list, "gap "+item.Gap)
		}
		if len(list) == limit {
			break
		}
	}
	return list, nil
}

func TestStreamGoesOnAfterCuts(t *testing.T) {
	t.Parallel()
	service := &scripted{view: alive, replies: []string{
		"503", sessionAt2 + event(3, "x") + "id: 4\nevent: cutCUT", "503", "503 later", "503",
		event(3, "x") + event(4, "snapshot"), event(5, "stream_gap") + ": keepalive\n\nCUT", event(6, "x"),
	}}
	list, err := readItems(service.connect(t).StreamSession(t.Context(), "s", ""), 5)
	require.NoError(t, err)
	require.Equal(t, []string{"session 2", "3", "4", "5", "6"}, list, "each once, whatever its name")
	require.Equal(t, []string{"", "", "3", "3", "3", "3", "4", "5"}, service.asked)
}

// A proxy without a backend says nothing about the session, except before the first frame, when the
// URL may be wrong.
func TestStreamOutlastsAProxyWithoutABackend(t *testing.T) {
	t.Parallel()
	service := &scripted{view: alive, replies: []string{sessionAt2, "404", "500", event(3, "x")}}
	list, err := readItems(service.connect(t).StreamSession(t.Context(), "s", ""), 2)
	require.NoError(t, err)
	require.Equal(t, []string{"session 2", "3"}, list)
	wrong := &scripted{view: alive, replies: []string{"404", sessionAt2}}
	_, err = readItems(wrong.connect(t).StreamSession(t.Context(), "s", ""), 1)
	require.ErrorIs(t, err, client.ErrNotFound)
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	t.Run("with the run's last event", func(t *testing.T) {
		t.Parallel()
		service := &scripted{replies: []string{runAt2 + event(3, "x") + event(4, "completed")}}
		list, err := readItems(service.connect(t).StreamRun(t.Context(), "r", ""), 0)
		require.NoError(t, err)
		require.Equal(t, []string{"run 2", "3", "4"}, list)
	})
	t.Run("not with a failure that was retried", func(t *testing.T) {
		t.Parallel()
		service := &scripted{view: `{"run_id":"r","status":"completed"}`, events: `[{"id":"4","event":{"type":"run_retried"}}]`, replies: []string{
			event(3, "failed"), event(4, "run_retried") + event(5, "completed"),
		}}
		list, err := readItems(service.connect(t).StreamRun(t.Context(), "r", "2"), 0)
		require.NoError(t, err)
		require.Equal(t, []string{"3", "4", "5"}, list)
		require.Equal(t, []string{"2", "3"}, service.asked)
	})
	t.Run("with a failure", func(t *testing.T) {
		t.Parallel()
		service := &scripted{view: `{"run_id":"r","status":"failed"}`, events: `[]`, replies: []string{event(3, "failed")}}
		list, err := readItems(service.connect(t).StreamRun(t.Context(), "r", "2"), 0)
		require.NoError(t, err)
		require.Equal(t, []string{"3"}, list)
	})
	t.Run("with the snapshot of what is over", func(t *testing.T) {
		t.Parallel()
		over := strings.Replace(runAt2, "running", "failed", 1)
		list, err := readItems((&scripted{replies: []string{over}}).connect(t).StreamRun(t.Context(), "r", ""), 0)
		require.NoError(t, err)
		require.Equal(t, []string{"run 2"}, list)
	})
	t.Run("with nothing left of a run", func(t *testing.T) {
		t.Parallel()
		service := &scripted{view: `{"run_id":"r","status":"completed"}`, events: `[]`, replies: []string{"retry: 1000\n\n"}}
		list, err := readItems(service.connect(t).StreamRun(t.Context(), "r", "7"), 0)
		require.NoError(t, err)
		require.Empty(t, list)
	})
	t.Run("with the session, whose end is not an event", func(t *testing.T) {
		t.Parallel()
		service := &scripted{view: `{"session_id":"s","status":"ended","last_event_id":"4"}`, replies: []string{sessionAt2 + event(3, "x"), event(4, "x")}}
		list, err := readItems(service.connect(t).StreamSession(t.Context(), "s", ""), 0)
		require.NoError(t, err)
		require.Equal(t, []string{"session 2", "3", "4"}, list, "not before the last event")
	})
}

func TestStreamThatIsAhead(t *testing.T) {
	t.Parallel()
	service := &scripted{view: alive, replies: []string{"retry: 1000\n\nevent: stream_gap\ndata: {\"reason\":\"ahead\"}\n\nCUT", sessionAt2 + event(3, "x")}}
	list, err := readItems(service.connect(t).StreamSession(t.Context(), "s", "9"), 3)
	require.NoError(t, err)
	require.Equal(t, []string{"gap ahead", "session 2", "3"}, list)
	require.Equal(t, []string{"9", ""}, service.asked)
}

func TestStreamOfARunThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	service := &scripted{view: `{"run_id":"r","status":"completed"}`, resetAfter: "7", replies: []string{
		"retry: 1000\n\n", "event: stream_gap\ndata: {\"reason\":\"reset\"}\n\n" + strings.Replace(runAt2, "running", "completed", 1),
	}}
	list, err := readItems(service.connect(t).StreamRun(t.Context(), "r", "7"), 0)
	require.NoError(t, err)
	require.Equal(t, []string{"gap reset", "run 2"}, list, "it is not taken for complete")
}

// If a log is shortened during the iteration, the error says where it begins now.
func TestEventsThatAreNotKept(t *testing.T) {
	t.Parallel()
	service := &scripted{resetAfter: "7", events: `[{"id":"6","event":{"type":"x"}},{"id":"7","event":{"type":"x"}}]`}
	c := service.connect(t)
	for name, walk := range map[string]iter.Seq2[api.RunEventEntry, error]{
		"session": c.AllSessionEvents(t.Context(), "s", client.EventListParams{}),
		"run":     c.AllRunEvents(t.Context(), "r", client.EventListParams{Limit: 2}),
	} {
		var seen []string
		var failure error
		for entry, err := range walk {
			if failure = err; err == nil {
				seen = append(seen, entry.ID)
			}
		}
		require.Equal(t, []string{"6", "7"}, seen, name)
		require.ErrorIs(t, failure, client.ErrCursorReset)
		var refused *client.Error
		require.ErrorAs(t, failure, &refused)
		require.Equal(t, "41", refused.FirstKeptEventID)
	}
}

func TestStreamThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		replies []string
		after   string
		want    error
	}{
		"an id that is none":            {after: "x", want: client.ErrInvalid},
		"refused":                       {},
		"never there":                   {replies: []string{"503", "503", sessionAt2}, want: client.ErrUnavailable},
		"no snapshot":                   {replies: []string{event(3, "x")}},
		"an event without an id":        {replies: []string{sessionAt2 + "event: x\ndata: {}\n\n"}},
		"an event that is not JSON":     {replies: []string{sessionAt2 + "id: 3\nevent: x\ndata: {\n\n"}},
		"an event of another id":        {replies: []string{sessionAt2 + strings.Replace(event(3, "x"), "id: 3", "id: 4", 1)}},
		"a gap without a reason":        {after: "9", replies: []string{"event: stream_gap\ndata: {}\n\n"}},
		"a snapshot that is not a view": {replies: []string{"id: 1\nevent: snapshot\ndata: 7\n\n"}},
		"a snapshot that is null":       {replies: []string{"id: 1\nevent: snapshot\ndata: null\n\n"}},
		"a gap that nobody asked for":   {replies: []string{"event: stream_gap\ndata: {\"reason\":\"ahead\"}\n\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &scripted{view: alive, replies: test.replies}
			_, err := readItems(service.connect(t).StreamSession(t.Context(), "s", test.after), 0)
			require.Error(t, err)
			if test.want != nil {
				require.ErrorIs(t, err, test.want)
			} else {
				require.NotErrorIs(t, err, client.ErrUnavailable, "not worth trying again")
			}
		})
	}
}

// The service ignores such an id, and its snapshot would be read as an event.
func TestAnIDThatTheServiceIgnoresIsRefused(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"007", "+5", "-1", "5.", "5.abcdef", "5.ABCDEF0", "5.abcdefg", " 5", "5\n", "9223372036854775808"} {
		service := &scripted{view: alive, replies: []string{sessionAt2}}
		_, err := readItems(service.connect(t).StreamSession(t.Context(), "s", after), 1)
		require.ErrorIs(t, err, client.ErrInvalid, "%q", after)
		require.Empty(t, service.asked, "%q", after)
	}
	for _, after := range []string{"0", "1", "2.abcdef0", "2." + strings.Repeat("0", 64), "999999999999999999"} {
		service := &scripted{view: alive, replies: []string{"event: stream_gap\ndata: {\"reason\":\"ahead\"}\n\n"}}
		list, err := readItems(service.connect(t).StreamSession(t.Context(), "s", after), 1)
		require.NoError(t, err, "%q", after)
		require.Equal(t, []string{"gap ahead"}, list)
		require.Equal(t, []string{after}, service.asked)
	}
}

func TestStreamOfTheInbox(t *testing.T) {
	t.Parallel()
	const (
		empty = "retry: 1000\n\nevent: snapshot\ndata: {\"pending_approvals\":[],\"pending_questions\":[]}\n\n"
		full  = "event: snapshot\ndata: {\"pending_approvals\":[{\"session_id\":\"s\"}],\"pending_questions\":[],\"more\":true}\n\n"
		gap   = "event: stream_gap\ndata: {\"reason\":\"missed\"}\n\n"
	)
	raised := strings.TrimPrefix(event(3, "waiting_for_approval"), "id: 3\n")
	service := &scripted{replies: []string{"503", empty + raised + raised + gap + full + raised + "CUT", "503", full, empty + raised}}
	list, err := readItems(service.connect(t).StreamInbox(t.Context()), 11)
	require.NoError(t, err)
	require.Equal(t, []string{
		"inbox 0 false", "s:3", "s:3", "gap missed", "inbox 1 true", "s:3", "gap lost", "inbox 1 true", "gap lost", "inbox 0 false", "s:3",
	}, list, "an event may come twice, each connection begins with a snapshot, and a lost one is said once")
	require.Equal(t, []string{"", "", "", "", ""}, service.asked)

	for name, reply := range map[string]string{
		"a snapshot that is null": "event: snapshot\ndata: null\n\n", "an event that is null": empty + "event: x\ndata: null\n\n",
		"no snapshot": raised, "a snapshot with an id": "id: 1\n" + full, "an event with an id": empty + event(3, "x"),
		"a gap without a snapshot": empty + gap + raised, "a gap without a reason": empty + "event: stream_gap\ndata: {}\n\n",
	} {
		_, err := readItems((&scripted{replies: []string{reply}}).connect(t).StreamInbox(t.Context()), 0)
		require.ErrorContains(t, err, "unreadable stream", name)
		require.NotErrorIs(t, err, client.ErrUnavailable, name)
	}
}

func TestStreamEndsWithItsContext(t *testing.T) {
	t.Parallel()
	service := &scripted{view: alive, replies: []string{sessionAt2}}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough := errors.New("enough")
	var failed error
	for item, err := range service.connect(t).StreamSession(ctx, "s", "") {
		if failed = err; item.Session != nil {
			cancel(enough)
		}
	}
	require.ErrorIs(t, failed, context.Canceled)
	require.ErrorIs(t, failed, enough)
}
