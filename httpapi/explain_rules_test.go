package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/document"
)

// testExplainRules holds which rules the explanation of an approval names, and why they do not apply.
func testExplainRules(t *testing.T, a *rig) {
	tool, session := a.name("tool"), a.name("session")
	rule := func(members string) string {
		return a.post(t, "/v1/rules", `{`+members+`}`).want(http.StatusCreated).textAt("rule_id")
	}
	here := func(members string) string { return rule(fmt.Sprintf(`"session_id":%q,%s`, session, members)) }
	raise := func(input, members string) string {
		made := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"kind":"call","input":1,"suspend":{"approvals":[
			{"id":"a","tool_call_id":"c","tool_name":%q,"input":%s%s}]}}`, session, tool, input, members)).want(http.StatusAccepted)
		return made.textAt("pending_approvals", 0, "handle")
	}
	why := func(handle string) *reply {
		return a.get(t, "/v1/requests/"+handle+"/explain").want(http.StatusOK)
	}
	first := raise(`{"command":"npm publish"}`, "")
	require.Nil(t, why(first).at("rules"))

	about := `"tool_name":"` + tool + `"`
	glob := here(about + `,"match":{"params":{"command":"npm test **"}}`)
	here(`"tool_name":"other","match":{"any_input":true}`)
	a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,%s,"match":{"any_input":true}}`, a.name("elsewhere"), about)).want(http.StatusCreated)
	asks := here(about + `,"effect":"ask","match":{"any_input":true}`)
	ofAgent := here(about + `,"agent_id":"someone","match":{"any_input":true}`)
	broad := here(about + `,"match":{"any_input":true}`)
	for range 2 {
		here(about + `,"match":{"input_digest":"sha256:1111111111111111111111111111111111111111111111111111111111111111"}`)
	}
	whyNot := func(got *reply) map[string]any {
		found := map[string]any{}
		for i := range got.list("rules") {
			found[got.textAt("rules", i, "rule_id")] = got.at("rules", i, "why_not")
			require.Equal(t, got.at("rules", i, "why_not") == nil, got.at("rules", i, "applies"))
		}
		return found
	}
	got := whyNot(why(first))
	require.Len(t, got, 4, "rules of other tools, sessions and inputs are not near: %v", got)
	require.Contains(t, got[glob], "command")
	require.Contains(t, got[ofAgent], "agent")
	require.Equal(t, "it was added after the request was raised", got[broad])

	later := why(raise(`{"command":"npm publish"}`, ""))
	require.Equal(t, asks, later.textAt("rules", 0, "rule_id"), "a rule that applies comes first")
	got = whyNot(later)
	require.Nil(t, got[asks])
	require.Equal(t, "a rule that asks goes before it", got[broad])

	sensitive := why(raise(`{"command":"npm publish","token":"x"}`, `,"sensitive_paths":["/token"]`))
	require.Nil(t, sensitive.at("rules"), "rules must not tell of a sensitive value")
	for i := range api.MaxExplainedRules {
		here(fmt.Sprintf(`%s,"match":{"params":{"command":"make %d"}}`, about, i))
	}
	testExplainSensitive(t, a)
	many := why(first)
	require.Len(t, many.list("rules"), api.MaxExplainedRules)
	require.EqualValues(t, 4, many.at("rules_more"))
}

