package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

func testSuspend(t *testing.T, a *rig) {
	parallel(t, "ends the lease and waits", func(t *testing.T) {
		run := a.claimed(t)
		body := fmt.Sprintf(`{"fence":%q,"suspension_id":"s1","approvals":[%s],"questions":[%s],"checkpoint":{"step":1}}`, run.fence, approval("a1"), question("q1"))
		waiting := a.post(t, "/v1/runs/"+run.run+"/suspend", body).want(http.StatusOK)
		require.Equal(t, "waiting_for_user_question", waiting.at("run", "status"))
		require.Nil(t, waiting.at("run", "lease"))
		require.Nil(t, waiting.at("resume"))
		require.NotEmpty(t, waiting.textAt("run", "pending_approvals", 0, "handle"))
		require.Equal(t, waiting.text, a.post(t, "/v1/runs/"+run.run+"/suspend", body).want(http.StatusOK).text, "the very same call again")
		other := fmt.Sprintf(`{"fence":%q,"suspension_id":"s1","approvals":[%s]}`, run.fence, approval("a2"))
		a.post(t, "/v1/runs/"+run.run+"/suspend", other).refused(api.CodeIDConflict)
		a.post(t, "/v1/runs/"+run.run+"/heartbeat", fmt.Sprintf(`{"fence":%q}`, run.fence)).refused(api.CodeLeaseLost)

		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		a.post(t, "/v1/runs/"+run.run+"/questions", answer("q1", `"answers":`+goodAnswers)).want(http.StatusAccepted)
		claim := a.post(t, "/v1/runs/"+run.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
		require.Equal(t, "s1", claim.at("resume", "suspension_id"))
		require.Equal(t, "allow", claim.at("resume", "approvals", 0, "resolution", "behavior"))
		require.Equal(t, "Which route?: A\nNotes?: fast", claim.at("resume", "questions", 0, "resolution", "summary"))
		require.Equal(t, map[string]any{"step": 1.0}, claim.at("checkpoint"))
		// All callers see the same, except for the grant and the signature, which only the holder sees.
		shown := a.get(t, "/v1/runs/"+run.run).at("resume")
		for _, resume := range []any{claim.at("resume"), shown} {
			delete(resume.(map[string]any)["approvals"].([]any)[0].(map[string]any)["resolution"].(map[string]any), "grant")
			delete(resume.(map[string]any)["questions"].([]any)[0].(map[string]any)["resolution"].(map[string]any), "signature")
		}
		require.Equal(t, claim.at("resume"), shown)
	})
	parallel(t, "what is open on one run is bounded in bytes", func(t *testing.T) {
		store := openSQLite(t)
		alone := serve(t, store, a.contract)
		made, err := store.Do(t.Context(), &runs.CreateRun{RunID: "r", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
		require.NoError(t, err)
		text := func(bytes int) api.JSON { return api.JSON(`"` + strings.Repeat("x", bytes) + `"`) }
		for n := range 9 {
			_, err := store.Do(t.Context(), &runs.Suspend{RunID: "r", Fence: made.Run.Run.Fence, Suspension: api.Suspension{
				Hold: true, Approvals: []api.ApprovalRequest{{ID: fmt.Sprintf("a%d", n), ToolCallID: "c", ToolName: "bash", Input: text(926_500)}},
			}})
			require.NoError(t, err)
		}
		body := fmt.Sprintf(`{"fence":"%d","approvals":[{"id":"more","tool_call_id":"c","tool_name":"bash","input":%s}]}`, made.Run.Run.Fence, text(60_000))
		alone.post(t, "/v1/runs/r/suspend", body).refused(api.CodeSuspensionTooLarge)
	})
	parallel(t, "a key stands in for a suspension id", func(t *testing.T) {
		run := a.claimed(t)
		body := fmt.Sprintf(`{"fence":%q,"approvals":[%s]}`, run.fence, approval("a1"))
		first := a.post(t, "/v1/runs/"+run.run+"/suspend", body, key("k1")).want(http.StatusOK)
		again := a.post(t, "/v1/runs/"+run.run+"/suspend", body, key("k1")).want(http.StatusOK)
		require.Equal(t, first.text, again.text)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		other := fmt.Sprintf(`{"fence":%q,"approvals":[%s]}`, run.fence, approval("a2"))
		a.post(t, "/v1/runs/"+run.run+"/suspend", other, key("k1")).refused(api.CodeIdempotencyConflict)
		next := a.attached(t, `"approvals":[`+approval("a1")+`]`)
		reused := fmt.Sprintf(`{"fence":%q,"hold":true,"approvals":[%s]}`, next.fence, approval("a1"))
		a.post(t, "/v1/runs/"+next.run+"/suspend", reused, key("k1")).refused(api.CodeIDConflict)
		a.post(t, "/v1/runs/"+run.run+"/suspend", other, key(" "), expecting(semantic)).refused(api.CodeInvalidIdempotencyKey)
	})
	parallel(t, "a key is known after a checkpoint includes its decisions", func(t *testing.T) {
		run := a.claimed(t)
		suspend := func(id, k string) *reply {
			return a.post(t, "/v1/runs/"+run.run+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,"approvals":[%s]}`, run.fence, approval(id)), key(k))
		}
		suspend("a1", "k").want(http.StatusOK)
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		a.post(t, "/v1/runs/"+run.run+"/heartbeat", fmt.Sprintf(`{"fence":%q,"checkpoint":1,"settled_after":"1"}`, run.fence)).want(http.StatusOK)
		suspend("a2", "k").refused(api.CodeIdempotencyConflict)
		suspend("a1", "other").refused(api.CodeIDConflict)
		require.Equal(t, "a1", suspend("a1", "k").want(http.StatusOK).at("resume", "approvals", 0, "request", "id"))
	})
	parallel(t, "the same suspension under a later claim has its own decisions", func(t *testing.T) {
		run := a.claimed(t)
		path := "/v1/runs/" + run.run
		suspend := func(fence, id, members string) *reply {
			return a.post(t, path+"/suspend", fmt.Sprintf(`{"fence":%q,"suspension_id":%q,%s}`, fence, id, members)).want(http.StatusOK)
		}
		claim := func() *reply { return a.post(t, path+"/claim", `{"worker_id":"next"}`).want(http.StatusOK) }
		first, second := `"approvals":[`+approval("first")+`]`, `"approvals":[`+approval("second")+`]`
		suspend(run.fence, "s1", first)
		a.post(t, path+"/approvals", deny("first")).want(http.StatusAccepted)
		suspend(claim().textAt("lease", "fence"), "s2", second)
		a.post(t, path+"/approvals", allow("second")).want(http.StatusAccepted)
		last := claim()
		require.Equal(t, "s2", last.at("resume", "suspension_id"))
		fence := last.textAt("lease", "fence")
		for id, want := range map[string]struct{ members, request, outcome string }{"s1": {first, "first", "denied"}, "s2": {second, "second", "allowed"}} {
			again := suspend(fence, id, want.members)
			require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
			require.Equal(t, id, again.at("resume", "suspension_id"))
			require.Len(t, again.list("resume", "approvals"), 1)
			require.Equal(t, want.request, again.at("resume", "approvals", 0, "request", "id"))
			require.Equal(t, want.outcome, again.at("resume", "approvals", 0, "resolution", "outcome"))
			require.Equal(t, "s2", again.at("run", "resume", "suspension_id"), "the run continues with the last one")
		}

		// An attached worker's checkpoint includes everything, and its successor repeats the first call.
		attached := `"hold":true,"approvals":[` + approval("third") + `]`
		suspend(fence, "s3", attached)
		a.post(t, path+"/approvals", allow("third")).want(http.StatusAccepted)
		a.post(t, path+"/heartbeat", fmt.Sprintf(`{"fence":%q,"checkpoint":1,"settled_after":"3"}`, fence)).want(http.StatusOK)
		held := suspend(fence, "s3", attached)
		require.Equal(t, "third", held.at("resume", "approvals", 0, "request", "id"), "the checkpoint includes it")
		require.NotEmpty(t, held.at("resume", "approvals", 0, "resolution", "grant"))
		a.post(t, path+"/release", fmt.Sprintf(`{"fence":%q}`, fence)).want(http.StatusOK)
		last = claim()
		require.Nil(t, last.at("resume"))
		again := suspend(last.textAt("lease", "fence"), "s1", first)
		require.NotNil(t, again.at("run", "lease"))
		require.Equal(t, "s1", again.at("resume", "suspension_id"))
		require.Len(t, again.list("resume", "approvals"), 1)
		require.Equal(t, "denied", again.at("resume", "approvals", 0, "resolution", "outcome"))
		require.Nil(t, suspend(fence, "s1", first).at("resume"), "the lease is another worker's")
	})
	parallel(t, "a request id is used once in a run", func(t *testing.T) {
		run := a.attached(t, `"approvals":[`+approval("x1")+`]`)
		a.post(t, "/v1/runs/"+run.run+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,"questions":[%s]}`, run.fence, question("x1"))).refused(api.CodeIDConflict)
	})
	parallel(t, "members at fault", func(t *testing.T) {
		run := a.claimed(t)
		refuse := func(members, pointer string, options ...option) {
			t.Helper()
			a.post(t, "/v1/runs/"+run.run+"/suspend", fmt.Sprintf(`{"fence":%q,%s}`, run.fence, members), options...).
				refused(api.CodeInvalidRequest).pointer(pointer)
		}
		call := `"id":"a","tool_call_id":"c","tool_name":"t"`
		for _, bad := range []struct{ members, pointer string }{
			{`"approvals":[{"id":"a","tool_call_id":"c","input":1}]`, "/approvals/0/tool_name"},
			{`"approvals":[{` + call + `}]`, "/approvals/0/input"},
			{`"approvals":[{` + call + `,"input":1,"expires_at_ms":0}]`, "/approvals/0/expires_at_ms"},
			{`"approvals":[{` + call + `,"input":1,"expires_after_ms":-5}]`, "/approvals/0/expires_after_ms"},
			{`"approvals":[{` + call + `,"input":1,"input_schema":7}]`, "/approvals/0/input_schema"},
			{`"approvals":[{` + call + `,"input":1,"pattern_keys":[""]}]`, "/approvals/0/pattern_keys/0"},
			{`"approvals":{}`, "/approvals"},
			{`"questions":[{"id":"q","questions":[{"question":""}]}]`, "/questions/0/questions/0/question"},
			{`"questions":[{"id":"q","questions":[` + strings.Repeat(`{"question":"x"},`, 16) + `{"question":"x"}]}]`, "/questions/0/questions"},
			{`"questions":[{"id":"q","questions":[{"question":7}]}]`, "/questions/0/questions/0/question"},
		} {
			refuse(bad.members, bad.pointer)
		}
		for _, bad := range []struct{ members, pointer string }{
			{`"checkpoint":1`, "/approvals"},
			{`"approvals":[` + approval("d") + `,` + approval("d") + `]`, "/approvals/1/id"},
			{`"approvals":[` + approval("d") + `],"questions":[` + question("d") + `]`, "/questions/0/id"},
			{`"approvals":[{` + call + `,"input":1,"expires_at_ms":5,"expires_after_ms":5}]`, "/approvals/0/expires_after_ms"},
			{`"questions":[{"tool_call_id":"c","questions":[]}]`, "/questions/0/questions"},
			{`"questions":[{"id":"q","questions":[{"question":"x","options":[{"id":"o"},{"id":"o"}]}]}]`, "/questions/0/questions/0/options/1/id"},
			{`"questions":[{"id":"q","questions":[{"question":"x"}],"response_schema":{}}]`, "/questions/0/questions"},
		} {
			refuse(bad.members, bad.pointer, expecting(semantic))
		}
		bad := a.post(t, "/v1/runs/"+run.run+"/suspend", fmt.Sprintf(
			`{"fence":%q,"approvals":[{%s,"input":1,"input_schema":{"type":"nothing"}}]}`, run.fence, call), expecting(semantic)).refused(api.CodeInvalidRequest)
		require.Contains(t, bad.at("errors", 0, "pointer"), "/approvals/0/input_schema")
		require.Equal(t, "running", a.get(t, "/v1/runs/"+run.run).at("status"), "nothing changed")
	})
	parallel(t, "also_from of a step", a.takesAlsoFrom)
	parallel(t, "questions get the defaults of a producer", func(t *testing.T) {
		run := a.waiting(t, `"questions":[{"tool_call_id":"call-9","questions":[{"question":"Why?","options":[{"label":"Yes"},{"label":"No"}]}]}]`)
		view := a.get(t, "/v1/runs/"+run.run).want(http.StatusOK)
		require.Equal(t, "question-request-call-9", view.at("pending_questions", 0, "id"))
		require.Equal(t, map[string]any{
			"id": "question-1", "header": "Question 1", "question": "Why?", "multi_select": false, "allow_freeform": false,
			"options": []any{map[string]any{"id": "option-1", "label": "Yes"}, map[string]any{"id": "option-2", "label": "No"}},
		}, view.at("pending_questions", 0, "questions", 0))
	})
	parallel(t, "hostile values are carried whole or refused", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"t","input":{"nul":"\u0000","n":1.0,"big":"9007199254740993","é":"\ud83d\ude00","z":[1e3,-0.0]}}]`)
		require.Contains(t, a.get(t, "/v1/runs/"+run.run).text, `"nul":"\u0000"`)
		require.Contains(t, a.get(t, "/v1/runs/"+run.run).text, `"n":1.0`)
		a.carriesLargeIntegers(t)
		for _, bad := range []struct {
			text string
			code api.Code
		}{
			{`"\ud800"`, api.CodeBadRequest},
			{"\"\xff\"", api.CodeBadRequest},
			{`{"a":1,"a":2}`, api.CodeBadRequest},
			{`1e400`, api.CodeInvalidRequest},
			{strings.Repeat("[", 64) + strings.Repeat("]", 64), api.CodeInvalidRequest},
			{strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), api.CodeInvalidRequest},
		} {
			got := a.post(t, "/v1/runs", `{"input":`+bad.text+`}`, unchecked()).refused(bad.code)
			if bad.code == api.CodeInvalidRequest {
				require.True(t, strings.HasPrefix(got.textAt("errors", 0, "pointer"), "/input"), got.text)
			}
		}
	})
}

// carriesLargeIntegers shows that people and the worker get all digits of integers beyond 2^53, and
// that digests distinguish them: several of them share one double.
func (a *rig) carriesLargeIntegers(t *testing.T) {
	t.Helper()
	raise := func(input string) (wantedRun, string) {
		run := a.waiting(t, `"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"send","input":`+input+`}]`)
		return run, a.get(t, "/v1/runs/"+run.run).at("pending_approvals", 0, "input_digest").(string)
	}
	const channel = `{"channel":1234567890123456789,"é":-9007199254740993}`
	run, digest := raise(channel)
	sum := sha256.Sum256([]byte(channel))
	require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), digest, "the digest is over the digits")
	_, other := raise(`{"channel":1234567890123456788,"é":-9007199254740993}`)
	require.NotEqual(t, other, digest)
	for _, path := range []string{"/v1/runs/" + run.run, "/v1/approvals?session_id=" + run.session, "/v1/runs/" + run.run + "/events", "/kheish/v1/runs/" + run.run} {
		require.Contains(t, a.get(t, path, unchecked()).want(http.StatusOK).text, `1234567890123456789`, path)
	}
	const edited = `{"channel":12345678901234567890123}`
	a.post(t, "/v1/runs/"+run.run+"/approvals", `{"resolutions":[{"request_id":"a1","behavior":"allow","input_digest":"`+digest+`","updated_input":`+edited+`}]}`).want(http.StatusAccepted)
	claim := a.post(t, "/v1/runs/"+run.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
	require.Contains(t, claim.text, `1234567890123456789`)
	require.Contains(t, claim.text, `12345678901234567890123`)
}

