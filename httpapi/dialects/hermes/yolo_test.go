package hermes_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func drained(count int) string {
	return fmt.Sprintf("{\n  \"ok\": true,\n  \"choice\": \"once\",\n  \"yolo_enabled\": false,\n  \"resolved_count\": %d\n}", count)
}

// testYolo holds docs/spec/hermes.md#all-at-once.
func testYolo(t *testing.T, s *service) {
	parallel(t, "once decides all that is open, together", func(t *testing.T) {
		for _, id := range []bool{true, false} {
			made, other := s.waiting(t, approvals("a1", "a2", "a3")+","+questions(free("q1"))), s.waiting(t, approvals("a1"))
			body := `"choice":"once","yolo":true`
			if id {
				body += `,"approval_id":"` + made.handle(t, "a2") + `"`
			}
			s.respond(t, made.SessionID, body).is(http.StatusOK, drained(3))
			now := s.now(t, made)
			require.Empty(t, now.PendingApprovals)
			require.Len(t, now.PendingQuestions, 1, "a question is not an approval")
			s.clarify(t, made.SessionID, `"response":"x"`).is(http.StatusOK, took("x"))
			now = s.now(t, made)
			var at []int64
			for _, one := range now.Resume.Approvals {
				require.Equal(t, api.OutcomeAllowed, one.Resolution.Outcome)
				require.Equal(t, "hermes", one.Resolution.Via)
				require.Nil(t, one.Resolution.Rule, "once writes nothing")
				at = append(at, one.Resolution.ResolvedAtMs)
			}
			require.Len(t, at, 3)
			require.Equal(t, []int64{at[0], at[0]}, at[1:], "in one decision")
			require.Len(t, s.now(t, other).PendingApprovals, 1, "another session is not touched")

			next := s.waitingAfter(t, made)
			require.Len(t, next.PendingApprovals, 1, "the next one is asked: nothing was switched on")
		}
	})
	parallel(t, "in every run of the session and below it", func(t *testing.T) {
		for _, id := range []bool{true, false} {
			session := runs.NewID("session")
			first, second := s.calling(t, session, approvals("a1", "a2")), s.calling(t, session, approvals("a1"))
			child := runs.NewID("child")
			s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, session)).Want(http.StatusCreated)
			below := s.waitingIn(t, child, approvals("a1"))
			body := `"choice":"once","yolo":true`
			if id {
				body += `,"approval_id":"` + second.handle(t, "a1") + `"`
			}
			s.respond(t, session, body).is(http.StatusOK, drained(4))
			for _, made := range []run{first, second, below} {
				now := s.now(t, made)
				require.Empty(t, now.PendingApprovals)
				require.Equal(t, api.OutcomeAllowed, now.Resume.Approvals[0].Resolution.Outcome)
			}

			first, second = s.calling(t, session, approvals("a1")), s.calling(t, session, approvals("a1"))
			s.respond(t, session, `"choice":"once","yolo":true,"run_id":"`+second.RunID+`"`).is(http.StatusOK, drained(1))
			require.Len(t, s.now(t, first).PendingApprovals, 1, "only the run that was named")
		}
	})
	parallel(t, "any other choice is about one", func(t *testing.T) {
		for _, choice := range []string{"deny", "session"} {
			made := s.waiting(t, `"approvals":[`+keyed("a1", `"`+runs.NewID("key")+`"`)+`,`+approval("a2")+`]`)
			s.respond(t, made.SessionID, `"choice":"`+choice+`","yolo":true`).
				is(http.StatusOK, "{\n  \"ok\": true,\n  \"choice\": \""+choice+"\",\n  \"yolo_enabled\": false\n}")
			require.Len(t, s.now(t, made).PendingApprovals, 1)
		}
	})
	parallel(t, "only true means it", func(t *testing.T) {
		for _, value := range []string{"1", `"true"`, "null", "false", "[true]"} {
			made := s.waiting(t, approvals("a1", "a2"))
			s.respond(t, made.SessionID, `"choice":"once","yolo":`+value).is(http.StatusOK, chose("once"))
			require.Len(t, s.now(t, made).PendingApprovals, 1, value)
		}
	})
	parallel(t, "a stale click decides nothing", func(t *testing.T) {
		made := s.waiting(t, approvals("a1", "a2"))
		other := s.waiting(t, approvals("a1"))
		for _, id := range []string{"gone", other.handle(t, "a1")} {
			s.respond(t, made.SessionID, `"choice":"once","yolo":true,"approval_id":"`+id+`"`).
				is(http.StatusOK, "{\n  \"ok\": false,\n  \"choice\": \"once\",\n  \"yolo_enabled\": false\n}")
		}
		require.Len(t, s.now(t, made).PendingApprovals, 2)
		s.respond(t, "nobody", `"choice":"once","yolo":true,"approval_id":"gone"`).
			is(http.StatusOK, "{\n  \"ok\": true,\n  \"choice\": \"once\",\n  \"stale_cleared\": true,\n  \"yolo_enabled\": false\n}")
		s.respond(t, "nobody", `"choice":"once","yolo":true`).
			is(http.StatusOK, "{\n  \"ok\": true,\n  \"choice\": \"once\",\n  \"yolo_enabled\": false\n}")
	})
}

