package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// about returns an operation's path with the given ids instead of "nobody" and "nothing".
func (o *operation) about(sessionID, runID, ruleID, handle string) string {
	id := sessionID
	switch {
	case strings.HasPrefix(o.path, "/v1/runs/"):
		id = runID
	case strings.HasPrefix(o.path, "/v1/rules/"):
		id = ruleID
	case strings.HasPrefix(o.path, "/v1/requests/"):
		id = handle
	}
	return strings.Replace(o.path, "nobody", id, 1)
}

// testScopes checks the scope of a token limited to sessions or agents: anything outside gets the
// same answer as something missing.
func testScopes(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	admin := ofRole(t, keyring, api.RoleAdmin)
	scene := func(sessionID, runID, agentID string) (handle, ruleID string) {
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"agent_id":%q}`, sessionID, agentID), bearer(admin)).want(http.StatusCreated)
		a.post(t, "/v1/runs", fmt.Sprintf(`{"run_id":%q,"session_id":%q,"input":1,"claim":{"worker_id":"w"},"suspend":{"hold":true,"approvals":[%s]}}`, runID, sessionID, approval("a")), bearer(admin)).want(http.StatusAccepted)
		handle = a.get(t, "/v1/runs/"+runID, bearer(admin)).want(http.StatusOK).textAt("pending_approvals", 0, "handle")
		ruleID = a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"match":{"pattern_keys":["k"]}}`, sessionID), bearer(admin)).want(http.StatusCreated).textAt("rule_id")
		return handle, ruleID
	}
	foreignHandle, foreignRule := scene("theirs:1", "their-run", "their-agent")
	ownHandle, ownRule := scene("ours:1", "our-run", "our-agent")
	allRule := a.post(t, "/v1/rules", `{"match":{"pattern_keys":["all"]}}`, bearer(admin)).want(http.StatusCreated).textAt("rule_id")

	for bound, body := range map[string]api.CreateTokenBody{
		"prefix": {SessionPrefixes: []string{"ours:", "other:"}}, "agents": {AgentIDs: []string{"other", "our-agent"}},
		"both": {SessionPrefixes: []string{"ours:"}, AgentIDs: []string{"our-agent"}},
	} {
		secrets := map[api.Role]string{}
		for _, role := range []api.Role{api.RoleObserver, api.RoleAgent, api.RoleOperator} {
			body.Name, body.Role = bound+"-"+string(role), role
			_, secrets[role] = token(t, keyring, body)
			me := a.get(t, "/v1/me", bearer(secrets[role])).want(http.StatusOK)
			require.Equal(t, len(body.SessionPrefixes) > 0, me.at("session_prefixes") != nil)
			require.Equal(t, len(body.AgentIDs) > 0, me.at("agent_ids") != nil)
			for _, o := range operations(t) {
				if o.unknown == "" || strings.HasPrefix(o.path, "/v1/tokens/") || strings.HasPrefix(o.path, "/v1/webhooks/") {
					continue
				}
				there, nowhere := o.about("theirs:1", "their-run", foreignRule, foreignHandle), o.about("theirs:0", "other-run", "rule_0000", "handle-0")
				got, want := a.do(t, o.method, there, o.body, bearer(secrets[role])), a.do(t, o.method, nowhere, o.body, bearer(secrets[role]))
				require.Equal(t, want.status, got.status, "%s %s %s: %s", role, o.method, there, got.text)
				plain := strings.NewReplacer("theirs:0", "theirs:1", "other-run", "their-run", "rule_0000", foreignRule, "handle-0", foreignHandle)
				require.Equal(t, plain.Replace(want.text), got.text, "%s %s %s", role, o.method, there)
				require.Contains(t, []int{http.StatusNotFound, http.StatusForbidden}, got.status, "%s %s", o.method, there)
			}
			// Lists and their counts.
			for _, list := range []string{"/v1/sessions", "/v1/runs", "/v1/runs?priority_active=true", "/v1/approvals", "/v1/questions", "/v1/rules", "/v1/effects", "/v1/decisions", "/v1/workers"} {
				got := a.get(t, list, bearer(secrets[role])).want(http.StatusOK)
				require.NotContains(t, got.text, "their", list)
				require.NotContains(t, got.text, foreignRule)
				require.NotContains(t, got.text, allRule)
			}
			require.Contains(t, a.get(t, "/v1/runs", bearer(secrets[role])).text, "our-run")
			for _, list := range []string{"/v1/sessions/theirs:1/approvals", "/v1/runs?session_id=theirs:1", "/v1/rules?session_id=theirs:1", "/v1/runs?agent_id=their-agent"} {
				require.Equal(t, "[]", a.get(t, list, bearer(secrets[role])).want(http.StatusOK).text, list)
			}
			// The token reaches everything in its scope.
			for _, path := range []string{"/v1/sessions/ours:1", "/v1/runs/our-run", "/v1/rules/" + ownRule, "/v1/requests/" + ownHandle, "/v1/sessions/ours:1/events", "/v1/runs/our-run/events"} {
				a.get(t, path, bearer(secrets[role])).want(http.StatusOK)
			}
			require.NotContains(t, a.post(t, "/v1/rules/explain", `{"session_id":"theirs:1","tool_name":"x","input":{},"pattern_keys":["k","all"]}`, bearer(secrets[role])).want(http.StatusOK).text, "rule_id")
			require.Contains(t, a.post(t, "/v1/rules/explain", `{"session_id":"ours:1","tool_name":"x","input":{},"pattern_keys":["k","all"]}`, bearer(secrets[role])).want(http.StatusOK).text, allRule, "it decides there")
		}
		operator, agent := secrets[api.RoleOperator], secrets[api.RoleAgent]
		a.post(t, "/v1/rules", `{"match":{"pattern_keys":["k"]}}`, bearer(operator)).refused(api.CodeForbidden)
		a.post(t, "/v1/rules", `{"session_id":"theirs:1","match":{"pattern_keys":["k"]}}`, bearer(operator)).refused(api.CodeSessionNotFound)
		a.post(t, "/v1/rules", `{"session_id":"theirs:0","match":{"pattern_keys":["k"]}}`, bearer(operator)).refused(api.CodeSessionNotFound)
		a.post(t, "/v1/rules", `{"session_id":"ours:1","match":{"pattern_keys":["k2"]}}`, bearer(operator)).want(http.StatusCreated)

		// Nothing can be created outside of the scope, even with a free id.
		for _, body := range []string{`{"session_id":"theirs:1","input":1}`, `{"session_id":"theirs:1","agent_id":"our-agent","input":1}`} {
			a.post(t, "/v1/runs", body, bearer(agent)).refused(api.CodeSessionNotFound)
		}
		a.post(t, "/v1/runs", `{"run_id":"their-run","session_id":"ours:1","agent_id":"our-agent","input":1}`, bearer(agent)).refused(api.CodeIDConflict)
		a.post(t, "/v1/sessions", `{"session_id":"ours:child-`+bound+`","agent_id":"our-agent","parent_session_id":"theirs:1"}`, bearer(agent)).refused(api.CodeSessionNotFound)
		for _, path := range []string{"/v1/sessions/theirs:1/runs", "/v1/sessions/theirs:1/input"} {
			a.post(t, path, `{"input":1,"agent_id":"our-agent"}`, bearer(agent)).refused(api.CodeSessionNotFound)
		}
		keyed := a.post(t, "/v1/sessions", `{"agent_id":"our-agent"}`, bearer(agent), key("session-"+bound)).want(http.StatusCreated)
		require.Equal(t, keyed.at("session_id"), a.post(t, "/v1/sessions", `{"agent_id":"our-agent"}`, bearer(agent), key("session-"+bound)).want(http.StatusCreated).at("session_id"))
		made := a.post(t, "/v1/runs", `{"agent_id":"our-agent","input":1}`, bearer(agent)).want(http.StatusAccepted)
		a.get(t, "/v1/sessions/"+made.textAt("session_id"), bearer(agent)).want(http.StatusOK)
		if len(body.AgentIDs) > 0 {
			a.post(t, "/v1/runs", `{"session_id":"ours:1","agent_id":"their-agent","input":1}`, bearer(agent)).refused(api.CodeForbidden)
			a.post(t, "/v1/runs", `{"session_id":"ours:new","input":1}`, bearer(agent)).refused(api.CodeForbidden)
		} else {
			a.post(t, "/v1/sessions", `{"session_id":"theirs:free"}`, bearer(agent)).refused(api.CodeSessionNotFound)
		}

		// Claims: for a named agent, and without names for the token's agents.
		a.post(t, "/v1/runs", `{"session_id":"theirs:queue-`+bound+`","agent_id":"their-agent","input":1}`, bearer(admin)).want(http.StatusAccepted)
		claim := a.post(t, "/v1/runs/claim", `{"worker_id":"w","agent_ids":["their-agent","our-agent"],"max_runs":10}`, bearer(agent)).want(http.StatusOK)
		require.Contains(t, claim.text, made.textAt("run_id"))
		require.NotContains(t, claim.text, "theirs:")
		unnamed := a.post(t, "/v1/runs/claim", `{"worker_id":"w","max_runs":10}`, bearer(agent), expecting(semantic))
		if len(body.AgentIDs) > 0 {
			require.Empty(t, unnamed.want(http.StatusOK).list("claims"))
		} else {
			unnamed.refused(api.CodeInvalidRequest).pointer("/agent_ids")
		}

		// Streams show only the scope.
		followed := follow(t, a, "/v1/stream", secrets[api.RoleObserver])
		require.NotContains(t, followed("our-run"), "their")
		a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":"theirs:s-%s","agent_id":"their-agent","input":1,"suspend":{"approvals":[%s]}}`, bound, approval("a")), bearer(admin)).want(http.StatusAccepted)
		a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":"ours:s-%s","run_id":"next-%s","agent_id":"our-agent","input":1,"suspend":{"approvals":[%s]}}`, bound, bound, approval("a")), bearer(admin)).want(http.StatusAccepted)
		require.NotContains(t, followed("next-"+bound), "their")
	}
	// A run within the scope, of a session outside: the lease is shown, the session's name is not.
	a.post(t, "/v1/sessions", `{"session_id":"shared","agent_id":"their-agent"}`, bearer(admin)).want(http.StatusCreated)
	a.do(t, http.MethodPatch, "/v1/sessions/shared", `{"label":"their label"}`, bearer(admin)).want(http.StatusOK)
	a.post(t, "/v1/runs", `{"run_id":"shared-run","session_id":"shared","agent_id":"our-agent","input":1,"claim":{"worker_id":"w"}}`, bearer(admin)).want(http.StatusAccepted)
	_, observer := token(t, keyring, api.CreateTokenBody{Name: "sees", Role: api.RoleObserver, AgentIDs: []string{"our-agent"}})
	leases := a.get(t, "/v1/workers", bearer(observer)).want(http.StatusOK).text
	require.Contains(t, leases, "shared-run")
	require.NotContains(t, leases, "their label")
	require.Contains(t, a.get(t, "/v1/workers", bearer(admin)).want(http.StatusOK).text, "their label")
	requireRunResumed(t, a, keyring, "shared", "shared-run", observer)
	requireNoRuleOfAnUnreachedSession(t, a, keyring, "shared", "our-agent")
	// A decision within the scope counts like any other.
	_, operator := token(t, keyring, api.CreateTokenBody{Name: "decides", Role: api.RoleOperator, SessionPrefixes: []string{"ours:"}})
	a.post(t, "/v1/runs/their-run/approvals", allow("a"), bearer(operator)).refused(api.CodeRunNotFound)
	a.post(t, "/v1/runs/our-run/approvals", allow("a"), bearer(operator)).want(http.StatusAccepted)
	require.Equal(t, "waiting_for_approval", a.get(t, "/v1/runs/their-run", bearer(admin)).want(http.StatusOK).at("status"))
}

