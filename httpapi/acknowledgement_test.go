package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// acknowledge calls the route of a request's acknowledgement.
func (a *rig) acknowledge(t *testing.T, handle, body string, options ...option) *reply {
	t.Helper()
	return a.do(t, http.MethodPut, "/v1/requests/"+handle+"/acknowledgement", body, options...)
}

// testAcknowledgement checks that everyone sees who is looking at a request, and that nothing else changes.
func testAcknowledgement(t *testing.T, a *rig) {
	parallel(t, "it is shown", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a")+`],"questions":[`+question("q")+`]`)
		view := a.get(t, "/v1/runs/"+run.run).want(http.StatusOK)
		for list, kind := range map[string]string{"approvals": "pending_approvals", "questions": "pending_questions"} {
			handle := view.textAt(kind, 0, "handle")
			got := a.acknowledge(t, handle, `{"state":"acknowledged"}`, header("X-Actor", "ada")).want(http.StatusOK)
			require.Equal(t, "ada", got.at("acknowledgement", 0, "by"))
			require.Equal(t, "acknowledged", got.at("acknowledgement", 0, "state"))
			shown := got.at("acknowledgement")
			require.Equal(t, shown, a.acknowledge(t, handle, `{"state":"acknowledged"}`, header("X-Actor", "ada")).want(http.StatusOK).at("acknowledgement"))
			require.Equal(t, shown, a.get(t, "/v1/requests/"+handle).want(http.StatusOK).at("acknowledgement"))
			require.Equal(t, shown, a.get(t, "/v1/requests/"+handle+"/explain").want(http.StatusOK).at("acknowledgement"))
			require.Contains(t, a.get(t, "/v1/requests/"+handle+"/explain").textAt("text"), "ada is looking at it for the next 29 min.")
			require.Equal(t, shown, a.get(t, "/v1/sessions/"+run.session+"/"+list+"?page=true").want(http.StatusOK).at("items", 0, "acknowledgement"))
		}
		require.Equal(t, "waiting_for_user_question", a.get(t, "/v1/runs/"+run.run).at("status"))
		stream := a.follow(t, "/v1/runs/"+run.run+"/stream")
		stream.snapshot()
		handle := view.textAt("pending_approvals", 0, "handle")
		a.acknowledge(t, handle, `{"state":"none"}`, header("X-Actor", "ada")).want(http.StatusOK)
		require.Equal(t, "request_acknowledged", stream.event().name)
		require.NotContains(t, a.get(t, "/v1/requests/"+handle).want(http.StatusOK).text, `"acknowledgement"`)

		// A decision by somebody else wins.
		a.acknowledge(t, handle, `{"state":"acknowledged"}`, header("X-Actor", "ada")).want(http.StatusOK)
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a"), header("X-Actor", "ben")).want(http.StatusAccepted)
		a.acknowledge(t, handle, `{"state":"none"}`, header("X-Actor", "ada")).refused(api.CodeRequestSettled).recorded(api.OutcomeAllowed)
		require.NotContains(t, a.get(t, "/v1/requests/"+handle).want(http.StatusOK).text, `"acknowledgement"`)
	})
	parallel(t, "the inbox's stream has it", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a")+`]`)
		handle := a.get(t, "/v1/runs/"+run.run).textAt("pending_approvals", 0, "handle")
		watching := a.watchInbox(t)
		a.eventually(t, "the stream begins", func() bool {
			watching.mu.Lock()
			defer watching.mu.Unlock()
			return watching.shown.open[promptKey(run.session, run.run, "a")]
		})
		a.acknowledge(t, handle, `{"state":"acknowledged"}`).want(http.StatusOK)
		a.eventually(t, "the stream says so", func() bool {
			watching.mu.Lock()
			defer watching.mu.Unlock()
			return watching.shown.events["request_acknowledged"] > 0
		})
	})
	parallel(t, "a snooze is shown to its person only", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a")+`],"questions":[`+question("q")+`]`)
		view := a.get(t, "/v1/runs/"+run.run).want(http.StatusOK)
		until := int64(view.at("submitted_at_ms").(float64)) + api.MaxSnoozeMs
		for list, kind := range map[string]string{"approvals": "pending_approvals", "questions": "pending_questions"} {
			handle := view.textAt(kind, 0, "handle")
			body := fmt.Sprintf(`{"state":"snoozed","until_ms":%d}`, until)
			for _, who := range []string{"ada", "ben"} {
				as := header("X-Actor", who)
				if who == "ada" {
					got := a.acknowledge(t, handle, body, as).want(http.StatusOK)
					require.EqualValues(t, until, got.at("snoozed_until_ms"))
				}
				for path, at := range map[string][]any{
					"/v1/requests/" + handle:                                  nil,
					"/v1/requests/" + handle + "/explain":                     nil,
					"/v1/sessions/" + run.session + "/" + list + "?page=true": {"items", 0},
					"/v1/" + list + "?page=true&session_id=" + run.session:    {"items", 0},
				} {
					got := a.get(t, path, as).want(http.StatusOK)
					require.NotContains(t, got.text, `"acknowledgement"`)
					if who == "ada" {
						require.EqualValues(t, until, got.at(append(at, "snoozed_until_ms")...), path)
					} else {
						require.NotContains(t, got.text, "snooze", path)
					}
				}
			}
		}
		handle := view.textAt("pending_approvals", 0, "handle")
		got := a.acknowledge(t, handle, `{"state":"none"}`, header("X-Actor", "ada")).want(http.StatusOK)
		require.NotContains(t, got.text, "snooze")
	})
	parallel(t, "faults", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a")+`]`)
		view := a.get(t, "/v1/runs/"+run.run)
		handle, nowMs := view.textAt("pending_approvals", 0, "handle"), int64(view.at("submitted_at_ms").(float64))
		for body, pointer := range map[string]string{
			`{}`:                                    "/state",
			`{"state":""}`:                          "/state",
			`{"state":"asleep"}`:                    "/state",
			`{"state":"snoozed"}`:                   "/until_ms",
			`{"state":"snoozed","until_ms":1}`:      "/until_ms",
			`{"state":"acknowledged","until_ms":1}`: "/until_ms",
			`{"state":"none","until_ms":1}`:         "/until_ms",
			fmt.Sprintf(`{"state":"acknowledged","until_ms":%d}`, nowMs+api.MaxAcknowledgementMs+3_600_000): "/until_ms",
		} {
			a.acknowledge(t, handle, body, unchecked()).refused(api.CodeInvalidRequest).pointer(pointer)
		}
		a.acknowledge(t, "nobody", `{"state":"snoozed"}`, unchecked()).refused(api.CodeInvalidRequest)
		for _, handle := range []string{"nobody", "%00", "a"} {
			a.acknowledge(t, handle, `{"state":"acknowledged"}`).refused(api.CodeRequestNotFound)
		}
		until := nowMs + api.MaxAcknowledgementMs
		got := a.acknowledge(t, handle, fmt.Sprintf(`{"state":"acknowledged","until_ms":%d}`, until)).want(http.StatusOK)
		require.EqualValues(t, until, got.at("acknowledgement", 0, "until_ms"))
	})
}

