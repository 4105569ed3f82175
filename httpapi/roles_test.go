package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// testRoles calls every operation with a credential of every role, and holds the replies against x-roles.
func testRoles(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	for _, role := range auth.Roles {
		secret := ofRole(t, keyring, role)
		for _, o := range documented(t) {
			options := []option{bearer(secret), wait(0)} // what makes a run would be held until somebody ends it
			if o.path == "/v1/stream" || o.path == "/v1/calls" {
				o.path += "?session_id=s" // no filter of these: refused at once, not held open
				options = append(options, unchecked())
			}
			got := a.do(t, o.method, o.path, o.body, options...)
			if slices.Contains(o.roles, string(role)) {
				require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, got.status, "%s %s %s: %s", role, o.method, o.path, got.text)
				require.Less(t, got.status, 500)
				continue
			}
			got.refused(api.CodeForbidden)
			require.Contains(t, got.text, "it needs the role ")
		}
	}
	// An agent may end its own run, whose id no one else has.
	one := ofRole(t, keyring, api.RoleAgent)
	_, two := token(t, keyring, api.CreateTokenBody{Name: "another", Role: api.RoleAgent, SessionPrefixes: []string{"of-one"}})
	mine := `{"run_id":"mine","session_id":"of-one","input":1,"suspend":{"questions":[{"id":"q","tool_call_id":"q","response_schema":{}}]}}`
	a.post(t, "/v1/runs", mine, bearer(one)).want(http.StatusAccepted)
	a.post(t, "/v1/runs", mine, bearer(one)).want(http.StatusOK)
	for _, other := range []string{two, ofRole(t, keyring, api.RoleAdmin)} {
		a.post(t, "/v1/runs", mine, bearer(other)).refused(api.CodeIDConflict)
	}
	for _, path := range []string{"/v1/runs/mine/questions/q/cancel", "/v1/runs/mine/cancel", "/v1/sessions/of-one/interrupt"} {
		require.Contains(t, a.post(t, path, `{}`, bearer(two)).refused(api.CodeForbidden).text, "what it made")
	}
	require.Equal(t, "waiting_for_user_question", a.get(t, "/v1/runs/mine", bearer(two)).want(http.StatusOK).at("status"))
	a.post(t, "/v1/runs/mine/questions/q/cancel", `{}`, bearer(one)).want(http.StatusOK)
	for i, by := range []string{"interrupt", "cancel"} {
		run := []string{"second", "third"}[i]
		a.post(t, "/v1/runs", strings.Replace(mine, `"mine"`, `"`+run+`"`, 1), bearer(one)).want(http.StatusAccepted)
		path := map[string]string{"interrupt": "/v1/sessions/of-one/interrupt", "cancel": "/v1/runs/" + run + "/cancel"}[by]
		require.Less(t, a.post(t, path, `{}`, bearer(one)).status, 300)
		require.Contains(t, []any{"interrupted", "cancelled"}, a.get(t, "/v1/runs/"+run, bearer(one)).want(http.StatusOK).at("status"))
	}
	a.post(t, "/v1/runs/claim", `{"worker_id":"w"}`, bearer(one), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/agent_ids")
	a.post(t, "/v1/runs/claim", `{"worker_id":"w","agent_ids":["nobody"]}`, bearer(one)).want(http.StatusOK)
	// A key is the principal's, whose name a gateway may only say; with a session it is that session's.
	_, gateway := token(t, keyring, api.CreateTokenBody{Name: "gateway", Role: api.RoleAgent, Principal: "service:gateway", MayActFor: true})
	made := func(options ...option) string {
		return a.post(t, "/v1/runs", `{"input":"keyed"}`, append(options, key("same"))...).want(http.StatusAccepted).textAt("run_id")
	}
	first := made(bearer(one))
	require.Equal(t, first, made(bearer(one)), "a replay")
	others := map[string]bool{first: true}
	for _, options := range [][]option{
		{bearer(two)}, {bearer(gateway)}, {bearer(gateway), header("X-Actor", "agent:the-agent")}, {bearer(gateway), header("X-Actor", "ann")},
	} {
		runID := made(options...)
		require.False(t, others[runID], "another's key")
		others[runID] = true
	}
	_, acting := token(t, keyring, api.CreateTokenBody{Name: "acting", Role: api.RoleAdmin, Principal: "service:acting", MayActFor: true})
	rules := map[string]bool{}
	for _, options := range [][]option{{bearer(ofRole(t, keyring, api.RoleAdmin))}, {bearer(acting), header("X-Actor", "user:the-admin")}} {
		for _, session := range []string{"", `"session_id":"keyed-rules",`} {
			rule := a.post(t, "/v1/rules", `{`+session+`"match":{"pattern_keys":["keyed"]}}`, append(options, key("same"))...).want(http.StatusCreated).textAt("rule_id")
			require.False(t, rules[rule])
			rules[rule] = true
		}
	}
	operator, admin := ofRole(t, keyring, api.RoleOperator), ofRole(t, keyring, api.RoleAdmin)
	_, always := token(t, keyring, api.CreateTokenBody{Name: "always", Role: api.RoleOperator, MayAlways: true})
	forAll := func(secret string) *reply {
		return a.post(t, "/v1/rules", `{"match":{"pattern_keys":["`+a.name("k")+`"]}}`, bearer(secret))
	}
	forAll(operator).refused(api.CodeForbidden)
	rule := forAll(always).want(http.StatusCreated).textAt("rule_id")
	a.do(t, http.MethodDelete, "/v1/rules/"+rule, "", bearer(operator)).refused(api.CodeForbidden)
	a.do(t, http.MethodDelete, "/v1/rules/"+rule, "", bearer(always)).want(http.StatusNoContent)
	forAll(admin).want(http.StatusCreated)
	a.post(t, "/v1/rules", `{"session_id":"s-1","match":{"pattern_keys":["k"]}}`, bearer(operator)).want(http.StatusCreated)

	// A rule written with a decision requires the same permission as a rule. If refused, nothing is
	// decided.
	a.post(t, "/v1/runs", `{"run_id":"remembered","session_id":"s-2","input":1,"suspend":{"approvals":[`+approval("a")+`]}}`, bearer(admin)).want(http.StatusAccepted)
	remember := func(scope string) string {
		return `{"resolutions":[{"request_id":"a","behavior":"allow","remember":"` + scope + `"}]}`
	}
	a.post(t, "/v1/runs/remembered/approvals", remember("always"), bearer(operator)).refused(api.CodeForbidden)
	require.Equal(t, "waiting_for_approval", a.get(t, "/v1/runs/remembered", bearer(operator)).want(http.StatusOK).at("status"))
	a.post(t, "/v1/runs/remembered/approvals", remember("session"), bearer(operator)).want(http.StatusAccepted)
}