// requireRunResumed checks that a token that reaches a run but not its session resumes the run's stream, and lists its events
// after a frame. Both compare the frame with the session's log, and show no events of other runs.
func requireRunResumed(t *testing.T, a *rig, keyring *auth.Keyring, session, runID, secret string) {
	t.Helper()
	admin := ofRole(t, keyring, api.RoleAdmin)
	path := "/v1/runs/" + runID
	id, _ := a.follow(t, path+"/stream", bearer(secret)).snapshot()
	newest := a.follow(t, path+"/stream", header("Last-Event-ID", id), bearer(secret))
	a.post(t, "/v1/sessions/"+session+"/runs", `{"agent_id":"their-agent","input":"their input"}`, bearer(admin)).want(http.StatusAccepted)
	a.post(t, path+"/cancel", "", bearer(admin)).want(http.StatusOK)
	ended := newest.event()
	require.Equal(t, "cancelled", ended.name)
	require.Equal(t, ended, a.follow(t, path+"/stream", header("Last-Event-ID", id), bearer(secret)).event())
	reset := a.follow(t, path+"/stream?cursor=1.0123456789abcdef", bearer(secret))
	require.Equal(t, frame{name: "stream_gap", data: `{"reason":"reset"}`}, reset.event())
	listed := a.get(t, path+"/events?after="+id, bearer(secret)).want(http.StatusOK)
	require.Len(t, listed.list(), 1)
	require.NotContains(t, listed.text, "their input")
	a.get(t, path+"/events?after=1.0123456789abcdef", bearer(secret)).refused(api.CodeEventCursorReset)
	a.post(t, "/v1/sessions/"+session+"/runs", `{"agent_id":"their-agent","input":"their input"}`, bearer(admin)).want(http.StatusAccepted)
	beyond := a.get(t, path+"/events?after=9999.0123456789abcdef", bearer(secret)).refused(api.CodeEventCursorReset)
	require.Contains(t, beyond.textAt("detail"), "the log ends at event "+listed.textAt(0, "id")+",", "of the run, not of the session")
	a.get(t, "/v1/sessions/"+session+"/events?after="+id, bearer(secret)).refused(api.CodeSessionNotFound)
}

