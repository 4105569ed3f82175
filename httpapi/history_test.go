package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func via(program string) option { return header("X-Via", program) }

func testHistory(t *testing.T, a *rig) {
	parallel(t, "the way of a decision", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`,`+approval("a2")+`,`+approval("a3")+`]`)
		path := "/v1/runs/" + run.run + "/approvals"
		for _, bad := range []string{"", "a b", strings.Repeat("x", 33), "..", "é"} {
			a.post(t, path, allow("a1"), via(bad), unchecked()).refused(api.CodeBadRequest)
		}
		a.post(t, path, allow("a1"), via("cli"), via("cli"), unchecked()).refused(api.CodeBadRequest)
		a.post(t, path, allow("a1"), via("cli"), header("X-Actor", "ada")).want(http.StatusAccepted)
		a.post(t, path, allow("a2"), via(strings.Repeat("x", 32))).want(http.StatusAccepted)
		a.post(t, path, deny("a3")).want(http.StatusAccepted)
		decided := a.get(t, "/v1/decisions?session_id="+run.session).want(http.StatusOK)
		var ways []string
		for i := range decided.list("items") {
			ways = append(ways, decided.textAt("items", i, "recorded_decision", "via"))
		}
		require.ElementsMatch(t, []string{"api:cli", "api:" + strings.Repeat("x", 32), "api"}, ways)
		late := a.post(t, path, allow("a1"), via("inbox")).want(http.StatusConflict)
		require.Equal(t, "api:cli", late.textAt("recorded_decision", "via"))
	})
	parallel(t, "the same call, and what was decided before", func(t *testing.T) {
		input := a.name("command")
		call := func(id, tool string) string {
			return fmt.Sprintf(`{"id":%q,"tool_call_id":"c","tool_name":%q,"input":{"command":%q},"input_schema":{"type":"object"},"pattern_keys":["k"]}`, id, tool, input)
		}
		nested := fmt.Sprintf(`{"id":"n","tool_call_id":"c","tool_name":"bash","input":{"input_digest":%q}}`, "sha256:"+strings.Repeat("0", 64))
		one := a.waiting(t, `"approvals":[`+call("a1", "bash")+`,`+call("a2", "bash")+`,`+call("other", "zsh")+`,`+nested+`]`)
		two := a.waiting(t, `"approvals":[`+call("b1", "bash")+`]`)
		handle := a.get(t, "/v1/runs/"+two.run).textAt("pending_approvals", 0, "handle")
		require.Equal(t, 2.0, a.get(t, "/v1/requests/"+handle).at("same_as_open"))
		require.NotContains(t, a.get(t, "/v1/requests/"+handle).text, `"context"`)
		require.Empty(t, a.get(t, "/v1/requests/"+handle+"?context=20").list("context"))
		a.post(t, "/v1/runs/"+one.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		require.Equal(t, 1.0, a.get(t, "/v1/requests/"+handle+"?context=0").at("same_as_open"))
		a.post(t, "/v1/runs/"+one.run+"/approvals", deny("a2")).want(http.StatusAccepted)

		open := a.get(t, "/v1/runs/"+one.run).textAt("pending_approvals", 0, "handle")
		shown := a.get(t, "/v1/requests/"+open+"?context=5").want(http.StatusOK)
		require.Equal(t, 0.0, shown.at("same_as_open"))
		require.Len(t, shown.list("context"), 2)
		require.Equal(t, "a1", shown.at("context", 0, "request", "id"))
		require.Equal(t, "denied", shown.at("context", 1, "recorded_decision", "outcome"))
		require.Equal(t, map[string]any{"command": input}, shown.at("context", 1, "request", "input"))
		for _, left := range []string{"input_schema", "pattern_keys"} {
			require.Nil(t, shown.at("context", 0, "request", left))
		}
		newest := a.get(t, "/v1/requests/"+open+"?context=1").list("context")
		require.Len(t, newest, 1)
		require.Equal(t, shown.at("context", 1), newest[0])
		// Of a settled request, what was settled before it.
		settled := a.get(t, "/v1/requests/"+shown.textAt("context", 1, "request", "handle")+"?context=5")
		require.Nil(t, settled.at("same_as_open"))
		for _, before := range settled.list("context") {
			require.Equal(t, "a1", before.(map[string]any)["request"].(map[string]any)["id"])
		}
		for _, bad := range []string{"-1", "21", "x", ""} {
			a.get(t, "/v1/requests/"+handle+"?context="+bad, unchecked()).refused(api.CodeBadRequest)
		}
	})
	parallel(t, "decisions, newest first, by every filter", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`,`+approval("a2")+`],"questions":[`+question("q1")+`]`)
		actor := a.name("ada")
		path := "/v1/runs/" + run.run
		a.post(t, path+"/approvals", allow("a1"), header("X-Actor", actor)).want(http.StatusAccepted)
		a.post(t, path+"/approvals", `{"resolutions":[{"request_id":"a2","behavior":"deny","reason":"no"}]}`).want(http.StatusAccepted)
		a.post(t, path+"/questions", answer("q1", `"answers":`+goodAnswers), header("X-Actor", actor)).want(http.StatusAccepted)
		list := "/v1/decisions?session_id=" + run.session
		for limit := 1; limit <= 4; limit++ {
			require.ElementsMatch(t, []string{"q1", "a2", "a1"}, a.pages(t, list+"&", limit, "recorded_decision", "request_id"))
		}
		whole := a.get(t, list).want(http.StatusOK)
		require.Equal(t, "resolved_at_ms_desc,handle_desc", whole.textAt("pagination", "order"))
		last := int64(1) << 53
		for i := range whole.list("items") {
			at := int64(whole.at("items", i, "recorded_decision", "resolved_at_ms").(float64))
			require.LessOrEqual(t, at, last)
			last = at
			require.Equal(t, run.run, whole.textAt("items", i, "run", "run_id"))
			handle := whole.textAt("items", i, "request", "handle")
			require.Equal(t, whole.at("items", i), a.get(t, "/v1/requests/"+handle).want(http.StatusOK).body)
		}
		for filter, want := range map[string]int{
			"&actor=" + actor: 2, "&actor=nobody": 0, "&actor=" + url.QueryEscape("%_"): 0,
			"&outcome=denied": 1, "&outcome=expired": 0, "&agent_id=default": 3, "&agent_id=other": 0,
			fmt.Sprintf("&since_ms=%d", last): 3, "&since_ms=9007199254740991": 0, "&actor=%00%ff": 0,
		} {
			page := a.get(t, list+filter, unchecked()).want(http.StatusOK)
			require.Len(t, page.list("items"), want, filter)
			require.EqualValues(t, want, page.at("pagination", "total_count"), filter)
		}
		for _, bad := range []string{"&outcome=maybe", "&since_ms=-1", "&since_ms=x", "&fields=all", "&fields="} {
			a.get(t, list+bad, unchecked()).refused(api.CodeBadRequest)
		}
		a.get(t, list+"&since_ms=", unchecked()).refused(api.CodeInvalidFilter)
		a.get(t, list+"&limit=0", unchecked()).refused(api.CodeInvalidLimit)
		for _, cursor := range []string{"", "x", "ZS8xL2E", "ZC94L2E"} {
			a.get(t, list+"&cursor="+cursor, unchecked()).refused(api.CodeInvalidCursor)
		}
	})
	parallel(t, "one request by its handle", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`],"questions":[`+question("q1")+`]`)
		shown := a.get(t, "/v1/runs/"+run.run).want(http.StatusOK)
		open := a.get(t, "/v1/requests/"+shown.textAt("pending_approvals", 0, "handle")).want(http.StatusOK)
		require.Equal(t, "approval", open.at("kind"))
		require.Equal(t, shown.at("pending_approvals", 0), open.at("request"))
		require.Equal(t, "waiting_for_user_question", open.at("run", "status"))
		require.Nil(t, open.at("recorded_decision"))
		require.Nil(t, open.at("resolution"))
		asked := a.get(t, "/v1/requests/"+shown.textAt("pending_questions", 0, "handle")).want(http.StatusOK)
		require.Equal(t, "question", asked.at("kind"))
		require.Equal(t, shown.at("pending_questions", 0), asked.at("request"))
		a.get(t, "/v1/requests/nothing").refused(api.CodeRequestNotFound)
		for _, impossible := range []string{"%00", "a%2Fb", "%FF", "..%2f"} {
			a.get(t, "/v1/requests/"+impossible, unchecked()).want(http.StatusNotFound)
		}
	})
	parallel(t, "a summary cuts inputs between characters", func(t *testing.T) {
		long := strings.Repeat("é", 3000)
		run := a.waiting(t, fmt.Sprintf(`"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"write","input":{"text":%q}},`, long)+approval("a2")+`]`)
		whole := a.get(t, "/v1/approvals?session_id="+run.session).want(http.StatusOK)
		require.Equal(t, long, whole.at(0, "request", "input", "text"))
		require.Nil(t, whole.at(0, "request", "input_truncated"))
		for _, path := range []string{"/v1/approvals?session_id=" + run.session, "/v1/sessions/" + run.session + "/approvals?page=false"} {
			cut := a.get(t, path+"&fields=summary").want(http.StatusOK)
			text := cut.textAt(0, "request", "input")
			require.Equal(t, true, cut.at(0, "request", "input_truncated"))
			require.EqualValues(t, len(`{"text":""}`)+len(long), cut.at(0, "request", "input_bytes"))
			require.LessOrEqual(t, len(text), api.MaxSummaryInputBytes)
			require.Greater(t, len(text), api.MaxSummaryInputBytes-4)
			require.True(t, strings.HasPrefix(`{"text":"`+long, text))
			require.Equal(t, whole.at(1), cut.at(1))
		}
		a.get(t, "/v1/questions?fields=summary&session_id="+run.session).want(http.StatusOK)
		a.get(t, "/v1/approvals?fields=input", unchecked()).refused(api.CodeBadRequest)
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		decided := a.get(t, "/v1/decisions?fields=summary&session_id="+run.session).want(http.StatusOK)
		require.Equal(t, true, decided.at("items", 0, "request", "input_truncated"))
		lying := a.waiting(t, `"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"t","input":1,"input_truncated":true,"input_bytes":7}]`)
		require.Nil(t, a.get(t, "/v1/approvals?session_id="+lying.session).at(0, "request", "input_truncated"), "the service's to say")
	})
	parallel(t, "who holds which runs", func(t *testing.T) {
		run := a.claimed(t)
		a.do(t, http.MethodPatch, "/v1/sessions/"+run.session, `{"label":"Nightly build"}`).want(http.StatusOK)
		held := a.attached(t, `"approvals":[`+approval("a1")+`]`)
		a.post(t, "/v1/runs", `{"input":1,"claim":{"worker_id":"w2"}}`).want(http.StatusAccepted)
		call := a.post(t, "/v1/runs", `{"kind":"call","input":1,"claim":{"worker_id":"w1"},"suspend":{"hold":true,"approvals":[`+approval("a1")+`]}}`).want(http.StatusAccepted).textAt("run", "run_id")
		view := a.get(t, "/v1/workers").want(http.StatusOK)
		found, workers := map[string]string{}, map[string]int{}
		for i := range view.list("workers") {
			workers[view.textAt("workers", i, "worker_id")]++
			for j := range view.list("workers", i, "leases") {
				found[view.textAt("workers", i, "leases", j, "run_id")] = view.textAt("workers", i, "worker_id") + " " + view.textAt("workers", i, "leases", j, "status")
				require.Greater(t, view.at("workers", i, "leases", j, "expires_at_ms"), view.at("now_ms"))
				if view.at("workers", i, "leases", j, "run_id") == run.run {
					require.Equal(t, "Nightly build", view.at("workers", i, "leases", j, "session", "label"))
				}
			}
		}
		require.Equal(t, "w1 running", found[run.run])
		require.Equal(t, "w1 waiting_for_approval", found[held.run])
		require.Equal(t, "w1 waiting_for_approval", found[call])
		require.Equal(t, 1, workers["w1"], "its call comes after the runs of w2, and is listed with its own")
		require.NotContains(t, view.text, "fence")
	})
	parallel(t, "the inbox stream's counts, clock and summaries", func(t *testing.T) {
		long := strings.Repeat("x", 5000)
		a.get(t, "/v1/stream?fields=all", unchecked()).refused(api.CodeBadRequest)
		stream := a.follow(t, "/v1/stream?fields=summary")
		first := stream.event()
		require.Equal(t, "snapshot", first.name)
		for _, member := range []string{`"approvals_count":`, `"questions_count":`, `"now_ms":1`} {
			require.Contains(t, first.data, member)
		}
		run := a.waiting(t, fmt.Sprintf(`"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"write","input":{"text":%q}}]`, long))
		for {
			next := stream.event()
			if next.name != "waiting_for_approval" || !strings.Contains(next.data, run.run) {
				continue
			}
			require.Contains(t, next.data, `"input_truncated":true`)
			require.Contains(t, next.data, `"request_ids":["a1"]`)
			require.NotContains(t, next.data, long)
			return
		}
	})
}
