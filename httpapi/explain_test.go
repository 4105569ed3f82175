package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// testExplain holds why runs do not go on, where anyone may decide.
func testExplain(t *testing.T, a *rig) {
	why := func(t *testing.T, run string) *reply {
		t.Helper()
		return a.get(t, "/v1/runs/"+run+"/explain").want(http.StatusOK)
	}
	parallel(t, "a worker", func(t *testing.T) {
		agent := a.name("agent")
		made := a.post(t, "/v1/runs", fmt.Sprintf(`{"agent_id":%q,"input":1}`, agent)).want(http.StatusAccepted)
		run := made.textAt("run_id")
		got := why(t, run)
		require.Equal(t, "no_worker", got.at("state"))
		require.EqualValues(t, 0, got.at("workers_waiting"))
		require.Equal(t, made.at("submitted_at_ms"), got.at("claimable_since_ms"))

		// This one asks for another agent and does not help.
		other := a.name("other")
		ended := make(chan error, 1)
		go func() {
			_, err := a.try(t, http.MethodPost, "/v1/runs/claim", fmt.Sprintf(`{"worker_id":"w","agent_ids":[%q],"wait_ms":60000}`, other))
			ended <- err
		}()
		probe := a.waitsForWorkers(t, other, why)
		require.EqualValues(t, 0, why(t, run).at("workers_waiting"))
		require.NoError(t, <-ended)
		require.Equal(t, "held", why(t, probe).at("state"))
		require.Equal(t, "w", why(t, probe).at("held_by", "worker_id"))
		require.Greater(t, why(t, probe).at("held_by", "lease_left_ms"), 0.0)
		require.Equal(t, a.get(t, "/v1/runs/"+probe).at("updated_at_ms"), why(t, probe).at("held_by", "last_heartbeat_ms"))

		a.post(t, "/v1/runs/"+run+"/cancel", `{}`).want(http.StatusOK)
		require.Equal(t, "over", why(t, run).at("state"))
	})
	parallel(t, "people, and the queue behind them", func(t *testing.T) {
		first := a.waiting(t, `"approvals":[`+approval("a")+`],"questions":[`+question("q")+`]`)
		got := why(t, first.run)
		require.Equal(t, "waiting_for_people", got.at("state"))
		require.Len(t, got.list("requests"), 2)
		require.Equal(t, true, got.at("requests", 0, "anyone"))
		var behind []string
		for range 30 {
			behind = append(behind, a.post(t, "/v1/sessions/"+first.session+"/runs", `{"input":1}`).want(http.StatusAccepted).textAt("run_id"))
		}
		got = why(t, behind[1])
		require.Equal(t, "queued_behind_run", got.at("state"))
		require.EqualValues(t, 2, got.at("queued_ahead"))
		require.Equal(t, behind[0], got.at("queued_behind", "run_id"))
		require.Equal(t, first.run, got.at("queued_behind", "explain", "queued_behind", "run_id"))
		require.Equal(t, "waiting_for_people", got.at("queued_behind", "explain", "queued_behind", "explain", "state"))
		require.Contains(t, got.text, "Anyone can decide")

		// A long queue: the nearest run, and the run that blocks all of them.
		got = why(t, behind[29])
		require.EqualValues(t, 30, got.at("queued_ahead"))
		require.Equal(t, 20, strings.Count(got.text, `"queued_behind":`))
		require.Equal(t, behind[28], got.at("queued_behind", "run_id"))
		require.Contains(t, got.text, "Run "+first.run+" is first")

		handle := why(t, first.run).textAt("requests", 0, "handle")
		a.get(t, "/v1/requests/"+handle+"/explain?x=1&x=2", expecting(semantic)).refused(api.CodeBadRequest)
		a.get(t, "/v1/runs/"+first.run+"/explain?x=1&x=2", expecting(semantic)).refused(api.CodeBadRequest)
		request := a.get(t, "/v1/requests/"+handle+"/explain").want(http.StatusOK)
		require.Equal(t, "waiting_for_people", request.at("state"))
		require.Equal(t, true, request.at("you", "may_decide"))
		a.post(t, "/v1/runs/"+first.run+"/cancel", `{}`).want(http.StatusOK)
		request = a.get(t, "/v1/requests/"+handle+"/explain").want(http.StatusOK)
		require.Equal(t, "settled", request.at("state"))
		require.Equal(t, false, request.at("you", "may_decide"))
		require.Equal(t, "no_worker", why(t, behind[0]).at("state"))
	})
	parallel(t, "a session below", func(t *testing.T) {
		parent := a.claimed(t)
		require.Nil(t, why(t, parent.run).at("waiting_on"))
		child, second := a.child(t, parent.session), a.child(t, parent.session)
		require.Nil(t, why(t, parent.run).at("waiting_on"), "it does not wait for people")
		a.post(t, "/v1/runs/"+child.run+"/suspend", fmt.Sprintf(`{"fence":%q,"approvals":[%s],"questions":[%s]}`, child.fence, approval("a"), question("q"))).want(http.StatusOK)
		got := why(t, parent.run)
		require.Equal(t, "held", got.at("state"))
		require.Equal(t, "child", got.at("waiting_on", "relation"))
		require.Equal(t, child.run, got.at("waiting_on", "run_id"))
		require.Equal(t, "waiting_for_people", got.at("waiting_on", "explain", "state"))
		require.Nil(t, got.at("children_more"), "one run with two requests")
		require.Contains(t, got.textAt("text"), "In child session "+child.session+": 2 requests open. Waiting for")
		a.post(t, "/v1/runs/"+second.run+"/suspend", fmt.Sprintf(`{"fence":%q,"questions":[%s]}`, second.fence, question("q"))).want(http.StatusOK)
		require.EqualValues(t, 1, why(t, parent.run).at("children_more"))
		for _, run := range []string{child.run, second.run} {
			a.post(t, "/v1/runs/"+run+"/cancel", `{}`).want(http.StatusOK)
		}
		require.Nil(t, why(t, parent.run).at("waiting_on"))
	})
	parallel(t, "the session above", func(t *testing.T) {
		child := a.child(t, a.parent(t))
		asks := a.parked(t, child, "q")
		a.eventually(t, "the question is in the parent's session", func() bool {
			return why(t, child.run).at("waiting_on", "explain") != nil
		})
		got := why(t, child.run)
		require.Equal(t, "waiting_for_parent", got.at("state"))
		require.Equal(t, asks, got.at("waiting_on", "run_id"))
		require.Equal(t, "parent", got.at("waiting_on", "relation"))
		require.Equal(t, "waiting_for_people", got.at("waiting_on", "explain", "state"))
	})
}