// requireNoRuleOfAnUnreachedSession checks that a token that is bound to an agent decides a run of the agent in another
// agent's session, and writes no rule of the session, as it cannot by POST /v1/rules.
func requireNoRuleOfAnUnreachedSession(t *testing.T, a *rig, keyring *auth.Keyring, session, agentID string) {
	t.Helper()
	admin := ofRole(t, keyring, api.RoleAdmin)
	_, operator := token(t, keyring, api.CreateTokenBody{Name: "remembers", Role: api.RoleOperator, AgentIDs: []string{agentID}, MayAlways: true})
	run := a.name("run")
	a.post(t, "/v1/runs", fmt.Sprintf(`{"run_id":%q,"session_id":%q,"agent_id":%q,"kind":"call","input":1,"suspend":{"approvals":[%s]}}`,
		run, session, agentID, approval("a")), bearer(admin)).want(http.StatusAccepted)
	explain := fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","input":{"command":"ls"}}`, session)
	require.NotNil(t, a.post(t, "/v1/rules/explain", explain, bearer(admin)).want(http.StatusOK).at("remember", "session"))
	require.Nil(t, a.post(t, "/v1/rules/explain", explain, bearer(operator)).want(http.StatusOK).at("remember", "session"))
	path := "/v1/runs/" + run + "/approvals"
	for _, behavior := range []string{"allow", "deny"} {
		for _, scope := range []string{"session", "always"} {
			a.post(t, path, fmt.Sprintf(`{"resolutions":[{"request_id":"a","behavior":%q,"remember":%q}]}`, behavior, scope), bearer(operator)).refused(api.CodeForbidden)
		}
	}
	require.Empty(t, a.get(t, "/v1/rules?session_id="+session, bearer(admin)).want(http.StatusOK).list())
	a.post(t, path, allow("a"), bearer(operator)).want(http.StatusAccepted)
}

