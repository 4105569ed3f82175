package hermes_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// testStreams checks docs/spec/hermes.md#streams: every byte of each frame, and when it is sent.
func testStreams(t *testing.T, s *service) {
	parallel(t, "without a session", func(t *testing.T) {
		for _, kind := range []string{"approval", "clarify"} {
			for _, query := range []string{"", "?session_id=", "?session_id=&x=1"} {
				s.get(t, "/api/"+kind+"/stream"+query).is(http.StatusBadRequest, failed("session_id is required"))
			}
		}
	})
	parallel(t, "headers, frames and comments", func(t *testing.T) {
		made := s.waiting(t, `"approvals":[`+approval("a1", `"description":"line\nbreak"`, `"pattern_keys":["k"]`)+`],`+questions(free("q1")))
		stream, clarify := s.follow(t, "/api/approval/stream", made.SessionID), s.follow(t, "/api/clarify/stream", made.SessionID)
		for _, one := range []*reader{stream, clarify} {
			header := one.Response.Header
			require.Equal(t, []string{"text/event-stream; charset=utf-8"}, header["Content-Type"])
			require.Equal(t, []string{"no-cache"}, header["Cache-Control"])
			require.Equal(t, []string{"no"}, header["X-Accel-Buffering"])
			require.True(t, one.Response.Close, "Connection: close")
		}
		require.Equal(t, `event: initial`+"\n"+`data: {"pending":{"approval_id":"`+made.handle(t, "a1")+
			`","command":"make a1","description":"line\nbreak","pattern_key":"k","pattern_keys":["k"]},"pending_count":1}`, stream.next())
		require.Equal(t, fmt.Sprintf("event: initial\n"+
			`data: {"pending":{"clarify_id":%q,"question":"Why q1?","choices_offered":[],"session_id":%q,"kind":"clarify","requested_at":%s,"timeout_seconds":0,"expires_at":0},"pending_count":1}`,
			made.handle(t, "q1"), made.SessionID, seconds(made.PendingQuestions[0].CreatedAtMs)), clarify.next())
		require.Equal(t, ": keepalive", stream.next())
		s.respond(t, made.SessionID, `"choice":"once"`).is(http.StatusOK, chose("once"))
		text := stream.next()
		for text == ": keepalive" {
			text = stream.next()
		}
		require.Equal(t, "event: approval\n"+`data: {"pending":null,"pending_count":0}`, text)
		require.Equal(t, ": keepalive", clarify.next(), "an approval does not concern the other stream")
	})
	parallel(t, "a prompt behind the first, and settled ones", func(t *testing.T) {
		worker := s.attached(t)
		stream := s.follow(t, "/api/approval/stream", worker.SessionID)
		stream.shows("initial", "", 0)
		made := s.raise(t, worker, approvals("a1"))
		stream.shows("approval", made.handle(t, "a1"), 1)
		made = s.raise(t, worker, approvals("a2"))
		stream.shows("approval", made.handle(t, "a1"), 2)
		made = s.raise(t, worker, approvals("a3"))
		stream.shows("approval", made.handle(t, "a1"), 3)

		s.post(t, "/v1/runs/"+made.RunID+"/approvals", `{"resolutions":[{"request_id":"a2","behavior":"allow"}]}`).Into(nil)
		stream.shows("approval", made.handle(t, "a1"), 2)
		s.respond(t, made.SessionID, `"choice":"deny"`).is(http.StatusOK, chose("deny"))
		stream.shows("approval", made.handle(t, "a3"), 1)
		s.post(t, "/v1/runs/"+made.RunID+"/cancel", "").Into(nil)
		stream.shows("approval", "", 0)
	})
	parallel(t, "a person who sees a prompt can answer it at once", func(t *testing.T) {
		session := runs.NewID("session")
		stream := s.follow(t, "/api/approval/stream", session)
		stream.shows("initial", "", 0)
		for range 20 {
			var all sync.WaitGroup
			all.Go(func() { s.waitingIn(t, session, approvals("a1")) })
			data := stream.Frame().Data
			s.respond(t, session, `"choice":"deny","approval_id":"`+headOf(t, data)+`"`).is(http.StatusOK, chose("deny"))
			stream.shows("approval", "", 0)
			all.Wait()
			var view struct {
				ActiveRun struct {
					RunID string `json:"run_id"`
				} `json:"active_run"`
			}
			s.get(t, "/v1/sessions/"+session).Into(&view)
			s.post(t, "/v1/runs/"+view.ActiveRun.RunID+"/cancel", "").Into(nil)
		}
	})
	parallel(t, "interrupted, ended, withdrawn and expired", func(t *testing.T) {
		for name, settle := range map[string]func(t *testing.T, made attached){
			"interrupt": func(t *testing.T, made attached) {
				s.post(t, "/v1/sessions/"+made.SessionID+"/interrupt", "").Into(nil)
			},
			"end": func(t *testing.T, made attached) { s.post(t, "/v1/sessions/"+made.SessionID+"/end", "").Into(nil) },
			"complete": func(t *testing.T, made attached) {
				s.post(t, "/v1/runs/"+made.RunID+"/complete", fmt.Sprintf(`{"fence":%q}`, made.fence)).Into(nil)
			},
			"withdraw": func(t *testing.T, made attached) {
				for _, id := range []string{"a1", "q1"} {
					s.post(t, "/v1/runs/"+made.RunID+"/requests/"+id+"/withdraw", fmt.Sprintf(`{"fence":%q}`, made.fence)).Into(nil)
				}
			},
		} {
			worker := s.attached(t)
			made := s.raise(t, worker, approvals("a1")+","+questions(free("q1")))
			for kind, id := range map[string]string{"approval": "a1", "clarify": "q1"} {
				t.Log(name, kind)
				stream := s.follow(t, "/api/"+kind+"/stream", worker.SessionID)
				stream.shows("initial", made.handle(t, id), 1)
				defer stream.shows(kind, "", 0)
			}
			settle(t, worker)
		}
		made := s.waiting(t, questions(free("q1", `"expires_after_ms":400`)))
		stream := s.follow(t, "/api/clarify/stream", made.SessionID)
		stream.shows("initial", made.handle(t, "q1"), 1)
		stream.shows("clarify", "", 0)
		require.Equal(t, api.StatusCancelled, s.now(t, made).Status)
	})
	parallel(t, "a reconnect shows what is open then, and no ghost", func(t *testing.T) {
		made := s.waiting(t, approvals("a1", "a2"))
		first := s.follow(t, "/api/approval/stream", made.SessionID)
		first.shows("initial", made.handle(t, "a1"), 2)
		_ = first.Response.Body.Close()
		s.respond(t, made.SessionID, `"choice":"once"`).is(http.StatusOK, chose("once"))
		s.follow(t, "/api/approval/stream", made.SessionID).shows("initial", made.handle(t, "a2"), 1)
		s.respond(t, made.SessionID, `"choice":"once"`).is(http.StatusOK, chose("once"))
		s.follow(t, "/api/approval/stream", made.SessionID).shows("initial", "", 0)
	})
}

