package gallery

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// wayOut is a way in which an approval is not allowed.
type wayOut struct {
	name string
	// walk does that to the run and its one approval, "deploy".
	walk func(t *testing.T, s *service, runID string)
	// outcome is the recorded outcome; empty while the approval is open.
	outcome api.Outcome
}

var waysOut = []wayOut{
	{"held replies run out", waitInVain, ""},
	{"the approver's connection breaks", breakOff, ""},
	{"the approver is not understood", mumble, ""},
	{"the attached worker's wait and lease run out", lapse, ""},
	{"the deadline passes", func(t *testing.T, s *service, runID string) {
		afterMs := int64(1)
		request := rig.Approval("deploy")
		request.ExpiresAfterMs = &afterMs
		waitingRun(t, s.at(0), runID, asking(request))
		held := mustClaim(t, s.at(1), runID)
		require.Equal(t, api.BehaviorDeny, held.Resume.Approvals[0].Resolution.Behavior)
		complete(t, s.at(0), held)
	}, api.OutcomeExpired},
	{"the approver denies, and edits", func(t *testing.T, s *service, runID string) {
		waitingRun(t, s.at(0), runID, rig.Approvals("deploy"))
		_, err := s.at(1).ResolveRunApprovals(rig.Soon(t), runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
			{RequestID: "deploy", Behavior: api.BehaviorDeny, UpdatedInput: api.JSON(`{"to":"staging"}`)},
		}})
		require.NoError(t, err)
	}, api.OutcomeDenied},
	{"the worker takes it back", func(t *testing.T, s *service, runID string) {
		fence := attach(t, s, runID)
		_, err := s.at(1).Withdraw(rig.Soon(t), runID, "deploy", fence, "gave up after a minute")
		require.NoError(t, err)
	}, api.OutcomeCancelled},
	{"the worker ends the run", func(t *testing.T, s *service, runID string) {
		fence := attach(t, s, runID)
		_, err := s.at(1).CompleteRun(rig.Soon(t), runID, fence, nil)
		require.NoError(t, err)
	}, api.OutcomeExpired},
	{"the run is cancelled", func(t *testing.T, s *service, runID string) {
		waitingRun(t, s.at(0), runID, rig.Approvals("deploy"))
		_, err := s.at(1).CancelRun(rig.Soon(t), runID, "")
		require.NoError(t, err)
	}, api.OutcomeCancelled},
	{"the session is interrupted", func(t *testing.T, s *service, runID string) {
		waitingRun(t, s.at(0), runID, rig.Approvals("deploy"))
		_, err := s.at(1).InterruptSession(rig.Soon(t), "session-of-"+runID, "")
		require.NoError(t, err)
	}, api.OutcomeCancelled},
	{"the session ends", func(t *testing.T, s *service, runID string) {
		waitingRun(t, s.at(0), runID, rig.Approvals("deploy"))
		_, err := s.at(1).EndSession(rig.Soon(t), "session-of-"+runID, "")
		require.NoError(t, err)
	}, api.OutcomeCancelled},
}

// The bug: a permission callback timed out after a minute, and the tool ran anyway. Here only a
// recorded allow is an allow: every other way leaves the request pending, expired, denied or
// cancelled.
func TestGallery10NothingButAnAllowAllows(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		for i, way := range waysOut {
			runID := fmt.Sprintf("run-%d", i)
			way.walk(t, s, runID)
			for entry, err := range s.at(0).AllRunEvents(rig.Soon(t), runID, client.EventListParams{}) {
				require.NoError(t, err)
				require.NotContains(t, string(entry.Event), `"allow`, way.name)
			}
			if way.outcome == "" {
				run, err := s.at(1).GetRun(rig.Soon(t), runID)
				require.NoError(t, err)
				require.Equal(t, api.StatusWaitingForApproval, run.Status, way.name)
				require.Equal(t, []string{"deploy"}, run.PendingApprovalIDs, way.name)
				s.requireNotClaimable(t, runID)
				continue
			}
			recorded := onlyResolution(t, s.at(0), runID, "deploy")
			require.Equal(t, way.outcome, recorded.Outcome, way.name)
			require.Equal(t, api.BehaviorDeny, recorded.Behavior, way.name)
			_, err := s.at(1).ResolveRunApprovals(rig.Soon(t), runID, decide("deploy", api.BehaviorAllow))
			require.ErrorIs(t, err, client.ErrAlreadyDecided, way.name)
			require.Equal(t, way.outcome, refusal(t, err).Recorded.Outcome, way.name)
			require.Equal(t, recorded, onlyResolution(t, s.at(0), runID, "deploy"), way.name)
		}
	})
}