// testSessionRoutesInScope checks that an operator's token that is bound to an agent decides no run of another
// agent through a session that it reaches: the session has no active run for it.
func testSessionRoutesInScope(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	admin := ofRole(t, keyring, api.RoleAdmin)
	_, operator := token(t, keyring, api.CreateTokenBody{Name: "bound", Role: api.RoleOperator, AgentIDs: []string{"agent-a"}})
	const declined = `{"resolution":{"request_id":"p","declined":true}}`
	for route, about := range map[string]struct{ ofRun, requests, decide string }{
		"approvals":     {"approvals", `"approvals":[` + approval("p") + `]`, allow("p")},
		"approval-runs": {"approvals", `"approvals":[` + approval("p") + `]`, allow("p")},
		"questions":     {"questions", `"questions":[` + question("p") + `]`, declined},
	} {
		session := a.name("session")
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"agent_id":"agent-a"}`, session), bearer(admin)).want(http.StatusCreated)
		path := "/v1/sessions/" + session + "/" + route
		none := a.post(t, path, about.decide, bearer(operator)).refused(api.CodeRunStateConflict)
		raise := func(agentID, kind string) (runID string) {
			runID = a.name("run")
			a.post(t, "/v1/runs", fmt.Sprintf(`{"run_id":%q,"session_id":%q,"agent_id":%q,"kind":%q,"input":1,"suspend":{%s}}`,
				runID, session, agentID, kind, about.requests), bearer(admin)).want(http.StatusAccepted)
			return runID
		}
		status := func(runID string) string { return a.get(t, "/v1/runs/"+runID, bearer(admin)).textAt("status") }
		waits := map[string]string{"approvals": "waiting_for_approval", "questions": "waiting_for_user_question"}[about.ofRun]
		theirs := []string{raise("agent-b", "input"), raise("agent-b", "call"), raise("agent-b", "call")}
		for _, runID := range theirs {
			a.post(t, "/v1/runs/"+runID+"/"+about.ofRun, about.decide, bearer(operator)).refused(api.CodeRunNotFound)
		}
		require.Equal(t, none.text, a.post(t, path, about.decide, bearer(operator)).refused(api.CodeRunStateConflict).text)
		require.Equal(t, none.text, a.post(t, path, about.decide, bearer(operator), key("k")).refused(api.CodeRunStateConflict).text)
		for _, runID := range theirs {
			require.Equal(t, waits, status(runID))
		}
		own := raise("agent-a", "call")
		a.post(t, path, about.decide, bearer(operator))
		require.Equal(t, "running", status(own), "the call of its agent")
		for _, runID := range theirs {
			require.Equal(t, waits, status(runID))
		}
		for range theirs {
			a.post(t, path, about.decide, bearer(admin))
		}
		for _, runID := range theirs {
			require.Equal(t, "running", status(runID))
		}
	}
}

// follow opens a stream. The returned function reads until a text arrives and returns everything
// read.
func follow(t *testing.T, a *rig, path, secret string) func(until string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server.URL+path, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+secret)
	response, err := a.server.Client().Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	var all strings.Builder
	buffer := make([]byte, 64<<10)
	return func(until string) string {
		for !strings.Contains(all.String(), until) {
			n, err := response.Body.Read(buffer)
			require.NoError(t, err)
			all.Write(buffer[:n])
		}
		return all.String()
	}
}

// testOwn checks the scope of an agent without limits: the runs that its principal created or
// holds. Anything else gets the same answer as something missing.
func testOwn(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	admin := ofRole(t, keyring, api.RoleAdmin)
	own := func(name string) string {
		_, secret := token(t, keyring, api.CreateTokenBody{Name: name, Role: api.RoleAgent})
		return secret
	}
	mine, other := own("owner"), own("neighbour")
	scene := func(by, sessionID, runID string) (handle, ruleID, fence string) {
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"agent_id":"shared"}`, sessionID), bearer(by)).want(http.StatusCreated)
		claim := a.post(t, "/v1/runs", fmt.Sprintf(`{"run_id":%q,"session_id":%q,"input":1,"claim":{"worker_id":"w"},"suspend":{"hold":true,"approvals":[%s]}}`, runID, sessionID, approval("a")), bearer(by)).want(http.StatusAccepted)
		ruleID = a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"match":{"pattern_keys":["k"]}}`, sessionID), bearer(admin)).want(http.StatusCreated).textAt("rule_id")
		return claim.textAt("run", "pending_approvals", 0, "handle"), ruleID, claim.textAt("lease", "fence")
	}
	foreignHandle, foreignRule, foreignFence := scene(other, "theirs-1", "their-own-run")
	ownHandle, ownRule, fence := scene(mine, "mine-1", "my-own-run")
	for _, o := range operations(t) {
		if o.unknown == "" || strings.HasPrefix(o.path, "/v1/tokens/") {
			continue
		}
		there, nowhere := o.about("theirs-1", "their-own-run", foreignRule, foreignHandle), o.about("theirs-0", "other-own-run", "rule_0000", "handle-0")
		got, want := a.do(t, o.method, there, o.body, bearer(mine)), a.do(t, o.method, nowhere, o.body, bearer(mine))
		require.Equal(t, want.status, got.status, "%s %s: %s", o.method, there, got.text)
		plain := strings.NewReplacer("theirs-0", "theirs-1", "other-own-run", "their-own-run", "rule_0000", foreignRule, "handle-0", foreignHandle)
		require.Equal(t, plain.Replace(want.text), got.text, "%s %s", o.method, there)
		require.Contains(t, []int{http.StatusNotFound, http.StatusForbidden}, got.status, "%s %s", o.method, there)
	}
	for _, list := range []string{"/v1/sessions", "/v1/runs", "/v1/runs?priority_active=true", "/v1/approvals", "/v1/questions", "/v1/rules", "/v1/effects", "/v1/decisions", "/v1/workers"} {
		got := a.get(t, list, bearer(mine)).want(http.StatusOK).text
		require.NotContains(t, got, "their", list)
		require.NotContains(t, got, foreignRule, list)
	}
	for list, shown := range map[string]string{"/v1/sessions": "mine-1", "/v1/runs": "my-own-run", "/v1/approvals": ownHandle, "/v1/rules": ownRule, "/v1/workers": "my-own-run"} {
		require.Contains(t, a.get(t, list, bearer(mine)).want(http.StatusOK).text, shown)
	}
	for _, path := range []string{"/v1/sessions/mine-1", "/v1/runs/my-own-run", "/v1/rules/" + ownRule, "/v1/requests/" + ownHandle, "/v1/sessions/mine-1/events", "/v1/runs/my-own-run/events"} {
		a.get(t, path, bearer(mine)).want(http.StatusOK)
	}
	require.Equal(t, "agent:owner", a.get(t, "/v1/runs/my-own-run", bearer(mine)).textAt("lease", "holder_principal"))
	require.Equal(t, "agent:owner", a.get(t, "/v1/sessions/mine-1", bearer(mine)).textAt("principal"))
	a.post(t, "/v1/sessions", `{"session_id":"mine-child","parent_session_id":"theirs-1"}`, bearer(mine)).refused(api.CodeSessionNotFound)
	a.post(t, "/v1/runs", `{"session_id":"theirs-1","input":1}`, bearer(mine)).refused(api.CodeSessionNotFound)
	a.post(t, "/v1/runs", `{"run_id":"their-own-run","session_id":"mine-1","input":1}`, bearer(mine)).refused(api.CodeIDConflict)

	// A claim returns the principal's own runs, also if it waits. Other principals' runs of the
	// same agent stay queued.
	queue := func(by, sessionID string) string {
		return a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"agent_id":"shared","input":1}`, sessionID), bearer(by)).want(http.StatusAccepted).textAt("run_id")
	}
	theirs, first := queue(other, "theirs-queue"), queue(mine, "mine-queue")
	claims := func(secret, wait string) *reply {
		return a.post(t, "/v1/runs/claim", `{"worker_id":"w","agent_ids":["shared"],"max_runs":10,"wait_ms":`+wait+`}`, bearer(secret)).want(http.StatusOK)
	}
	claimed := claims(mine, "0")
	require.Len(t, claimed.list("claims"), 1)
	require.Equal(t, first, claimed.textAt("claims", 0, "run", "run_id"))
	waiting := make(chan *reply, 1)
	go func() { waiting <- claims(mine, "20000") }()
	theirNext := queue(other, "theirs-next")
	next := queue(mine, "mine-next")
	claimed = <-waiting
	require.Len(t, claimed.list("claims"), 1)
	require.Equal(t, next, claimed.textAt("claims", 0, "run", "run_id"))
	a.post(t, "/v1/runs/"+theirs+"/claim", `{"worker_id":"w"}`, bearer(mine)).refused(api.CodeRunNotFound)
	require.Len(t, claims(other, "0").list("claims"), 2, "%s and %s", theirs, theirNext)

	// The stream of all sessions shows only its own runs.
	followed := follow(t, a, "/v1/stream", mine)
	require.NotContains(t, followed("my-own-run"), "their")
	scene(other, "theirs-2", "their-next-run")
	scene(mine, "mine-2", "my-next-run")
	require.NotContains(t, followed("my-next-run"), "their")

	// A fence belongs to its holder: an admin with the correct one gets the same error as for an
	// old one.
	for _, call := range [][2]string{{"/v1/runs/my-own-run/heartbeat", ""}, {"/v1/runs/my-own-run/complete", ""}, {"/v1/runs/my-own-run/requests/a/withdraw", ""}} {
		a.post(t, call[0], fmt.Sprintf(`{"fence":%q}`, fence), bearer(admin)).refused(api.CodeLeaseLost)
	}
	a.get(t, "/v1/runs/my-own-run/resume?fence="+fence, bearer(admin)).refused(api.CodeLeaseLost)
	// So is the claim of a repeated creation, whose key another one may guess.
	nightly := `{"session_id":"mine-nightly","input":1,"claim":{"worker_id":"w"},"suspend":{"hold":true,"approvals":[` + approval("a") + `]},"idempotency_key":"nightly"}`
	made := a.post(t, "/v1/runs", nightly, bearer(mine)).want(http.StatusAccepted).textAt("run", "run_id")
	a.post(t, "/v1/runs/"+made+"/approvals", allow("a"), bearer(admin)).want(http.StatusAccepted)
	a.post(t, "/v1/runs", nightly, bearer(admin)).refused(api.CodeLeaseLost)
	require.Equal(t, "allowed", a.post(t, "/v1/runs", nightly, bearer(mine)).want(http.StatusAccepted).at("resume", "approvals", 0, "resolution", "outcome"))
	a.get(t, "/v1/runs/my-own-run/resume?fence="+fence, bearer(mine)).want(http.StatusOK)
	a.post(t, "/v1/runs/my-own-run/heartbeat", fmt.Sprintf(`{"fence":%q}`, fence), bearer(mine)).want(http.StatusOK)
	a.post(t, "/v1/runs/their-own-run/heartbeat", fmt.Sprintf(`{"fence":%q}`, foreignFence), bearer(mine)).refused(api.CodeRunNotFound)
}