// testExplainSensitive checks that the rules that are offered for a masked input are the ones that a decision writes.
func testExplainSensitive(t *testing.T, a *rig) {
	t.Helper()
	tool := a.name("sensitive tool")
	run := a.waiting(t, fmt.Sprintf(`"approvals":[{"id":"exact","tool_call_id":"c","tool_name":%[1]q,"input":{"command":"npm test x","env":{"token":"x"}},"sensitive_paths":["/env","/env/token"]},
		{"id":"tool","tool_call_id":"d","tool_name":%[1]q,"input":{"command":"npm test x","env":{"token":"x"}},"sensitive_paths":["/env/token"]}]`, tool))
	const masked = `{"command":"npm test x","env":{"sensitive":true}}`
	explain := func(members string, options ...option) *reply {
		return a.post(t, "/v1/rules/explain", fmt.Sprintf(`{"session_id":%q,"tool_name":%q,"input":%s,"remember_for_ms":0,%s}`, run.session, tool, masked, members), options...)
	}
	for i, one := range a.get(t, "/v1/runs/"+run.run).want(http.StatusOK).list("pending_approvals") {
		request := one.(map[string]any)
		paths, digest := document.Encode(request["sensitive_paths"]), request["input_digest"].(string)
		require.Contains(t, digest, "hmac-sha256:")
		remember := explain(fmt.Sprintf(`"sensitive_paths":%s,"input_digest":%q`, paths, digest)).want(http.StatusOK)
		require.Len(t, remember.list("remember", "choices"), 2)
		as := []string{"exact", "tool"}[i]
		require.Equal(t, as, remember.at("remember", "choices", i, "as"))
		text := remember.textAt("remember", "choices", i, "session")
		a.post(t, "/v1/runs/"+run.run+"/approvals", fmt.Sprintf(`{"resolutions":[{"request_id":%q,"behavior":"allow","remember":"session","remember_as":%q,"remember_for_ms":0}]}`, request["id"], as)).want(http.StatusAccepted)
		settled := a.get(t, "/v1/requests/"+request["handle"].(string)).want(http.StatusOK)
		require.Equal(t, text, settled.textAt("resolution", "rule", "text"))
		if as == "exact" {
			require.Contains(t, text, digest)
			require.Equal(t, "allow", explain(fmt.Sprintf(`"sensitive_paths":%s,"input_digest":%q`, paths, digest)).at("decision"))
			require.Equal(t, "ask", explain(fmt.Sprintf(`"sensitive_paths":[],"input_digest":%q`, digest)).at("decision"), "a digest without paths says nothing")
		}
	}
	const zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	explain(`"sensitive_paths":["/env"]`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/input_digest")
	explain(`"sensitive_paths":["/env"],"input_digest":"7f"`).refused(api.CodeInvalidRequest).pointer("/input_digest")
	explain(`"sensitive_paths":["env"],"input_digest":"hmac-sha256:`+zeros+`"`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/sensitive_paths/0")
}

// testExplainRulesWithin checks that a bound token is not shown the inputs of rules of other sessions.
func testExplainRulesWithin(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	_, secret := token(t, keyring, api.CreateTokenBody{Name: a.name("token"), Role: api.RoleAdmin, Principal: "user:rules.admin"})
	admin := bearer(secret)
	_, secret = token(t, keyring, api.CreateTokenBody{Name: a.name("token"), Role: api.RoleOperator, Principal: "user:rules.bound", SessionPrefixes: []string{"near-"}})
	bound := bearer(secret)
	made := a.post(t, "/v1/runs", `{"session_id":"near-1","input":1,"suspend":{"approvals":[
		{"id":"a","tool_call_id":"c","tool_name":"near-tool","input":{"secret":"of another session"}}]}}`, admin).want(http.StatusAccepted)
	digest, path := made.textAt("pending_approvals", 0, "input_digest"), "/v1/requests/"+made.textAt("pending_approvals", 0, "handle")+"/explain"
	a.post(t, "/v1/rules", fmt.Sprintf(`{"tool_name":"near-tool","agent_id":"someone","match":{"input_digest":%q}}`, digest), admin).want(http.StatusCreated)
	shown := a.post(t, "/v1/rules", `{"tool_name":"near-tool","agent_id":"someone","match":{"any_input":true}}`, admin).want(http.StatusCreated).textAt("rule_id")
	require.Len(t, a.get(t, path, admin).want(http.StatusOK).list("rules"), 2)
	seen := a.get(t, path, bound).want(http.StatusOK)
	require.Len(t, seen.list("rules"), 1)
	require.Equal(t, shown, seen.textAt("rules", 0, "rule_id"))
}
