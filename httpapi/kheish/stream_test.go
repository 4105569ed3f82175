package kheish_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/kheish"
	"github.com/holdpoint/holdpoint/runs"
)

// A run that cannot be read ends the stream, and the reader, which resumes after its last id, gets it then.
func TestARunThatCannotBeReadEndsTheStream(t *testing.T) {
	t.Parallel()
	refusals := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusUnauthorized}
	var flushed error
	v1 := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/sessions/s/stream":
			frame := func(id int, name, runID string) {
				_, err := fmt.Fprintf(w, "id: %d.0000001ff\nevent: %s\ndata: {\"run_id\":%q,\"event\":{\"type\":%[2]q,\"output\":{\"content\":\"hi\"}}}\n\n", id, name, runID)
				require.NoError(t, err)
			}
			frame(4, "output", "a")
			frame(5, "started", "a")
			frame(6, "started", "deleted")
			frame(7, "waiting_for_approval", "b")
			frame(8, "output", "a")
			flushed = http.NewResponseController(w).Flush()
		case "/v1/runs/deleted":
			w.WriteHeader(http.StatusNotFound)
		case "/v1/runs/b":
			if len(refusals) > 0 {
				w.WriteHeader(refusals[0])
				refusals = refusals[1:]
				return
			}
			fallthrough
		default:
			_, _ = fmt.Fprintf(w, `{"path":%q}`, r.URL.Path)
		}
	})
	follow := func() string {
		reply := httptest.NewRecorder()
		kheish.Face(nil).Over(v1).ServeHTTP(reply, httptest.NewRequest(http.MethodGet, "/kheish/v1/sessions/s/stream", nil))
		return reply.Body.String()
	}
	const output = "event: output\ndata: {\"output\":{\"content\":\"hi\"},\"type\":\"output\"}\n\n"
	first := "id: 4294967300\n" + output
	for range 3 {
		require.Equal(t, first, follow())
		require.Error(t, flushed)
	}
	// The id comes last: a connection that breaks before it loses nothing either.
	require.Equal(t, first+output+
		"event: run_updated\ndata: {\"run\":{\"path\":\"/v1/runs/a\"},\"type\":\"run_updated\"}\n\n"+
		"id: 4294967304\nevent: run_updated\ndata: {\"run\":{\"path\":\"/v1/runs/b\"},\"type\":\"run_updated\"}\n\n", follow())
	require.NoError(t, flushed)
}

// A heartbeat is the service's, and a worker's event of that name is left out like others that the clients do not know.
func TestAWorkersHeartbeatIsNotTheServices(t *testing.T) {
	t.Parallel()
	v1 := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, "id: 4.0000001ff\nevent: heartbeat\ndata: {\"run_id\":\"a\",\"event\":{\"type\":\"heartbeat\"}}\n\n: keepalive\n\n")
		_ = http.NewResponseController(w).Flush()
	})
	reply := httptest.NewRecorder()
	kheish.Face(nil).Over(v1).ServeHTTP(reply, httptest.NewRequest(http.MethodGet, "/kheish/v1/sessions/s/stream", nil))
	require.Equal(t, "event: heartbeat\ndata: {\"type\":\"heartbeat\"}\n\n", reply.Body.String())
}

// Many runs are read and sent a few at a time, so that a reader that comes back begins further on, and a run that no
// attempt reads does not keep the others.
func TestManyUpdatedRunsAreSentAFewAtATime(t *testing.T) {
	t.Parallel()
	reads, readBefore := 0, []int{}
	v1 := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/sessions/s/stream":
			for id := range 40 {
				_, _ = fmt.Fprintf(w, "id: %d.0000001ff\nevent: started\ndata: {\"run_id\":\"run-%[1]d\",\"event\":{\"type\":\"started\"}}\n\n", id+1)
				readBefore = append(readBefore, reads)
			}
			_ = http.NewResponseController(w).Flush()
		case "/v1/runs/run-20":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			reads++
			_, _ = fmt.Fprintf(w, `{"path":%q}`, r.URL.Path)
		}
	})
	reply := httptest.NewRecorder()
	kheish.Face(nil).Over(v1).ServeHTTP(reply, httptest.NewRequest(http.MethodGet, "/kheish/v1/sessions/s/stream", nil))
	require.Equal(t, 39, strings.Count(reply.Body.String(), "event: run_updated"))
	require.Equal(t, []int{0, 16}, []int{readBefore[14], readBefore[15]})
	require.Contains(t, reply.Body.String(), "id: 4294967312\nevent: run_updated\ndata: {\"run\":{\"path\":\"/v1/runs/run-16\"}")
	require.Contains(t, reply.Body.String(), "id: 4294967336\n")
}

// The runs of a stream by ticket are read as the ticket's caller, even if the browser has a cookie of another sign-in.
func TestAStreamByTicketShowsWhatTheTicketReaches(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	keyring := auth.NewKeyring(auth.Options{
		Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() },
	})
	c := &cli{dialecttest.Serve(t, store, nil, func(o *httpapi.Options) { o.Keyring, o.KeepAlive = keyring, 20*time.Millisecond }), t}
	token := func(body api.CreateTokenBody) dialecttest.Option {
		made, _, err := keyring.Create(t.Context(), &body, "user:test", "")
		require.NoError(t, err)
		return dialecttest.Header("Authorization", "Bearer "+made.Secret)
	}
	admin, bound := token(api.CreateTokenBody{Name: "all", Role: api.RoleAdmin}), token(api.CreateTokenBody{Name: "bound", Role: api.RoleObserver, AgentIDs: []string{"nobody"}})
	host := func(r *http.Request) { r.Host = "192.0.2.1" } // not a loopback address, where pages have no cookie
	signedIn := c.Post(t, "/v1/login", "", bound, host, dialecttest.Header("Sec-Fetch-Site", "same-origin")).Want(http.StatusOK)
	cookie, _, _ := strings.Cut(signedIn.Header.Get("Set-Cookie"), ";")
	require.NotEmpty(t, cookie)

	run := c.Post(t, "/v1/runs", `{"session_id":"one","input":"go","suspend":`+twoApprovals+`}`, admin).Want(http.StatusAccepted).TextAt("run_id")
	const path = "/kheish/v1/sessions/one/stream"
	ticket := c.Post(t, "/v1/stream-tickets", `{"path":"`+path+`"}`, admin).Want(http.StatusCreated).TextAt("ticket")
	stream := c.Follow(t, http.MethodGet, path+"?ticket="+ticket, "", host, dialecttest.Header("Cookie", cookie))
	name, _, _ := c.frame(stream)
	require.Equal(t, "session_snapshot", name)
	c.Post(t, "/v1/runs/"+run+"/cancel", "", admin).Want(http.StatusOK)
	c.until(stream, "run_updated", func(data any) bool { return text(data, "run", "status") == "cancelled" })
}