// testAcknowledgementPeople checks who may acknowledge, and under which name.
func testAcknowledgementPeople(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	as := func(body api.CreateTokenBody) option {
		body.Name = fmt.Sprint("looks-", len(body.Principal), body.Role)
		_, secret := token(t, keyring, body)
		return bearer(secret)
	}
	admin := as(api.CreateTokenBody{Role: api.RoleAdmin, Principal: "user:root.looks"})
	gateway := as(api.CreateTokenBody{Role: api.RoleOperator, Principal: "service:looks", MayActFor: true})
	personal := as(api.CreateTokenBody{Role: api.RoleOperator, Principal: "agent:cyd.looks", OnBehalfOf: "user:cyd.looks"})
	elsewhere := as(api.CreateTokenBody{Role: api.RoleOperator, Principal: "user:elsewhere.looks", SessionPrefixes: []string{"other-"}})
	observer := as(api.CreateTokenBody{Role: api.RoleObserver, Principal: "user:sees.looks"})
	made := a.post(t, "/v1/runs", `{"session_id":"looks-1","run_id":"looks-run","input":1,"suspend":{"approvals":[
		{"id":"a","tool_call_id":"a","tool_name":"deploy","input":1,"exclude_requester":true}]}}`, admin).want(http.StatusAccepted)
	handle := made.textAt("pending_approvals", 0, "handle")
	const body = `{"state":"acknowledged"}`
	a.acknowledge(t, handle, body, elsewhere).refused(api.CodeRequestNotFound)
	a.acknowledge(t, handle, body, observer).refused(api.CodeForbidden)
	got := a.acknowledge(t, handle, body, admin, header("X-Actor", "user:else")).want(http.StatusOK)
	require.Equal(t, "user:root.looks", got.at("acknowledgement", 0, "by"))
	require.Equal(t, false, got.at("may_decide"), "admin asked for it")
	read := a.get(t, "/v1/requests/"+handle, admin).want(http.StatusOK)
	require.NotEmpty(t, got.textAt("requester_excluded", "detail"))
	require.Equal(t, read.at("requester_excluded"), got.at("requester_excluded"))
	got = a.acknowledge(t, handle, body, gateway, header("X-Actor", "user:dan.looks")).want(http.StatusOK)
	require.Equal(t, "user:dan.looks", got.at("acknowledgement", 1, "by"))
	require.Equal(t, "service:looks", got.at("acknowledgement", 1, "via_principal"))
	require.Equal(t, true, got.at("may_decide"))
	require.Nil(t, got.at("requester_excluded"))
	got = a.acknowledge(t, handle, body, personal).want(http.StatusOK)
	require.Equal(t, "user:cyd.looks", got.at("acknowledgement", 2, "by"))
	require.Equal(t, "agent:cyd.looks", got.at("acknowledgement", 2, "via_principal"))
	// Nobody takes back another person's.
	got = a.acknowledge(t, handle, `{"state":"none"}`, admin).want(http.StatusOK)
	require.Len(t, got.list("acknowledgement"), 2)
	a.post(t, "/v1/runs/looks-run/cancel", `{}`, admin).want(http.StatusOK)
}