// attach creates a run whose worker waits attached for "deploy", and returns its fence.
func attach(t *testing.T, s *service, runID string) string {
	t.Helper()
	held := startedRun(t, s.at(0), runID)
	_, err := s.at(0).Suspend(rig.Soon(t), runID, held.Lease.Fence, api.Suspension{
		Approvals: []api.ApprovalRequest{rig.Approval("deploy")}, Hold: true,
	})
	require.NoError(t, err)
	return held.Lease.Fence
}

func waitInVain(t *testing.T, s *service, runID string) {
	waitingRun(t, s.at(0), runID, rig.Approvals("deploy"))
	run, err := s.at(1).AwaitRun(rig.Soon(t), runID, client.UntilDecided, time.Second)
	require.NoError(t, err)
	require.Equal(t, api.StatusWaitingForApproval, run.Status)
	taken, err := s.at(0).ClaimRuns(rig.Soon(t), client.ClaimRunsParams{WorkerID: "worker", AgentIDs: []string{runID}, WaitMs: 100})
	require.NoError(t, err)
	require.Empty(t, taken)
}

// breakOff sends the first half of an allow.
func breakOff(t *testing.T, s *service, runID string) {
	waitingRun(t, s.at(0), runID, rig.Approvals("deploy"))
	var dialer net.Dialer
	connection, err := dialer.DialContext(rig.Soon(t), "tcp", strings.TrimPrefix(s.replicas[0].URL, "http://"))
	require.NoError(t, err)
	body := `{"resolutions":[{"request_id":"deploy","behavior":"allow"}]}`
	_, err = fmt.Fprintf(connection, "POST /v1/runs/%s/approvals HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		runID, len(body), body[:len(body)-1])
	require.NoError(t, err)
	require.NoError(t, connection.Close())
}

// mumble sends bodies similar to an allow.
func mumble(t *testing.T, s *service, runID string) {
	waitingRun(t, s.at(0), runID, rig.Approvals("deploy"))
	for _, behavior := range []string{`"Allow"`, `"ALLOW"`, `"allow "`, `"allowed"`, `"yes"`, `"approve"`, `""`, `true`, `1`, `null`, `["allow"]`} {
		got := s.replicas[0].post(t, "/v1/runs/"+runID+"/approvals",
			`{"resolutions":[{"request_id":"deploy","behavior":`+behavior+`}]}`)
		require.Equal(t, 422, got.status, behavior)
		require.Equal(t, []string{"/resolutions/0/behavior"}, got.pointers(), behavior)
	}
}

// lapse lets an attached wait outlast the lease.
func lapse(t *testing.T, s *service, runID string) {
	fence := attach(t, s, runID)
	_, err := s.at(0).Heartbeat(rig.Soon(t), runID, client.HeartbeatParams{Fence: fence, LeaseMs: 1_000})
	require.NoError(t, err)
	settled, err := s.at(1).AwaitSettled(rig.Soon(t), runID, fence, "0", 2*time.Second)
	require.NoError(t, err)
	require.Empty(t, settled.Settled)
	require.Equal(t, 1, settled.Open)
}

// The bug: a question answered itself with empty answers. Here an empty answer is refused on both
// routes, and the question stays open.
func TestGallery11EmptyAnswers(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		typed := api.UserQuestionRequest{ID: "typed", ResponseSchema: api.JSON(`{"type":["string","null"]}`)}
		waitingRun(t, s.at(0), "plain", rig.Questions("ask"))
		waitingRun(t, s.at(0), "value", &api.Suspension{Questions: []api.UserQuestionRequest{typed}})
		before := s.lastEvents(t, "plain", "value")
		for _, empty := range []struct {
			runID, resolution string
			code              api.Code
		}{
			{"plain", `{"request_id":"ask","answers":[{"question_id":"way"}]}`, api.CodeQuestionAnswerEmpty},
			{"plain", `{"request_id":"ask","answers":[{"question_id":"way","selected_option_ids":[]}]}`, api.CodeQuestionAnswerEmpty},
			{"plain", `{"request_id":"ask","answers":[{"question_id":"way","selected_option_ids":null,"freeform_answer":null}]}`, api.CodeQuestionAnswerEmpty},
			{"plain", `{"request_id":"ask","answers":[{"question_id":"way","freeform_answer":""}]}`, api.CodeQuestionAnswerEmpty},
			{"plain", `{"request_id":"ask","answers":[{"question_id":"way","freeform_answer":" \n\t\u00a0\u3000"}]}`, api.CodeQuestionAnswerEmpty},
			{"plain", `{"request_id":"ask","answers":[]}`, api.CodeQuestionAnswerMissing},
			{"plain", `{"request_id":"ask","answers":null}`, api.CodeQuestionAnswerMissing},
			{"plain", `{"request_id":"ask"}`, api.CodeQuestionAnswerMissing},
			{"plain", `{"request_id":"ask","declined":false}`, api.CodeQuestionAnswerMissing},
			{"value", `{"request_id":"typed"}`, api.CodeQuestionAnswerEmpty},
			{"value", `{"request_id":"typed","answers":[]}`, api.CodeQuestionAnswerEmpty},
		} {
			for _, path := range []string{"/v1/runs/" + empty.runID, "/v1/sessions/session-of-" + empty.runID} {
				got := s.replicas[0].post(t, path+"/questions", `{"resolution":`+empty.resolution+`}`)
				require.Equal(t, 400, got.status, empty.resolution)
				require.Equal(t, empty.code, got.code, empty.resolution)
			}
		}
		require.Equal(t, before, s.lastEvents(t, "plain", "value"))
		s.requireNotClaimable(t, "plain")
		s.requireNotClaimable(t, "value")

		_, err := s.at(1).AnswerRunQuestion(rig.Soon(t), "plain", rig.Choose("ask", "right"))
		require.NoError(t, err)
		held := mustClaim(t, s.at(0), "plain")
		require.Equal(t, []string{"right"}, held.Resume.Questions[0].Resolution.Answers[0].SelectedOptionIDs)
	})
}

