package hermes_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// testApprovals holds the table of hermes.md 2.5 as far as one caller sees it.
func testApprovals(t *testing.T, s *service) {
	t.Run("every choice, by its id", func(t *testing.T) {
		t.Parallel()
		for choice, outcome := range map[string]api.Outcome{
			"once": api.OutcomeAllowed, "session": api.OutcomeAllowed, "always": api.OutcomeAllowed, "deny": api.OutcomeDenied,
		} {
			// Keys of its own: what is allowed for always is allowed to every other test.
			made := s.waiting(t, `"approvals":[`+approval("a1")+`,`+keyed("a2", `"`+runs.NewID("key")+`"`)+`]`)
			got := s.respond(t, made.SessionID, `"choice":"`+choice+`","approval_id":"`+made.handle(t, "a2")+`"`, dialecttest.Header("X-Actor", "ada"))
			got.is(http.StatusOK, chose(choice))
			require.Empty(t, got.Header.Get("X-Approval-Id"))
			now := s.now(t, made)
			require.Len(t, now.PendingApprovals, 1, "the other one is never touched")
			require.Equal(t, "a1", now.PendingApprovals[0].ID)

			s.respond(t, made.SessionID, `"choice":"deny"`).is(http.StatusOK, chose("deny"))
			settled := s.now(t, made).Resume.Approvals
			require.Len(t, settled, 2)
			for _, one := range settled {
				if one.Request.ID == "a2" {
					require.Equal(t, outcome, one.Resolution.Outcome)
					require.Equal(t, "ada", one.Resolution.ResolvedBy)
					require.Equal(t, "hermes", one.Resolution.Via)
				}
			}
		}
	})
	t.Run("without a choice it is denied", func(t *testing.T) {
		t.Parallel()
		made := s.waiting(t, approvals("a1"))
		s.respond(t, made.SessionID, `"approval_id":"`+made.handle(t, "a1")+`"`).is(http.StatusOK, chose("deny"))
		require.Equal(t, api.OutcomeDenied, s.now(t, made).Resume.Approvals[0].Resolution.Outcome)
	})
	t.Run("choices that there are not", func(t *testing.T) {
		t.Parallel()
		made := s.waiting(t, approvals("a1"))
		for value, shown := range map[string]string{
			"null": "null", `""`: "", `"Once"`: "Once", `"once "`: "once ", `"allow"`: "allow", "true": "true", "0": "0",
			`[ "once" ]`: `[\"once\"]`, `{"a": 1}`: `{\"a\":1}`, `"<b>"`: "<b>",
		} {
			s.respond(t, made.SessionID, `"choice":`+value).is(http.StatusBadRequest, "{\n  \"error\": \"Invalid choice: "+shown+"\"\n}")
		}
		s.post(t, "/api/approval/respond", `{"choice":"x"}`).is(http.StatusBadRequest, failed("session_id is required"))
		require.Len(t, s.now(t, made).PendingApprovals, 1)
	})
	t.Run("without an id: the oldest, and it is told which", func(t *testing.T) {
		t.Parallel()
		made := s.waiting(t, approvals("b", "a"))
		for _, id := range []string{"b", "a"} {
			for _, none := range []string{"", `,"approval_id":""`, `,"approval_id":null`, `,"approval_id":0`, `,"approval_id":[]`} {
				if id == "b" || none != "" {
					continue
				}
				s.respond(t, "nobody", `"choice":"once"`+none).is(http.StatusOK, chose("once"))
			}
			got := s.respond(t, made.SessionID, `"choice":"once"`)
			got.is(http.StatusOK, chose("once"))
			require.Equal(t, made.handle(t, id), got.Header.Get("X-Approval-Id"))
		}
		got := s.respond(t, made.SessionID, `"choice":"once","approval_id":null`)
		got.is(http.StatusOK, chose("once"))
		require.Empty(t, got.Header.Get("X-Approval-Id"), "ok although nothing was there")
	})
	t.Run("an id that is nobody's", func(t *testing.T) {
		t.Parallel()
		empty, full, mine := s.waiting(t, questions(free("q1"))), s.waiting(t, approvals("a1")), s.waiting(t, approvals("a1"))
		for _, id := range []string{
			`"gone"`, `"a1"`, `" "`, `"\u0000"`, `"a/b"`, "5", "true", `["x"]`, `{"a":1}`,
			`"` + mine.handle(t, "a1") + `"`, `"` + empty.handle(t, "q1") + `"`,
		} {
			s.respond(t, empty.SessionID, `"choice":"once","approval_id":`+id).is(http.StatusOK, cleared("once"))
			s.respond(t, full.SessionID, `"choice":"session","approval_id":`+id).is(http.StatusOK, other("session"))
		}
		for _, untouched := range []run{full, mine} {
			require.Len(t, s.now(t, untouched).PendingApprovals, 1)
		}
		require.Len(t, s.now(t, empty).PendingQuestions, 1)
	})
}