// testLongStreams checks the surroundings of a stream: sessions that start and end, other events,
// and many followers.
func testLongStreams(t *testing.T, s *service) {
	parallel(t, "a session that is not there, or cannot be", func(t *testing.T) {
		for _, session := range []string{"\x00", "a/b", "é", strings.Repeat("s", 300)} {
			stream := s.follow(t, "/api/approval/stream", session)
			stream.shows("initial", "", 0)
			require.Equal(t, ": keepalive", stream.next())
			require.Equal(t, ": keepalive", stream.next())
		}
		session := runs.NewID("session")
		streams := []*reader{s.follow(t, "/api/approval/stream", session), s.follow(t, "/api/approval/stream", session)}
		for _, stream := range streams {
			stream.shows("initial", "", 0)
			require.Equal(t, ": keepalive", stream.next())
		}
		made := s.waitingIn(t, session, approvals("a1"))
		for _, stream := range streams {
			stream.shows("approval", made.handle(t, "a1"), 1)
		}
		s.respond(t, session, `"choice":"once"`).is(http.StatusOK, chose("once"))
		for _, stream := range streams {
			stream.shows("approval", "", 0)
		}
	})
	parallel(t, "a session that has ended", func(t *testing.T) {
		made := s.waiting(t, approvals("a1"))
		stream := s.follow(t, "/api/approval/stream", made.SessionID)
		stream.shows("initial", made.handle(t, "a1"), 1)
		s.post(t, "/v1/sessions/"+made.SessionID+"/end", "").Into(nil)
		stream.shows("approval", "", 0)
		late := s.follow(t, "/api/approval/stream", made.SessionID)
		late.shows("initial", "", 0)
		for range 3 {
			require.Equal(t, ": keepalive", stream.next())
			require.Equal(t, ": keepalive", late.next())
		}
	})
	parallel(t, "comments come although the worker talks", func(t *testing.T) {
		worker := s.attached(t)
		made := s.raise(t, worker, approvals("a1"))
		stream := s.follow(t, "/api/approval/stream", made.SessionID)
		stream.shows("initial", made.handle(t, "a1"), 1)
		stop, stopped := make(chan struct{}), make(chan error)
		go func() {
			for {
				select {
				case <-stop:
					stopped <- nil
					return
				default:
				}
				if _, err := s.Store.Do(t.Context(), &runs.AppendEvents{
					RunID: made.RunID, Fence: 1, Events: []api.JSON{api.JSON(`{"type":"delta","text":"x"}`)},
				}); err != nil {
					stopped <- err
					return
				}
			}
		}()
		for range 5 {
			require.Equal(t, ": keepalive", stream.next(), "and nothing else")
		}
		close(stop)
		require.NoError(t, <-stopped)
	})
	parallel(t, "many who follow one session", func(t *testing.T) {
		worker := s.attached(t)
		streams := make([]*reader, 50)
		for i := range streams {
			streams[i] = s.follow(t, "/api/approval/stream", worker.SessionID)
			streams[i].shows("initial", "", 0)
		}
		made := s.raise(t, worker, approvals("a1"))
		for _, stream := range streams {
			stream.shows("approval", made.handle(t, "a1"), 1)
		}
		s.respond(t, made.SessionID, `"choice":"once"`).is(http.StatusOK, chose("once"))
		for _, stream := range streams {
			stream.shows("approval", "", 0)
		}
	})
}