// calling creates the run of one call, as hooks do: the calls of a session are all open at once.
func (s *service) calling(t *testing.T, session, members string) run {
	t.Helper()
	var made run
	s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"kind":"call","input":"go","suspend":{%s}}`, session, members)).Into(&made)
	return made
}

// waitingAfter cancels a run and raises an approval in its session.
func (s *service) waitingAfter(t *testing.T, before run) run {
	t.Helper()
	s.post(t, "/v1/runs/"+before.RunID+"/cancel", "").Into(nil)
	return s.waitingIn(t, before.SessionID, approvals("a1"))
}

// TestYoloAgainstAnotherDecision checks that another caller's decision during a drain stands, and
// that the rest is allowed.
func TestYoloAgainstAnotherDecision(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		store := &troubled{Store: database.Open(t)}
		s := serve(t, store)
		deny := func(made run, id string) {
			store.then(func() error {
				_, err := store.Store.Do(t.Context(), &runs.ResolveApprovals{
					RunID: made.RunID, Resolutions: []runs.ApprovalDecision{{RequestID: id, Behavior: api.BehaviorDeny}},
				})
				return err
			})
		}
		made := s.waiting(t, approvals("a1", "a2", "a3"))
		deny(made, "a2")
		s.respond(t, made.SessionID, `"choice":"once","yolo":true`).is(http.StatusOK, drained(2))
		for _, one := range s.now(t, made).Resume.Approvals {
			want := api.OutcomeAllowed
			if one.Request.ID == "a2" {
				want = api.OutcomeDenied
			}
			require.Equal(t, want, one.Resolution.Outcome, one.Request.ID)
		}

		for _, over := range []bool{true, false} { // a run that is late, or over, keeps none of the others
			session := runs.NewID("session")
			first, late, last := s.calling(t, session, approvals("a1")), s.calling(t, session, approvals("a1")), s.calling(t, session, approvals("a1"))
			deny(late, "a1")
			if over {
				store.then(func() error {
					_, err := store.Store.Do(t.Context(), &runs.CancelRun{RunID: late.RunID})
					return err
				})
			}
			s.respond(t, session, `"choice":"once","yolo":true,"approval_id":"`+first.handle(t, "a1")+`"`).is(http.StatusOK, drained(2))
			for _, made := range []run{first, last} {
				require.Equal(t, api.OutcomeAllowed, s.now(t, made).Resume.Approvals[0].Resolution.Outcome)
			}
			if now := s.now(t, late); over {
				require.Equal(t, api.StatusCancelled, now.Status)
			} else {
				require.Equal(t, api.OutcomeDenied, now.Resume.Approvals[0].Resolution.Outcome)
			}
		}

		for _, over := range []bool{true, false} { // nor does the oldest one, unless it was named
			session := runs.NewID("session")
			late, last := s.calling(t, session, approvals("a1")), s.calling(t, session, approvals("a1"))
			settle := func() {
				if !over {
					deny(late, "a1")
					return
				}
				store.then(func() error {
					_, err := store.Store.Do(t.Context(), &runs.CancelRun{RunID: late.RunID})
					return err
				})
			}
			settle()
			s.respond(t, session, `"choice":"once","yolo":true`).is(http.StatusOK, drained(1))
			require.Equal(t, api.OutcomeAllowed, s.now(t, last).Resume.Approvals[0].Resolution.Outcome)

			late, last = s.calling(t, session, approvals("a1")), s.calling(t, session, approvals("a1"))
			settle()
			require.Equal(t, false, s.respond(t, session, `"choice":"once","yolo":true,"approval_id":"`+late.handle(t, "a1")+`"`).At("ok"))
			require.Len(t, s.now(t, last).PendingApprovals, 1)
		}

		made = s.waiting(t, approvals("a1", "a2"))
		deny(made, "a2")
		s.respond(t, made.SessionID, `"choice":"once","yolo":true,"approval_id":"`+made.handle(t, "a2")+`"`).
			is(http.StatusOK, "{\n  \"ok\": false,\n  \"choice\": \"once\",\n  \"yolo_enabled\": false\n}")
		require.Len(t, s.now(t, made).PendingApprovals, 1, "the card that was clicked is gone, so nothing else is decided")

		store.then(func() error {
			_, err := store.Store.Do(t.Context(), &runs.CancelRun{RunID: made.RunID})
			return err
		})
		got := s.respond(t, made.SessionID, `"choice":"once","yolo":true`)
		require.Equal(t, http.StatusConflict, got.Status)
		require.Equal(t, []any{"gateway_run_unavailable", false}, []any{got.At("code"), got.At("yolo_enabled")})

		made = s.waiting(t, approvals("a1"))
		store.then(func() error {
			_, err := store.Store.Do(t.Context(), &runs.ResolveApprovals{
				RunID: made.RunID, Resolutions: []runs.ApprovalDecision{{RequestID: "a1", Behavior: api.BehaviorDeny}},
			})
			var claim api.Claim
			s.post(t, "/v1/runs/"+made.RunID+"/claim", `{"worker_id":"w"}`).Into(&claim)
			s.post(t, "/v1/runs/"+made.RunID+"/suspend", `{"fence":"`+claim.Lease.Fence+`",`+approvals("a2")+`}`).Into(nil)
			return err
		})
		s.respond(t, made.SessionID, `"choice":"once","yolo":true`).
			is(http.StatusOK, "{\n  \"ok\": false,\n  \"choice\": \"once\",\n  \"yolo_enabled\": false\n}")
		require.Len(t, s.now(t, made).PendingApprovals, 1, "what was raised after the click is not decided by it")
	})
}

// TestYoloWithoutTheOldest checks that an approval that the caller may not decide keeps none of the
// others, unless it was named.
func TestYoloWithoutTheOldest(t *testing.T) {
	t.Parallel()
	store := &troubled{Store: dialecttest.SQLite(t)}
	s := serve(t, store)
	session := runs.NewID("session")
	oldest, other := s.calling(t, session, approvals("a1")), s.calling(t, session, approvals("a1"))
	forbidden := func() error { return refusal.New(api.CodeRequesterExcluded, "somebody else must allow it") }
	body := `"choice":"once","yolo":true`

	store.then(forbidden)
	require.Equal(t, http.StatusForbidden, s.respond(t, session, body+`,"approval_id":"`+oldest.handle(t, "a1")+`"`).Status)
	require.Len(t, s.now(t, other).PendingApprovals, 1)

	store.then(forbidden)
	s.respond(t, session, body).is(http.StatusOK, drained(1))
	require.Len(t, s.now(t, oldest).PendingApprovals, 1)
	require.Empty(t, s.now(t, other).PendingApprovals)

	store.then(forbidden)
	require.Equal(t, http.StatusForbidden, s.respond(t, session, body).Status, "nothing else is open")
}

// testRunID holds docs/spec/hermes.md#run-id.
func testRunID(t *testing.T, s *service) {
	gone := notRelayed("once", false, "gateway_run_unavailable", "The run has ended; there is nothing left to approve.")
	made, elsewhere := s.waiting(t, approvals("a1", "a2")), s.waiting(t, approvals("a1"))
	for _, wrong := range []string{`"nobody"`, `"` + elsewhere.RunID + `"`, "7", `" "`, `["x"]`} {
		s.respond(t, made.SessionID, `"choice":"once","run_id":`+wrong).is(http.StatusConflict, gone)
		s.respond(t, made.SessionID, `"choice":"once","run_id":`+wrong+`,"approval_id":"`+made.handle(t, "a1")+`"`).is(http.StatusConflict, gone)
	}
	require.Len(t, s.now(t, made).PendingApprovals, 2)
	got := s.respond(t, made.SessionID, `"choice":"once","run_id":"`+made.RunID+`"`)
	got.is(http.StatusOK, chose("once"))
	require.Equal(t, made.handle(t, "a1"), got.Header.Get("X-Approval-Id"))
	s.respond(t, made.SessionID, `"choice":"once","run_id":"`+made.RunID+`","approval_id":"`+made.handle(t, "a2")+`"`).is(http.StatusOK, chose("once"))
	s.respond(t, made.SessionID, `"choice":"once","run_id":"`+made.RunID+`"`).is(http.StatusConflict, gone)
	s.respond(t, made.SessionID, `"choice":"once","run_id":""`).is(http.StatusOK, chose("once"))
}

// testRefusedBeforeARoute checks that clients of this contract find the error text even when no
// route matched.
func testRefusedBeforeARoute(t *testing.T, s *service) {
	for _, refused := range []*reply{
		s.get(t, "/api/approval/pending", dialecttest.Header("Sec-Fetch-Site", "cross-site")),
		s.post(t, "/api/approval/respond", "{}", dialecttest.Header("Origin", "https://elsewhere.example")),
		s.get(t, "/api/approval/nothing"),
		s.post(t, "/api/session/yolo", "{}"),
		s.get(t, "/api/approval/respond"),
		s.post(t, "/api/clarify/pending", "{}"),
	} {
		require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed}, refused.Status)
		require.NotEmpty(t, refused.TextAt("error"))
		require.Equal(t, refused.TextAt("detail"), refused.TextAt("error"))
	}
	require.NotContains(t, s.get(t, "/v1/nothing").Body, "error")
}