// waitsForWorkers creates runs of an agent until a waiting worker has claimed one, and returns that
// run.
func (a *rig) waitsForWorkers(t *testing.T, agent string, why func(*testing.T, string) *reply) string {
	t.Helper()
	run := a.post(t, "/v1/runs", fmt.Sprintf(`{"agent_id":%q,"input":1}`, agent)).want(http.StatusAccepted).textAt("run_id")
	a.eventually(t, "the worker has the run", func() bool { return why(t, run).at("state") == "held" })
	return run
}

// testExplainPeople checks who is listed as allowed to decide, and who may see the list.
func testExplainPeople(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	as := func(body api.CreateTokenBody) (tokenID string, credential option) {
		body.Name = a.name("token")
		id, secret := token(t, keyring, body)
		return id, bearer(secret)
	}
	_, admin := as(api.CreateTokenBody{Role: api.RoleAdmin, Principal: "user:zoe"})
	_, maker := as(api.CreateTokenBody{Role: api.RoleAgent, Principal: "agent:explained"})
	_, makerDecides := as(api.CreateTokenBody{Role: api.RoleOperator, Principal: "agent:explained", SessionPrefixes: []string{"explained-"}})
	adaToken, ada := as(api.CreateTokenBody{Role: api.RoleOperator, Principal: "user:ada.explains", SessionPrefixes: []string{"explained-"}})
	_, elsewhere := as(api.CreateTokenBody{Role: api.RoleOperator, Principal: "user:else.explains", SessionPrefixes: []string{"elsewhere-"}})
	_, observer := as(api.CreateTokenBody{Role: api.RoleObserver, Principal: "user:sees.explains"})
	made := a.post(t, "/v1/runs", `{"session_id":"explained-1","run_id":"explained-run","input":1,"suspend":{"approvals":[
		{"id":"a","tool_call_id":"a","tool_name":"deploy","input":1,"exclude_requester":true}]}}`, maker).want(http.StatusAccepted)
	path := "/v1/requests/" + made.textAt("pending_approvals", 0, "handle") + "/explain"

	got := a.get(t, path, ada).want(http.StatusOK)
	require.Equal(t, "waiting_for_people", got.at("state"))
	may := got.list("may_decide")
	require.Contains(t, may, "user:ada.explains")
	require.Contains(t, may, "user:zoe", "an admin")
	for _, not := range []string{"agent:explained", "user:else.explains", "user:sees.explains"} {
		require.NotContains(t, may, not)
	}
	require.Equal(t, true, got.at("you", "may_decide"))
	require.Equal(t, "requester_excluded", a.get(t, path, makerDecides).want(http.StatusOK).at("you", "code"))
	require.Equal(t, "forbidden", a.get(t, path, observer).want(http.StatusOK).at("you", "code"))
	// Requests outside of the scope do not exist.
	a.get(t, path, elsewhere).refused(api.CodeRequestNotFound)
	a.get(t, "/v1/runs/explained-run/explain", elsewhere).refused(api.CodeRunNotFound)
	// Neither do sessions below.
	a.post(t, "/v1/runs", `{"session_id":"explained-2","run_id":"explained-held","input":1,"claim":{"worker_id":"w"}}`, admin).want(http.StatusAccepted)
	a.post(t, "/v1/sessions", `{"session_id":"elsewhere-child","parent_session_id":"explained-2"}`, admin).want(http.StatusCreated)
	a.post(t, "/v1/runs", `{"session_id":"elsewhere-child","input":1,"suspend":{"approvals":[`+approval("a")+`]}}`, admin).want(http.StatusAccepted)
	require.Nil(t, a.get(t, "/v1/runs/explained-held/explain", ada).want(http.StatusOK).at("waiting_on"))
	require.Equal(t, "elsewhere-child", a.get(t, "/v1/runs/explained-held/explain", admin).want(http.StatusOK).at("waiting_on", "session_id"))
	a.post(t, "/v1/runs/explained-held/cancel", `{}`, admin).want(http.StatusOK)
	// With the token revoked, no one may decide.
	require.NoError(t, keyring.Revoke(t.Context(), adaToken, true))
	require.NotContains(t, a.get(t, path, admin).want(http.StatusOK).list("may_decide"), "user:ada.explains")

	// An agent that sees its own run alone is not shown the runs before it.
	_, stranger := as(api.CreateTokenBody{Role: api.RoleAgent, Principal: "agent:stranger.explains"})
	queued := a.post(t, "/v1/sessions/explained-1/runs", `{"input":1}`, admin).want(http.StatusAccepted).textAt("run_id")
	a.get(t, "/v1/runs/"+queued+"/explain", stranger).refused(api.CodeRunNotFound)
	got = a.get(t, "/v1/runs/"+queued+"/explain", admin).want(http.StatusOK)
	require.Equal(t, "explained-run", got.at("queued_behind", "run_id"))
	a.post(t, "/v1/runs/explained-run/cancel", `{}`, admin).want(http.StatusOK)
}
