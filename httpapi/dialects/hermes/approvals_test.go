package hermes_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
)

// testApprovals holds docs/spec/hermes.md#approval-respond as far as one caller sees it.
func testApprovals(t *testing.T, s *service) {
	parallel(t, "every choice, by its id", func(t *testing.T) {
		for choice, outcome := range map[string]api.Outcome{
			"once": api.OutcomeAllowed, "session": api.OutcomeAllowed, "always": api.OutcomeAllowed, "deny": api.OutcomeDenied,
		} {
			// A unique call, because "always" would allow it in every other test.
			own := runs.NewID("own")
			made := s.waiting(t, `"approvals":[`+approval("a1")+`,`+approval(own)+`]`)
			got := s.respond(t, made.SessionID, `"choice":"`+choice+`","approval_id":"`+made.handle(t, own)+`"`, dialecttest.Header("X-Actor", "ada"))
			got.is(http.StatusOK, chose(choice))
			require.Empty(t, got.Header.Get("X-Approval-Id"))
			now := s.now(t, made)
			require.Len(t, now.PendingApprovals, 1, "the other one is never touched")
			require.Equal(t, "a1", now.PendingApprovals[0].ID)

			s.respond(t, made.SessionID, `"choice":"deny"`).is(http.StatusOK, chose("deny"))
			settled := s.now(t, made).Resume.Approvals
			require.Len(t, settled, 2)
			for _, one := range settled {
				if one.Request.ID == own {
					require.Equal(t, outcome, one.Resolution.Outcome)
					require.Equal(t, "ada", one.Resolution.ResolvedBy)
					require.Equal(t, "hermes", one.Resolution.Via)
				}
			}
		}
	})
	parallel(t, "without a choice it is denied", func(t *testing.T) {
		made := s.waiting(t, approvals("a1"))
		s.respond(t, made.SessionID, `"approval_id":"`+made.handle(t, "a1")+`"`).is(http.StatusOK, chose("deny"))
		require.Equal(t, api.OutcomeDenied, s.now(t, made).Resume.Approvals[0].Resolution.Outcome)
	})
	parallel(t, "choices that there are not", func(t *testing.T) {
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
	parallel(t, "without an id: the oldest, and it is told which", func(t *testing.T) {
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
	parallel(t, "an id under another name", func(t *testing.T) {
		made := s.waiting(t, approvals("b", "a"))
		for _, name := range []string{"approvalId", "Approval_ID", "approval-id", "approvalid", "clarify_id", "request_id", "requestId", "handle"} {
			for _, rest := range []string{"", `,"approval_id":""`, `,"run_id":"` + made.RunID + `"`, `,"yolo":true`} {
				for _, choice := range []string{"once", "always", "deny"} {
					s.respond(t, made.SessionID, `"choice":"`+choice+`","`+name+`":"`+made.handle(t, "a")+`"`+rest).
						is(http.StatusBadRequest, failed(name+": this contract has no such id, so nothing was decided; send it as approval_id"))
				}
			}
		}
		require.Len(t, s.now(t, made).PendingApprovals, 2)
		s.respond(t, made.SessionID, `"choice":"deny","approvalId":"","handle":null`).is(http.StatusOK, chose("deny"))
		s.respond(t, made.SessionID, `"choice":"deny","approvalId":"x","approval_id":"`+made.handle(t, "a")+`"`).is(http.StatusOK, chose("deny"))
	})
	parallel(t, "an id that is nobody's", func(t *testing.T) {
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

// testLostApprovals checks that a click on a settled approval never decides one of a later run.
// test/faces checks the replies to late callers.
func testLostApprovals(t *testing.T, s *service) {
	made := s.waiting(t, approvals("a1"))
	click := `"choice":"once","approval_id":"` + made.handle(t, "a1") + `"`
	s.post(t, "/v1/runs/"+made.RunID+"/cancel", "").Into(nil)
	s.respond(t, made.SessionID, click).is(http.StatusOK, cleared("once"))
	s.respond(t, made.SessionID, `"choice":"once"`).is(http.StatusOK, chose("once"))
	s.pendingApproval(t, made.SessionID).is(http.StatusOK, noApproval)

	next := s.waitingIn(t, made.SessionID, approvals("a2"))
	s.respond(t, made.SessionID, click).is(http.StatusOK, other("once"))
	require.Len(t, s.now(t, next).PendingApprovals, 1)
}
