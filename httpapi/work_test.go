package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
)

func testWork(t *testing.T, a *rig) {
	parallel(t, "claim by agent, first come first served", func(t *testing.T) {
		agent := a.name("agent")
		claim := func(members string) *reply {
			return a.post(t, "/v1/runs/claim", fmt.Sprintf(`{"worker_id":"w1","agent_ids":[%q]%s}`, agent, members)).want(http.StatusOK)
		}
		require.Empty(t, claim("").list("claims"))
		var made []any
		for i := range 3 {
			run := a.post(t, "/v1/runs", fmt.Sprintf(`{"input":%d,"agent_id":%q}`, i, agent)).want(http.StatusAccepted)
			made = append(made, run.at("run_id"))
		}
		second := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":9,"agent_id":%q}`,
			a.get(t, fmt.Sprintf("/v1/runs/%s", made[0])).textAt("session_id"), agent)).want(http.StatusAccepted)
		one := claim("")
		require.Len(t, one.list("claims"), 1)
		require.Equal(t, made[0], one.at("claims", 0, "run", "run_id"))
		rest := claim(`,"max_runs":100,"lease_ms":60000,"wait_ms":1000`)
		require.Len(t, rest.list("claims"), 2, "a session's second run never before its first is over")
		require.Equal(t, made[1], rest.at("claims", 0, "run", "run_id"))
		require.Equal(t, made[2], rest.at("claims", 1, "run", "run_id"))
		a.post(t, fmt.Sprintf("/v1/runs/%s/complete", made[0]), fmt.Sprintf(`{"fence":%q}`, one.textAt("claims", 0, "lease", "fence"))).want(http.StatusOK)
		require.Equal(t, second.at("run_id"), claim(`,"wait_ms":20000`).at("claims", 0, "run", "run_id"))
	})
	parallel(t, "claim, members at fault", func(t *testing.T) {
		for _, bad := range []struct{ body, pointer string }{
			{`{}`, "/worker_id"},
			{`{"worker_id":"a b"}`, "/worker_id"},
			{`{"worker_id":"w","agent_ids":["a","?"]}`, "/agent_ids/1"},
			{`{"worker_id":"w","agent_ids":"a"}`, "/agent_ids"},
			{`{"worker_id":"w","max_runs":0}`, "/max_runs"},
			{`{"worker_id":"w","max_runs":101}`, "/max_runs"},
			{`{"worker_id":"w","lease_ms":0}`, "/lease_ms"},
			{`{"worker_id":"w","lease_ms":3600001}`, "/lease_ms"},
			{`{"worker_id":"w","wait_ms":-1}`, "/wait_ms"},
			{`{"worker_id":"w","wait_ms":60001}`, "/wait_ms"},
		} {
			a.post(t, "/v1/runs/claim", bad.body).refused(api.CodeInvalidRequest).pointer(bad.pointer)
		}
	})
	parallel(t, "claim one run", func(t *testing.T) {
		made := a.post(t, "/v1/runs", `{"input":{"n":1},"agent_id":"`+a.name("agent")+`"}`).want(http.StatusAccepted)
		path := "/v1/runs/" + made.textAt("run_id")
		a.post(t, path+"/claim", `{"worker_id":"w1","lease_ms":1}`).refused(api.CodeInvalidRequest).pointer("/lease_ms")
		a.post(t, path+"/claim", `{}`).refused(api.CodeInvalidRequest).pointer("/worker_id")
		claim := a.post(t, path+"/claim", `{"worker_id":"w1","lease_ms":60000}`).want(http.StatusOK)
		require.Equal(t, map[string]any{"n": 1.0}, claim.at("input"))
		a.post(t, path+"/claim", `{"worker_id":"w2"}`).refused(api.CodeRunNotClaimable)
		a.post(t, "/v1/runs/nobody/claim", `{"worker_id":"w2"}`).refused(api.CodeRunNotFound)
		a.post(t, "/v1/runs/%00/claim", `{"worker_id":"w2"}`).refused(api.CodeRunNotFound)
	})
	parallel(t, "the very same suspend or release again, after somebody else has the run", func(t *testing.T) {
		for _, raised := range []struct {
			body string
			key  option
		}{
			{`"approvals":[` + approval("a") + `]`, header("X-Nothing", "")},
			{`"suspension_id":"wait-1","approvals":[` + approval("a") + `]`, header("X-Nothing", "")},
			{`"approvals":[` + approval("a") + `]`, key("again")},
		} {
			run := a.claimed(t)
			path, body := "/v1/runs/"+run.run, fmt.Sprintf(`{"fence":%q,%s}`, run.fence, raised.body)
			require.Empty(t, a.post(t, path+"/suspend", body, raised.key).want(http.StatusOK).header.Get("Idempotency-Replayed"))
			replayed(a.post(t, path+"/suspend", body, raised.key).want(http.StatusOK))
			a.post(t, path+"/approvals", allow("a")).want(http.StatusAccepted)
			second := a.post(t, path+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK).textAt("lease", "fence")
			again := replayed(a.post(t, path+"/suspend", body, raised.key).want(http.StatusOK))
			require.Equal(t, "w2", again.at("run", "lease", "worker_id"))
			require.Nil(t, again.at("resume"), "the decisions are for the worker that has the run")
			a.post(t, path+"/suspend", fmt.Sprintf(`{"fence":%q,"approvals":[%s]}`, run.fence, approval("b")), raised.key).refused(api.CodeLeaseLost)

			released := fmt.Sprintf(`{"fence":%q,"checkpoint":1}`, second)
			require.Empty(t, a.post(t, path+"/release", released).want(http.StatusOK).header.Get("Idempotency-Replayed"))
			third := a.post(t, path+"/claim", `{"worker_id":"w3"}`).want(http.StatusOK).textAt("lease", "fence")
			require.Equal(t, "w3", replayed(a.post(t, path+"/release", released).want(http.StatusOK)).at("lease", "worker_id"))
			a.post(t, path+"/release", fmt.Sprintf(`{"fence":%q,"checkpoint":2}`, second)).refused(api.CodeLeaseLost)
			done := fmt.Sprintf(`{"fence":%q}`, third)
			a.post(t, path+"/complete", done).want(http.StatusOK)
			replayed(a.post(t, path+"/complete", done).want(http.StatusOK))
			require.Equal(t, "completed", replayed(a.post(t, path+"/suspend", body, raised.key).want(http.StatusOK)).at("run", "status"))
			require.Equal(t, "completed", replayed(a.post(t, path+"/release", released).want(http.StatusOK)).at("status"))
		}
	})
	parallel(t, "heartbeat keeps the lease and stores a checkpoint", func(t *testing.T) {
		run := a.claimed(t)
		beat := a.post(t, "/v1/runs/"+run.run+"/heartbeat", fmt.Sprintf(`{"fence":%q,"lease_ms":3600000,"checkpoint":{"step":3}}`, run.fence)).want(http.StatusOK)
		require.Equal(t, false, beat.at("cancel_requested"))
		require.Equal(t, beat.at("expires_at_ms"), a.get(t, "/v1/runs/"+run.run).at("lease", "expires_at_ms"))
		a.post(t, "/v1/runs/"+run.run+"/release?fence="+run.fence, "").want(http.StatusOK)
		claim := a.post(t, "/v1/runs/"+run.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
		require.Equal(t, map[string]any{"step": 3.0}, claim.at("checkpoint"))
		require.Equal(t, 1.0, claim.at("attempt"), "a release does not count")
		require.Equal(t, "2", claim.at("lease", "fence"))
	})
	parallel(t, "every call of a stale fence is refused", func(t *testing.T) {
		run := a.claimed(t)
		a.post(t, "/v1/runs/"+run.run+"/release", fmt.Sprintf(`{"fence":%q,"checkpoint":1}`, run.fence)).want(http.StatusOK)
		a.post(t, "/v1/runs/"+run.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
		for call, members := range fencedCalls {
			a.post(t, "/v1/runs/"+run.run+call, fmt.Sprintf(`{"fence":%q%s}`, run.fence, members)).refused(api.CodeLeaseLost)
		}
		a.get(t, "/v1/runs/"+run.run+"/resume?fence="+run.fence).refused(api.CodeLeaseLost)
		require.Equal(t, "running", a.get(t, "/v1/runs/"+run.run).at("status"))
	})
	parallel(t, "every call needs a fence, and a run", func(t *testing.T) {
		for call, members := range fencedCalls {
			without := "{" + strings.TrimPrefix(members, ",") + "}"
			if call == "/release" {
				a.post(t, "/v1/runs/nobody"+call, without, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/fence")
				a.post(t, "/v1/runs/nobody"+call, "", expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/fence")
			} else {
				a.post(t, "/v1/runs/nobody"+call, without).refused(api.CodeInvalidRequest).pointer("/fence")
			}
			a.post(t, "/v1/runs/nobody"+call, fmt.Sprintf(`{"fence":"01"%s}`, members)).refused(api.CodeInvalidRequest).pointer("/fence")
			a.post(t, "/v1/runs/nobody"+call, fmt.Sprintf(`{"fence":17%s}`, members)).refused(api.CodeInvalidRequest).pointer("/fence")
			a.post(t, "/v1/runs/nobody"+call, fmt.Sprintf(`{"fence":"9223372036854775808"%s}`, members), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/fence")
			a.post(t, "/v1/runs/nobody"+call, fmt.Sprintf(`{"fence":"1"%s}`, members)).refused(api.CodeRunNotFound)
			a.post(t, "/v1/runs/a%00b"+call, fmt.Sprintf(`{"fence":"1"%s}`, members)).refused(api.CodeRunNotFound)
		}
	})
	parallel(t, "after a cancel only a heartbeat is answered", func(t *testing.T) {
		run := a.claimed(t)
		a.post(t, "/v1/runs/"+run.run+"/cancel", "").want(http.StatusOK)
		require.Equal(t, true, a.get(t, "/v1/runs/"+run.run+"/resume?fence="+run.fence).want(http.StatusOK).at("cancel_requested"))
		beat := a.post(t, "/v1/runs/"+run.run+"/heartbeat", fmt.Sprintf(`{"fence":%q}`, run.fence)).want(http.StatusOK)
		require.Equal(t, true, beat.at("cancel_requested"))
		for call, members := range fencedCalls {
			if call != "/heartbeat" {
				a.post(t, "/v1/runs/"+run.run+call, fmt.Sprintf(`{"fence":%q%s}`, run.fence, members)).refused(api.CodeLeaseLost)
			}
		}
	})
	parallel(t, "complete, and the very same again", func(t *testing.T) {
		run := a.claimed(t)
		path := "/v1/runs/" + run.run + "/complete"
		done := a.post(t, path, fmt.Sprintf(`{"fence":%q,"output":{"n":12345678901234.5}}`, run.fence)).want(http.StatusOK)
		require.Equal(t, "completed", done.at("status"))
		require.Contains(t, done.text, `12345678901234.5`)
		require.Equal(t, done.text, a.post(t, path, fmt.Sprintf(`{"fence":%q,"output":{"n":12345678901234.5}}`, run.fence)).want(http.StatusOK).text)
		a.post(t, path, fmt.Sprintf(`{"fence":%q,"output":1}`, run.fence)).refused(api.CodeRunStateConflict)
		a.post(t, path, `{"fence":"99"}`).refused(api.CodeLeaseLost)
		for call, members := range fencedCalls {
			a.post(t, "/v1/runs/"+run.run+call, fmt.Sprintf(`{"fence":%q%s}`, run.fence, members)).refused(api.CodeRunStateConflict)
		}
		a.get(t, "/v1/runs/"+run.run+"/resume?fence="+run.fence).refused(api.CodeRunStateConflict)
	})
	parallel(t, "complete without an output", func(t *testing.T) {
		run := a.claimed(t)
		done := a.post(t, "/v1/runs/"+run.run+"/complete", fmt.Sprintf(`{"fence":%q,"output":null}`, run.fence)).want(http.StatusOK)
		require.NotContains(t, done.text, `"output"`)
	})
	parallel(t, "fail", func(t *testing.T) {
		run := a.claimed(t)
		path := "/v1/runs/" + run.run + "/fail"
		a.post(t, path, fmt.Sprintf(`{"fence":%q}`, run.fence)).refused(api.CodeInvalidRequest).pointer("/error")
		a.post(t, path, fmt.Sprintf(`{"fence":%q,"error":{}}`, run.fence)).refused(api.CodeInvalidRequest).pointer("/error")
		failed := a.post(t, path, fmt.Sprintf(`{"fence":%q,"error":"disk full"}`, run.fence)).want(http.StatusOK)
		require.Equal(t, "failed", failed.at("status"))
		require.Equal(t, "disk full", failed.at("error"))
		require.Equal(t, failed.text, a.post(t, path, fmt.Sprintf(`{"fence":%q,"error":"disk full"}`, run.fence)).want(http.StatusOK).text)
	})
	parallel(t, "release twice", func(t *testing.T) {
		run := a.claimed(t)
		path := "/v1/runs/" + run.run + "/release"
		released := a.post(t, path, fmt.Sprintf(`{"fence":%q}`, run.fence)).want(http.StatusOK)
		require.Equal(t, released.text, a.post(t, path, fmt.Sprintf(`{"fence":%q}`, run.fence)).want(http.StatusOK).text)
		a.post(t, path, fmt.Sprintf(`{"fence":%q,"checkpoint":2}`, run.fence)).refused(api.CodeLeaseLost)
	})
	parallel(t, "events, and outputs in the views", func(t *testing.T) {
		run := a.claimed(t)
		path := "/v1/runs/" + run.run + "/events"
		for _, bad := range []struct{ events, pointer string }{
			{`[]`, "/events"},
			{`[1]`, "/events/0"},
			{`[{"type":"x"},{}]`, "/events/1/type"},
			{`[{"type":"a"},{"type":"a"},{"type":"a"},{"type":1}]`, "/events/3/type"},
		} {
			a.post(t, path, fmt.Sprintf(`{"fence":%q,"events":%s}`, run.fence, bad.events)).refused(api.CodeInvalidRequest).pointer(bad.pointer)
		}
		for _, bad := range []struct{ events, pointer string }{
			{`[{"type":"completed"}]`, "/events/0/type"},
			{`[{"type":"output"}]`, "/events/0/content"},
			{`[{"type":"output","content":1}]`, "/events/0/content"},
			{`[{"type":"completed","Type":"note"}]`, "/events/0/type"},
		} {
			a.post(t, path, fmt.Sprintf(`{"fence":%q,"events":%s}`, run.fence, bad.events), expecting(semantic)).refused(api.CodeInvalidRequest).pointer(bad.pointer)
		}
		many := strings.Repeat(`{"type":"delta"},`, api.MaxEventsPerCall)
		a.post(t, path, fmt.Sprintf(`{"fence":%q,"events":[%s{"type":"delta"}]}`, run.fence, many)).refused(api.CodeAppendTooLarge).pointer("/events/256")
		large := `{"type":"delta","text":"` + strings.Repeat("x", api.MaxEventBytesPerCall) + `"}`
		unlimited := serve(t, a.store, a.contract, func(o *httpapi.Options) { o.Limits = httpapi.Limits{} })
		unlimited.post(t, path, fmt.Sprintf(`{"fence":%q,"events":[{"type":"delta"},%s]}`, run.fence, large), expecting(semantic)).
			refused(api.CodeAppendTooLarge).pointer("/events/1")
		added := a.post(t, path, fmt.Sprintf(
			`{"fence":%q,"events":[{"type":"delta","text":"12"},{"type":"output","content":"12 files","parts":[{"k":null}]}]}`, run.fence)).want(http.StatusAccepted)
		list := a.get(t, path).want(http.StatusOK).list()
		require.Equal(t, added.at("last_event_id"), list[len(list)-1].(map[string]any)["id"])
		view := a.get(t, "/v1/runs/"+run.run)
		require.Equal(t, "12 files", view.at("outputs", 0, "content"))
		require.Equal(t, run.session, view.at("outputs", 0, "session_id"))
		require.Equal(t, []any{map[string]any{"k": nil}}, view.at("outputs", 0, "parts"))
		require.Equal(t, "12 files", a.get(t, "/v1/sessions/"+run.session).at("outputs", 0, "content"))
		done := a.post(t, "/v1/runs/"+run.run+"/complete", fmt.Sprintf(`{"fence":%q}`, run.fence)).want(http.StatusOK)
		require.Empty(t, done.list("outputs"), "the reply of a write has none, whatever their size")
		require.InDelta(t, 1, done.at("outputs_count"), 0)
		require.Equal(t, true, done.at("outputs_truncated"))
		page := a.get(t, "/v1/runs/"+run.run+"/outputs").want(http.StatusOK)
		require.Equal(t, "12 files", page.at("items", 0, "content"))
		require.Equal(t, added.at("last_event_id"), page.at("items", 0, "event_id"))
		require.Nil(t, page.at("next_after"))
		require.Contains(t, page.text, `"next_after":null`)
		after := a.get(t, "/v1/runs/"+run.run+"/outputs?after="+page.textAt("items", 0, "event_id")).want(http.StatusOK)
		require.Empty(t, after.list("items"))
		a.get(t, "/v1/runs/"+run.run+"/outputs?after=9223372036854775807").refused(api.CodeEventCursorReset)
		a.get(t, "/v1/runs/"+run.run+"/outputs?after=x").refused(api.CodeInvalidEventCursor)
		a.get(t, "/v1/runs/"+run.run+"/outputs?limit=0").refused(api.CodeInvalidLimit)
		a.get(t, "/v1/runs/no%20id/outputs").refused(api.CodeRunNotFound)
		first := a.get(t, path+"?limit=1").want(http.StatusOK)
		require.Contains(t, first.header.Get("Link"), `rel="next"`)
		require.Empty(t, a.get(t, path+"?after="+page.textAt("items", 0, "event_id")).want(http.StatusOK).header.Get("Link"))
	})
}

// fencedCalls are the calls of a lease's holder with their required members except the fence.
var fencedCalls = map[string]string{
	"/heartbeat":               "",
	"/suspend":                 `,"approvals":[` + approval("stale") + `]`,
	"/requests/stale/withdraw": "",
	"/events":                  `,"events":[{"type":"delta"}]`,
	"/complete":                `,"output":"stale"`,
	"/fail":                    `,"error":"stale"`,
	"/release":                 `,"checkpoint":"stale"`,
}