// TestDrainEndsStreams checks that the service ends all streams when it stops.
func TestDrainEndsStreams(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	s := serve(t, store)
	made, over := s.waiting(t, approvals("a1")), s.waiting(t, approvals("a1"))
	s.post(t, "/v1/sessions/"+over.SessionID+"/end", "").Into(nil)
	var streams []*reader
	for _, session := range []string{made.SessionID, over.SessionID, "nobody", "a/b"} {
		stream := s.follow(t, "/api/approval/stream", session)
		stream.Frame()
		streams = append(streams, stream)
	}
	s.API.Drain()
	for _, stream := range streams {
		stream.Ends()
	}
	s.get(t, path("/api/approval/stream", "s")).is(http.StatusServiceUnavailable, failed("the service is shutting down; try again"))
	s.respond(t, made.SessionID, `"choice":"once"`).is(http.StatusOK, chose("once"))
}

// TestASessionIDThatIsUsedAgain checks that a stream that is still open on an ended session hides nothing
// of a later session with its id, and ends.
func TestASessionIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, dialecttest.SQLite(t))
	worker := s.attached(t)
	session := worker.SessionID
	open := s.follow(t, "/api/approval/stream", session)
	open.shows("initial", "", 0)
	for i := range 5 { // its log is longer than the next session's
		made := s.raise(t, worker, approvals(fmt.Sprintf("a%d", i)))
		open.shows("approval", made.handle(t, "a0"), i+1)
	}
	s.post(t, "/v1/sessions/"+session+"/end", "").Into(nil)
	open.shows("approval", "", 0)
	for more := true; more; {
		more = storetest.TrimSession(t, s.Store, session, time.Now().Add(time.Hour).UnixMilli(), 1_000).More
	}
	s.get(t, "/v1/sessions/"+session).Want(http.StatusNotFound)

	made := s.waitingIn(t, session, approvals("b1"))
	later := s.follow(t, "/api/approval/stream", session)
	later.shows("initial", made.handle(t, "b1"), 1)
	open.Ends() // its client reconnects
	s.respond(t, session, `"choice":"once"`).is(http.StatusOK, chose("once"))
	later.shows("approval", "", 0)
}

// TestAReachedRunOfAnUnreachedSession checks that a token that reaches a run but not its session sees what the run waits
// for, although it has no log to follow.
func TestAReachedRunOfAnUnreachedSession(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	keyring := auth.NewKeyring(auth.Options{
		Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() },
	})
	s := serve(t, store, func(o *httpapi.Options) { o.Keyring = keyring })
	token := func(body api.CreateTokenBody) dialecttest.Option {
		made, _, err := keyring.Create(t.Context(), &body, "user:test", "")
		require.NoError(t, err)
		return dialecttest.Header("Authorization", "Bearer "+made.Secret)
	}
	admin, bound := token(api.CreateTokenBody{Name: "all", Role: api.RoleAdmin}), token(api.CreateTokenBody{Name: "bound", Role: api.RoleOperator, AgentIDs: []string{"coder"}})
	s.post(t, "/v1/sessions", `{"session_id":"shared","agent_id":"planner"}`, admin).Want(http.StatusCreated)
	waiting := func(agentID string) (made run) {
		s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":"shared","agent_id":%q,"kind":"call","input":"go","suspend":{%s,%s}}`,
			agentID, approvals("a1"), questions(free("q1"))), admin).Into(&made)
		return made
	}
	waiting("planner")
	follow := func(kind string) *reader {
		return &reader{s.Follow(t, http.MethodGet, path("/api/"+kind+"/stream", "shared"), "", bound)}
	}
	stream, clarify := follow("approval"), follow("clarify")
	for _, one := range []*reader{stream, clarify} {
		one.shows("initial", "", 0)
		require.Equal(t, ": keepalive", one.next())
	}
	made := waiting("coder")
	stream.shows("approval", made.handle(t, "a1"), 1)
	clarify.shows("clarify", made.handle(t, "q1"), 1)
	s.respond(t, "shared", `"choice":"once"`, bound).is(http.StatusOK, chose("once"))
	stream.shows("approval", "", 0)
	s.clarify(t, "shared", `"response":"because"`, bound).is(http.StatusOK, took("because"))
	clarify.shows("clarify", "", 0)
}