// testLostApprovals holds README.md 6.3 for approvals: what the loser sees, whoever
// won and how.
func testLostApprovals(t *testing.T, s *service) {
	// lose has something settled, and then clicks on it: with nothing else pending, and
	// with another one.
	lose := func(t *testing.T, settle func(t *testing.T, made run), members ...string) {
		t.Helper()
		made := s.waiting(t, `"approvals":[`+approval("a1", members...)+`]`)
		click := `"choice":"once","approval_id":"` + made.handle(t, "a1") + `"`
		settle(t, made)
		s.respond(t, made.SessionID, click).is(http.StatusOK, cleared("once"))
		s.respond(t, made.SessionID, click).is(http.StatusOK, cleared("once"))
		s.respond(t, made.SessionID, `"choice":"once"`).is(http.StatusOK, chose("once"))
		s.pendingApproval(t, made.SessionID).is(http.StatusOK, noApproval)

		another := s.now(t, made)
		if !model.Terminal(another.Status) {
			return
		}
		next := s.waitingIn(t, made.SessionID, approvals("a2"))
		s.respond(t, made.SessionID, click).is(http.StatusOK, other("once"))
		require.Len(t, s.now(t, next).PendingApprovals, 1)
	}
	t.Run("resolved by the same face", func(t *testing.T) {
		t.Parallel()
		lose(t, func(t *testing.T, made run) {
			s.respond(t, made.SessionID, `"choice":"deny","approval_id":"`+made.handle(t, "a1")+`"`).is(http.StatusOK, chose("deny"))
		})
	})
	t.Run("resolved by the native face", func(t *testing.T) {
		t.Parallel()
		lose(t, func(t *testing.T, made run) {
			s.post(t, "/v1/runs/"+made.RunID+"/approvals", `{"resolutions":[{"request_id":"a1","behavior":"deny"}]}`).Into(nil)
		})
	})
	t.Run("cancelled with its run", func(t *testing.T) {
		t.Parallel()
		lose(t, func(t *testing.T, made run) { s.post(t, "/v1/runs/"+made.RunID+"/cancel", "").Into(nil) })
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		lose(t, func(t *testing.T, made run) { s.post(t, "/v1/sessions/"+made.SessionID+"/interrupt", "").Into(nil) })
	})
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		lose(t, func(t *testing.T, made run) {
			require.Eventually(t, func() bool { return len(s.now(t, made).PendingApprovals) == 0 }, 30*time.Second, 10*time.Millisecond)
		}, `"expires_after_ms":400`)
	})
	t.Run("settled, while another one of the same run is pending", func(t *testing.T) {
		t.Parallel()
		made := s.waiting(t, approvals("a1", "a2"))
		click := `"choice":"once","approval_id":"` + made.handle(t, "a1") + `"`
		s.respond(t, made.SessionID, click).is(http.StatusOK, chose("once"))
		s.respond(t, made.SessionID, click).is(http.StatusOK, other("once"))
		require.Len(t, s.now(t, made).PendingApprovals, 1)
	})
	t.Run("withdrawn", func(t *testing.T) {
		t.Parallel()
		worker := s.attached(t)
		made := s.raise(t, worker, approvals("a1"))
		s.post(t, "/v1/runs/"+made.RunID+"/requests/a1/withdraw", fmt.Sprintf(`{"fence":%q}`, worker.fence)).Into(nil)
		s.respond(t, made.SessionID, `"choice":"once","approval_id":"`+made.handle(t, "a1")+`"`).is(http.StatusOK, cleared("once"))
	})
	t.Run("the native face loses", func(t *testing.T) {
		t.Parallel()
		made := s.waiting(t, approvals("a1"))
		s.respond(t, made.SessionID, `"choice":"session","approval_id":"`+made.handle(t, "a1")+`"`).is(http.StatusOK, chose("session"))
		late := s.post(t, "/v1/runs/"+made.RunID+"/approvals", `{"resolutions":[{"request_id":"a1","behavior":"deny"}]}`)
		require.Equal(t, http.StatusConflict, late.Status)
		require.Contains(t, late.Text, `"recorded_decision":{"request_id":"a1","outcome":"allowed","resolved_by":"api-user","resolved_at_ms":`)
		require.Contains(t, late.Text, `"via":"hermes"`)
	})
}