// The bug: a misspelt member of a body was ignored, and the answer was lost. Here a body without a
// required member is refused, and the error names the member.
func TestGallery12MisspeltMembers(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		waitingRun(t, s.at(0), "approve", rig.Approvals("deploy"))
		waitingRun(t, s.at(0), "answer", rig.Questions("ask"))
		before := s.lastEvents(t, "approve", "answer")
		for _, misspelt := range []struct {
			runID, noun, body string
			named             []string
		}{
			{"approve", "approvals", `{}`, []string{"/resolutions"}},
			{"approve", "approvals", `{"resolution":[{"request_id":"deploy","behavior":"allow"}]}`, []string{"/resolutions"}},
			{"approve", "approvals", `{"Resolutions":[{"request_id":"deploy","behavior":"allow"}]}`, []string{"/resolutions"}},
			{"approve", "approvals", `{"request_id":"deploy","behavior":"allow"}`, []string{"/resolutions"}},
			{"approve", "approvals", `{"resolutions":{"request_id":"deploy","behavior":"allow"}}`, []string{"/resolutions"}},
			{"approve", "approvals", `{"resolutions":[{"id":"deploy","behavior":"allow"}]}`, []string{"/resolutions/0/id", "/resolutions/0/request_id"}},
			{"approve", "approvals", `{"resolutions":[{"requestId":"deploy","behavior":"allow"}]}`, []string{"/resolutions/0/requestId", "/resolutions/0/request_id"}},
			{"approve", "approvals", `{"resolutions":[{"request_id":"deploy","behaviour":"allow"}]}`, []string{"/resolutions/0/behaviour", "/resolutions/0/behavior"}},
			{"approve", "approvals", `{"resolutions":[{"request_id":"deploy","approved":true}]}`, []string{"/resolutions/0/approved", "/resolutions/0/behavior"}},
			{"answer", "questions", `{}`, []string{"/resolution"}},
			{"answer", "questions", `{"resolutions":{"request_id":"ask"}}`, []string{"/resolution"}},
			{"answer", "questions", `{"resolution":{"id":"ask","answers":[]}}`, []string{"/resolution/id", "/resolution/request_id"}},
			{"answer", "questions", `{"resolution":{"request_id":"ask","answers":[{"question":"way"}],"declined":"no"}}`, []string{"/resolution/answers/0/question", "/resolution/answers/0/question_id", "/resolution/declined"}},
		} {
			for _, path := range []string{"/v1/runs/" + misspelt.runID, "/v1/sessions/session-of-" + misspelt.runID} {
				got := s.replicas[0].post(t, path+"/"+misspelt.noun, misspelt.body)
				require.Equal(t, 422, got.status, misspelt.body)
				require.Equal(t, api.CodeInvalidRequest, got.code, misspelt.body)
				require.Equal(t, misspelt.named, got.pointers(), misspelt.body)
			}
		}
		got := s.replicas[0].post(t, "/v1/runs/answer/questions", `{"resolution":{"request_id":"ask","answer":[{"question_id":"way"}]}}`)
		require.Equal(t, []string{"/resolution/answer"}, got.pointers())
		// This body is complete but lacks one of the answers: the error text names the question.
		got = s.replicas[0].post(t, "/v1/runs/answer/questions", `{"resolution":{"request_id":"ask","answers":[]}}`)
		require.Equal(t, api.CodeQuestionAnswerMissing, got.code)
		require.Contains(t, got.text, "way")
		require.Equal(t, before, s.lastEvents(t, "approve", "answer"))
		s.requireNotClaimable(t, "approve")
		s.requireNotClaimable(t, "answer")
	})
}
