package codex_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
)

func testTranscript(t *testing.T, service, _ *replica) {
	transcript := func(t *testing.T, session string) *dialecttest.Reply {
		t.Helper()
		return service.get(t, "/api/sessions/"+session+"/transcript").Want(http.StatusOK)
	}

	t.Run("an entry is the request, and then what became of it", func(t *testing.T) {
		r := service.attached(t, approvals(approval("a1", `"metadata":{"turnId":"turn-3"}`))+","+
			questions(question("q1", `"metadata":{"questions":{"how":{"isSecret":true}}}`)))
		approvalID, requestID := service.approvalID(t, r), service.requestID(t, r)
		shown := transcript(t, r.session)
		require.Equal(t, 2, shown.Count("data"))
		created := service.get(t, "/v1/runs/"+r.id).At("pending_approvals", 0, "created_at_ms").(float64)
		entry := func(members string) string {
			return fmt.Sprintf(`{"messageId":"approval-%s","turnId":"turn-3","role":"system",%s`, approvalID, members)
		}
		details := func(tree string) string {
			text, err := json.Marshal(tree)
			require.NoError(t, err)
			return string(text)
		}
		require.Contains(t, shown.Text, entry(fmt.Sprintf(
			`"type":"approval.request","content":"Command approval required: npm test","details":%s,"startedAt":%d,"status":"complete"}`,
			details(fmt.Sprintf("{\n  \"method\": \"item/commandExecution/requestApproval\",\n  \"createdAt\": %q,\n  \"threadId\": %q,\n  \"turnId\": \"turn-3\",\n  \"itemId\": \"call-a1\",\n  \"command\": \"npm test\"\n}",
				iso(created), r.session)), int64(created))))
		require.Equal(t, "tool-input-"+requestID, shown.At("data", 0, "messageId"))
		require.Equal(t, "tool_input.request", shown.At("data", 0, "type"))
		require.Equal(t, r.id, shown.At("data", 0, "turnId"))

		service.decide(t, approvalID, `{"decision":"decline","scope":"session"}`).Want(http.StatusOK)
		service.reply(t, requestID, `{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":["hunter2"]}}}`).Want(http.StatusOK)
		_, settled, err := service.Store.SettledAfter(t.Context(), r.id, 0)
		require.NoError(t, err)
		shown = transcript(t, r.session)
		require.Equal(t, 2, shown.Count("data"))
		require.Contains(t, shown.Text, entry(fmt.Sprintf(
			`"type":"approval.resolved","content":"Approval resolved (decline)","details":%s,"startedAt":%d,"completedAt":%d,"status":"complete"}`,
			details(fmt.Sprintf("{\n  \"approvalId\": %q,\n  \"status\": \"resolved\",\n  \"decision\": \"decline\",\n  \"scope\": \"session\"\n}", approvalID)),
			int64(created), settled[0].SettledAtMs)))
		require.Equal(t, "tool_input.resolved", shown.At("data", 0, "type"))
		require.Equal(t, "Tool input resolved (accept)", shown.At("data", 0, "content"))
		require.Equal(t, fmt.Sprintf("{\n  \"requestId\": %q,\n  \"status\": \"resolved\",\n  \"decision\": \"accept\"\n}", requestID), shown.At("data", 0, "details"))
		require.NotContains(t, shown.Text, "hunter2")
	})

	for name, c := range map[string]struct {
		settle   func(t *testing.T, r run)
		approval string
		input    string
	}{
		"allowed and answered on /v1": {
			func(t *testing.T, r run) {
				service.post(t, "/v1/runs/"+r.id+"/approvals", `{"resolutions":[{"request_id":"a1","behavior":"allow"}]}`).Want(http.StatusAccepted)
				service.post(t, "/v1/runs/"+r.id+"/questions", `{"resolution":{"request_id":"q1","declined":true}}`).Want(http.StatusAccepted)
			}, "Approval resolved (accept)", "Tool input resolved (decline)",
		},
		"cancelled here, which takes the other along": {
			func(t *testing.T, r run) {
				service.decide(t, service.approvalID(t, r), `{"decision":"cancel"}`).Want(http.StatusOK)
			}, "Approval resolved (cancel)", "Tool input expired",
		},
		"the run was cancelled": {
			func(t *testing.T, r run) { service.post(t, "/v1/runs/"+r.id+"/cancel", `{}`).Want(http.StatusOK) },
			"Approval expired", "Tool input expired",
		},
		"the session was interrupted": {
			func(t *testing.T, r run) {
				service.post(t, "/v1/sessions/"+r.session+"/interrupt", `{}`).Want(http.StatusOK)
			}, "Approval expired", "Tool input expired",
		},
		"the run is over": {
			func(t *testing.T, r run) {
				service.post(t, "/v1/runs/"+r.id+"/complete", fmt.Sprintf(`{"fence":%q}`, r.fence)).Want(http.StatusOK)
			}, "Approval expired", "Tool input expired",
		},
		"the worker took both back": {
			func(t *testing.T, r run) {
				service.post(t, "/v1/runs/"+r.id+"/requests/a1/withdraw", fmt.Sprintf(`{"fence":%q}`, r.fence)).Want(http.StatusOK)
				service.post(t, "/v1/runs/"+r.id+"/requests/q1/withdraw", fmt.Sprintf(`{"fence":%q}`, r.fence)).Want(http.StatusOK)
			}, "Approval expired", "Tool input expired",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := service.attached(t, approvals(approval("a1", ""))+","+questions(question("q1", "")))
			c.settle(t, r)
			shown := transcript(t, r.session)
			require.Equal(t, 2, shown.Count("data"))
			require.Equal(t, c.input, shown.At("data", 0, "content"))
			require.Equal(t, c.approval, shown.At("data", 1, "content"))
			if c.approval == "Approval expired" {
				require.NotContains(t, shown.At("data", 1, "details"), "decision")
				require.Contains(t, shown.At("data", 1, "details"), `"status": "expired"`)
			}
		})
	}

	t.Run("a decision of a rule", func(t *testing.T) {
		r := service.attached(t, approvals(approval("a1", "")))
		service.decide(t, service.approvalID(t, r), `{"decision":"accept","scope":"session"}`).Want(http.StatusOK)
		service.post(t, "/v1/runs/"+r.id+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,%s}`, r.fence, approvals(approval("a2", "")))).Want(http.StatusOK)
		shown := transcript(t, r.session)
		require.Equal(t, 2, shown.Count("data"))
		for i := range 2 {
			require.Equal(t, "Approval resolved (accept)", shown.At("data", i, "content"))
			require.Contains(t, shown.At("data", i, "details"), `"scope": "session"`)
		}
	})
}

// TestTranscriptOfALogThatIsShortened checks that a transcript has no events deleted during the
// read.
func TestTranscriptOfALogThatIsShortened(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.NewShortening(t, dialecttest.SQLite(t)))
	old := service.waiting(t, approvals(approval("a1", "")))
	service.post(t, "/v1/runs/"+old.id+"/approvals", `{"resolutions":[{"request_id":"a1","behavior":"deny"}]}`).Want(http.StatusAccepted)
	service.post(t, "/v1/runs/"+old.id+"/cancel", "").Want(http.StatusOK)
	service.waitingIn(t, old.session, approvals(approval("b1", ""), approval("b2", "")))
	shown := service.get(t, "/api/sessions/"+old.session+"/transcript").Want(http.StatusOK)
	require.Equal(t, 2, shown.Count("data"))
	for i := range 2 {
		require.Equal(t, "approval.request", shown.At("data", i, "type"))
	}
}

// TestTranscriptIsBounded checks that the newest entries are shown, however many there are.
func TestTranscriptIsBounded(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	service := serve(t, store)
	r := service.attached(t, approvals(approval("first", "")))
	const more, batch = 5_100, 100
	for n := 0; n < more; n += batch {
		suspend := &runs.Suspend{RunID: r.id, Fence: 1, Suspension: api.Suspension{Hold: true, Checkpoint: api.JSON(`{}`)}}
		resolve := &runs.ResolveApprovals{RunID: r.id}
		for i := range batch {
			id := fmt.Sprintf("a%d", n+i)
			suspend.Approvals = append(suspend.Approvals, api.ApprovalRequest{
				ID: id, ToolCallID: fmt.Sprintf("call-%d", n+i), ToolName: "bash", Input: api.JSON(`{}`),
			})
			resolve.Resolutions = append(resolve.Resolutions, runs.ApprovalDecision{RequestID: id, Behavior: api.BehaviorDeny})
		}
		_, err := store.Do(t.Context(), suspend)
		require.NoError(t, err)
		_, err = store.Do(t.Context(), resolve)
		require.NoError(t, err)
	}
	service.decide(t, service.approvalID(t, r), `{"decision":"accept"}`).Want(http.StatusOK)
	shown := service.get(t, "/api/sessions/"+r.session+"/transcript").Want(http.StatusOK)
	require.Equal(t, 5_000, shown.Count("data"))
	for i, number := range map[int]int{0: more - 5_000, 4_999: more - 1} {
		require.Contains(t, shown.At("data", i, "messageId"), "approval-")
		require.Equal(t, "approval.resolved", shown.At("data", i, "type"))
		_ = number
	}
}

// TestLargeListsAreBounded checks that lists and transcripts are bounded in bytes, and that what was left
// out of a list follows.
func TestLargeListsAreBounded(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	service := serve(t, store)
	r := service.attached(t, approvals(approval("first", "")))
	first := service.approvalID(t, r)
	large := &runs.Suspend{RunID: r.id, Fence: 1, Suspension: api.Suspension{Hold: true, Checkpoint: api.JSON(`{}`)}}
	for i := range 6 {
		large.Approvals = append(large.Approvals, api.ApprovalRequest{
			ID: fmt.Sprintf("a%d", i), ToolCallID: "call", ToolName: "bash", Input: api.JSON(`{"command":"` + strings.Repeat("x", 900<<10) + `"}`),
		})
	}
	_, err := store.Do(t.Context(), large)
	require.NoError(t, err)
	shown := func() []string {
		list := service.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK)
		ids := make([]string, list.Count("data"))
		for i := range ids {
			ids[i] = list.TextAt("data", i, "approvalId")
		}
		return ids
	}
	oldest := shown()
	require.Len(t, oldest, 5, "of seven")
	require.Equal(t, first, oldest[0])
	transcript := service.get(t, "/api/sessions/"+r.session+"/transcript").Want(http.StatusOK)
	require.Equal(t, 2, transcript.Count("data"), "the newest")
	for _, id := range oldest {
		service.decide(t, id, `{"decision":"decline"}`).Want(http.StatusOK)
	}
	require.Len(t, shown(), 2)
}