// takesAlsoFrom raises a request whose step has also_from, writes a rule with it, and reads both back.
func (a *rig) takesAlsoFrom(t *testing.T) {
	t.Helper()
	const named, empty = `,"also_from":["role:admin","user:ada"]`, `,"also_from":[]`
	escalation := func(alsoFrom string) string {
		return `"escalation":{"steps":[{"after_ms":86400000,"notify":["role:operator"]` + alsoFrom + `,"urgent":true}]}`
	}
	suspend := func(run wantedRun, alsoFrom string) *reply {
		return a.post(t, "/v1/runs/"+run.run+"/suspend", fmt.Sprintf(`{"fence":%q,"suspension_id":"s1","approvals":[%s]}`, run.fence, tool("a1", "bash", "ls", ","+escalation(alsoFrom))))
	}
	want := []any{"role:admin", "user:ada"}
	run := a.claimed(t)
	raised := suspend(run, named).want(http.StatusOK)
	require.Equal(t, want, raised.at("run", "pending_approvals", 0, "escalation", "steps", 0, "also_from"))
	require.Equal(t, raised.text, suspend(run, named).want(http.StatusOK).text, "a replay")
	for _, other := range []string{"", empty, `,"also_from":["user:ada"]`} {
		suspend(run, other).refused(api.CodeIDConflict)
	}
	require.Equal(t, want, a.get(t, "/v1/runs/"+run.run).want(http.StatusOK).at("pending_approvals", 0, "escalation", "steps", 0, "also_from"))
	require.Contains(t, a.get(t, "/v1/runs/"+run.run+"/events").want(http.StatusOK).text, `"also_from":["role:admin","user:ada"]`)
	without := a.claimed(t)
	require.NotContains(t, suspend(without, empty).want(http.StatusOK).text, "also_from")
	suspend(without, "").want(http.StatusOK)

	addRule := func(alsoFrom string, options ...option) *reply {
		return a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","effect":"ask","match":{"any_input":true},%s}`, without.session, escalation(alsoFrom)), options...)
	}
	rule := addRule(named).want(http.StatusCreated).textAt("rule_id")
	require.Equal(t, want, a.get(t, "/v1/rules/"+rule).want(http.StatusOK).at("escalation", "steps", 0, "also_from"))

	next := a.claimed(t)
	for _, bad := range []struct {
		alsoFrom, at string
		options      []option
	}{
		{`,"also_from":"user:ada"`, "", nil},
		{`,"also_from":["user:ada",7]`, "/1", nil},
		{`,"also_from":[""]`, "/0", nil},
		{`,"also_from":[` + strings.Repeat(`"user:ada",`, api.MaxSelectors) + `"user:ada"]`, "", nil},
		{`,"also_from":["user:ada","ada"]`, "/1", []option{expecting(semantic)}},
		{`,"also_from":["role:agent"]`, "/0", []option{expecting(semantic)}},
		{`,"also_from":["oncall:nobody-has-it"]`, "/0", []option{expecting(semantic)}},
	} {
		at := "/escalation/steps/0/also_from" + bad.at
		addRule(bad.alsoFrom, bad.options...).refused(api.CodeInvalidRequest).pointer(at)
		body := fmt.Sprintf(`{"fence":%q,"approvals":[%s]}`, next.fence, tool("a1", "bash", "ls", ","+escalation(bad.alsoFrom)))
		a.post(t, "/v1/runs/"+next.run+"/suspend", body, bad.options...).refused(api.CodeInvalidRequest).pointer("/approvals/0" + at)
	}
}
