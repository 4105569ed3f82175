package httpapi_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

func testAttached(t *testing.T, a *rig) {
	resume := func(t *testing.T, run wantedRun, after string, options ...option) *reply {
		t.Helper()
		return a.get(t, "/v1/runs/"+run.run+"/resume?fence="+run.fence+"&after="+after, options...)
	}
	parallel(t, "each decision as it falls", func(t *testing.T) {
		run := a.attached(t, `"approvals":[`+approval("a1")+`,`+approval("a2")+`],"questions":[`+question("q1")+`]`)
		first := resume(t, run, "0").want(http.StatusOK)
		require.Equal(t, map[string]any{"after": "0", "settled": []any{}, "open": 3.0, "cancel_requested": false}, first.body)

		held := later(func() *reply { return resume(t, run, "0", wait(60)) })
		a.post(t, "/v1/runs/"+run.run+"/approvals", deny("a2")).want(http.StatusAccepted)
		one := soon(t, held).want(http.StatusOK)
		require.Equal(t, "1", one.at("after"))
		require.Equal(t, 2.0, one.at("open"))
		require.Equal(t, "a2", one.at("settled", 0, "request", "id"))
		require.Equal(t, "denied", one.at("settled", 0, "resolution", "outcome"))

		a.post(t, "/v1/runs/"+run.run+"/questions", answer("q1", `"answers":`+goodAnswers)).want(http.StatusAccepted)
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		rest := resume(t, run, "1", wait(60)).want(http.StatusOK)
		require.Equal(t, "3", rest.at("after"))
		require.Equal(t, 0.0, rest.at("open"))
		require.Equal(t, "q1", rest.at("settled", 0, "request", "id"))
		require.Equal(t, "A", rest.at("settled", 0, "resolution", "answers", 0, "selected_options", 0, "label"))
		require.Equal(t, "a1", rest.at("settled", 1, "request", "id"))
		require.Len(t, resume(t, run, "0").list("settled"), 3)

		view := a.get(t, "/v1/runs/"+run.run).want(http.StatusOK)
		require.Equal(t, "running", view.at("status"), "under the same lease, without a new claim")
		require.Equal(t, "w1", view.at("lease", "worker_id"))
		require.Empty(t, resume(t, run, "3", wait(60)).want(http.StatusOK).list("settled"), "nothing is open, so there is nothing to wait for")
		a.post(t, "/v1/runs/"+run.run+"/complete", fmt.Sprintf(`{"fence":%q}`, run.fence)).want(http.StatusOK)
	})
	parallel(t, "many decisions come in pages", func(t *testing.T) {
		run := a.claimed(t)
		fence, err := strconv.ParseInt(run.fence, 10, 64)
		require.NoError(t, err)
		input := api.JSON(`"` + strings.Repeat("x", 50_000) + `"`)
		var ids []string
		for n := range api.MaxReplyBytes / len(input) * 5 / 4 {
			id := fmt.Sprintf("a%d", n)
			ids = append(ids, id)
			// Straight to the store: each reply of the service has every request so far.
			for _, command := range []runs.Command{
				&runs.Suspend{RunID: run.run, Fence: fence, Suspension: api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{{ID: id, ToolCallID: "c", ToolName: "bash", Input: input}}}},
				&runs.ResolveApprovals{RunID: run.run, Resolutions: []runs.ApprovalDecision{{RequestID: id, Behavior: api.BehaviorAllow}}, Actor: runs.Actor{Name: "alice", Via: api.ViaAPI}},
			} {
				_, err := a.store.Do(t.Context(), command)
				require.NoError(t, err)
			}
		}
		var read []string
		after := "0"
		for open := 1.0; open > 0; {
			page := resume(t, run, after, wait(60)).want(http.StatusOK)
			require.NotEmpty(t, page.list("settled"))
			require.LessOrEqual(t, len(page.text), api.MaxReplyBytes+(64<<10))
			for n := range page.list("settled") {
				read = append(read, page.at("settled", n, "request", "id").(string))
			}
			after, open = page.at("after").(string), page.at("open").(float64)
		}
		require.Equal(t, ids, read, "a worker that reads until nothing is open has all of them")
	})
	parallel(t, "the same fence suspends again while it waits", func(t *testing.T) {
		run := a.attached(t, `"approvals":[`+approval("a1")+`]`)
		more := a.post(t, "/v1/runs/"+run.run+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,"approvals":[%s]}`, run.fence, approval("a2"))).want(http.StatusOK)
		require.Equal(t, []any{"a1", "a2"}, more.at("run", "pending_approval_ids"))
	})
	parallel(t, "a reply has a resume once nothing that the call raised is open", func(t *testing.T) {
		run := a.claimed(t)
		key := a.name("key")
		a.post(t, "/v1/rules", fmt.Sprintf(`{"match":{"pattern_keys":[%q]},"tool_name":"bash"}`, key)).want(http.StatusCreated)
		keyed := func(id string) string {
			return fmt.Sprintf(`{"id":%q,"tool_call_id":"c","tool_name":"bash","input":1,"pattern_keys":[%q]}`, id, key)
		}
		raise := func(approvals ...string) *reply {
			return a.post(t, "/v1/runs/"+run.run+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,"approvals":[%s]}`, run.fence, strings.Join(approvals, ","))).want(http.StatusOK)
		}
		require.Equal(t, "a1", raise(keyed("a1")).at("resume", "approvals", 0, "request", "id"))
		require.Nil(t, raise(approval("open")).at("resume"), "what was settled before says nothing about what is open")
		require.Nil(t, raise(keyed("a2"), approval("open2")).at("resume"))
		third := raise(keyed("a3"))
		require.Equal(t, "waiting_for_approval", third.at("run", "status"))
		require.Len(t, third.list("resume", "approvals"), 1, "the earlier ones are not repeated")
		require.Equal(t, "a3", third.at("resume", "approvals", 0, "request", "id"))

		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("open")).want(http.StatusAccepted)
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("open2")).want(http.StatusAccepted)
		body := fmt.Sprintf(`{"fence":%q,"hold":true,"suspension_id":"last","approvals":[%s]}`, run.fence, keyed("a4"))
		for range 2 { // the second is the same call again
			last := a.post(t, "/v1/runs/"+run.run+"/suspend", body).want(http.StatusOK)
			require.Equal(t, "running", last.at("run", "status"))
			require.Nil(t, last.at("run", "resume"))
			require.Len(t, last.list("resume", "approvals"), 1)
			require.Equal(t, "a4", last.at("resume", "approvals", 0, "request", "id"))
			require.NotEmpty(t, last.at("resume", "approvals", 0, "resolution", "grant"))
		}
		require.Len(t, resume(t, run, "0").list("settled"), 6)
		require.Len(t, a.get(t, "/v1/runs/"+run.run).want(http.StatusOK).list("resume", "approvals"), 6)
	})
	parallel(t, "a cancel is told", func(t *testing.T) {
		run := a.attached(t, `"approvals":[`+approval("a1")+`]`)
		held := later(func() *reply { return resume(t, run, "0", wait(60)) })
		a.post(t, "/v1/runs/"+run.run+"/cancel", "").want(http.StatusOK)
		told := soon(t, held).want(http.StatusOK)
		require.Equal(t, true, told.at("cancel_requested"))
		require.Equal(t, "cancelled", told.at("settled", 0, "resolution", "outcome"))
		require.Equal(t, 0.0, told.at("open"))
	})
	parallel(t, "who is not attached, or asks wrongly", func(t *testing.T) {
		run := a.attached(t, `"approvals":[`+approval("a1")+`]`)
		path := "/v1/runs/" + run.run + "/resume"
		a.get(t, path).refused(api.CodeInvalidRequest).pointer("/fence")
		a.get(t, path+"?fence=x").refused(api.CodeInvalidRequest).pointer("/fence")
		a.get(t, path+"?fence=-1").refused(api.CodeInvalidRequest).pointer("/fence")
		a.get(t, path+"?fence="+run.fence+"&after=x").refused(api.CodeInvalidEventCursor)
		require.Contains(t, resume(t, run, "1", unchecked()).refused(api.CodeInvalidEventCursor).at("detail"), "has the number 0", "it would not get the next decision")
		a.get(t, path+"?fence=99").refused(api.CodeLeaseLost)
		a.get(t, path+"?fence=0").refused(api.CodeLeaseLost)
		a.get(t, "/v1/runs/nobody/resume?fence=1").refused(api.CodeRunNotFound)
		gone := a.claimed(t)
		a.post(t, "/v1/runs/"+gone.run+"/suspend", fmt.Sprintf(`{"fence":%q,"approvals":[%s]}`, gone.fence, approval("a1"))).want(http.StatusOK)
		resume(t, gone, "0").refused(api.CodeLeaseLost)
	})
	parallel(t, "withdraw", func(t *testing.T) {
		run := a.attached(t, `"approvals":[`+approval("a1")+`,`+approval("a2")+`],"questions":[`+question("q1")+`]`)
		path := "/v1/runs/" + run.run + "/requests/"
		body := fmt.Sprintf(`{"fence":%q,"reason":"found it in the docs"}`, run.fence)
		view := a.post(t, path+"q1/withdraw", body).want(http.StatusOK)
		require.Equal(t, "waiting_for_approval", view.at("status"))
		told := resume(t, run, "0").want(http.StatusOK)
		require.Equal(t, "worker", told.at("settled", 0, "resolution", "via"))
		require.Equal(t, "cancelled", told.at("settled", 0, "resolution", "outcome"))
		require.Equal(t, view.text, a.post(t, path+"q1/withdraw", body).want(http.StatusOK).text, "the very same call again")
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		a.post(t, path+"a1/withdraw", body).refused(api.CodeApprovalStateConflict).recorded(api.OutcomeAllowed)
		a.post(t, path+"nobody/withdraw", body).refused(api.CodeRequestNotFound)
		a.post(t, path+"%00/withdraw", body).refused(api.CodeRequestNotFound)
		require.Equal(t, "running", a.post(t, path+"a2/withdraw", body).want(http.StatusOK).at("status"))
	})
	parallel(t, "ending while something is open records it expired", func(t *testing.T) {
		run := a.attached(t, `"questions":[`+question("q1")+`]`)
		a.post(t, "/v1/runs/"+run.run+"/complete", fmt.Sprintf(`{"fence":%q}`, run.fence)).want(http.StatusOK)
		late := a.post(t, "/v1/runs/"+run.run+"/questions", answer("q1", `"declined":true`)).refused(api.CodeQuestionExpired)
		require.Equal(t, "run_ended", late.recorded(api.OutcomeExpired).at("recorded_decision", "via"))
	})
}
