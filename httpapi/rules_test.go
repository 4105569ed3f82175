package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// tool is an approval of a tool call whose input has one command.
func tool(id, name, command string, more string) string {
	return fmt.Sprintf(`{"id":%q,"tool_call_id":"call-%s","tool_name":%q,"input":{"command":%q}%s}`, id, id, name, command, more)
}

// suspended suspends a claimed run.
func (a *rig) suspended(t *testing.T, run wantedRun, members string) *reply {
	t.Helper()
	return a.post(t, "/v1/runs/"+run.run+"/suspend", fmt.Sprintf(`{"fence":%q,%s}`, run.fence, members)).want(http.StatusOK)
}

func testRules(t *testing.T, a *rig) {
	parallel(t, "a rule and what it shows", func(t *testing.T) {
		run := a.claimed(t)
		made := a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","match":{"params":{"command":"npm **"}},"reason":"npm is fine"}`, run.session),
			header("X-Actor", "mara")).want(http.StatusCreated)
		require.Equal(t, []string{"created_at_ms", "created_by", "effect", "hits", "match", "reason", "rule_id", "session_id", "text", "tool_name"}, members(made.body))
		require.Equal(t, "allow", made.at("effect"))
		require.Equal(t, "mara", made.at("created_by"))
		forAll := a.post(t, "/v1/rules", `{"tool_name":"nobody-has-it","match":{"any_input":true}}`).want(http.StatusCreated)
		require.Equal(t, float64(30*24*time.Hour/time.Millisecond), forAll.at("expires_at_ms").(float64)-forAll.at("created_at_ms").(float64))
		require.Contains(t, made.textAt("text"), "npm **")
		path := "/v1/rules/" + made.textAt("rule_id")
		require.Equal(t, path, made.header.Get("Location"))
		require.Equal(t, made.body, a.get(t, path).want(http.StatusOK).body)

		settled := a.suspended(t, run, `"approvals":[`+tool("a", "bash", "npm test", "")+`]`)
		require.Equal(t, "running", settled.at("run", "status"))
		require.Equal(t, "w1", settled.at("run", "lease", "worker_id"), "the lease goes on")
		resolution := settled.at("resume", "approvals", 0, "resolution").(map[string]any)
		require.Equal(t, "rule:"+made.textAt("rule_id"), resolution["via"])
		require.Equal(t, "mara", resolution["resolved_by"])
		require.Equal(t, "npm is fine", resolution["reason"])
		require.Equal(t, map[string]any{"rule_id": made.at("rule_id"), "text": made.at("text")}, resolution["rule"])
		require.Equal(t, 1.0, a.get(t, path).at("hits"))

		waits := a.suspended(t, run, `"approvals":[`+tool("b", "bash", "rm -rf x", "")+`]`)
		require.Equal(t, "waiting_for_approval", waits.at("run", "status"))
		require.NotContains(t, members(waits.body), "resume")
	})
	parallel(t, "a key of a caller is none of a session with its name", func(t *testing.T) {
		name := a.claimed(t).session
		key := header("Idempotency-Key", "one key of both")
		ofCaller := a.post(t, "/v1/rules", `{"tool_name":"nobody-has-it","match":{"any_input":true}}`, header("X-Actor", name), key).want(http.StatusCreated)
		ofSession := a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","match":{"any_input":true}}`, name), header("X-Actor", "mara"), key).want(http.StatusCreated)
		require.NotEqual(t, ofCaller.at("rule_id"), ofSession.at("rule_id"))
	})
	parallel(t, "revoked at once, and it stays on record", func(t *testing.T) {
		run := a.claimed(t)
		rule := a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","match":{"any_input":true}}`, run.session)).want(http.StatusCreated).textAt("rule_id")
		require.Empty(t, a.do(t, http.MethodDelete, "/v1/rules/"+rule, "", header("X-Actor", "mara")).want(http.StatusNoContent).text)
		a.do(t, http.MethodDelete, "/v1/rules/"+rule, "", header("X-Actor", "somebody else")).want(http.StatusNoContent)
		shown := a.get(t, "/v1/rules/"+rule).want(http.StatusOK)
		require.Equal(t, "mara", shown.at("revoked_by"))
		waits := a.suspended(t, run, `"approvals":[`+tool("a", "bash", "ls", "")+`]`)
		require.Equal(t, "waiting_for_approval", waits.at("run", "status"))
		a.do(t, http.MethodDelete, "/v1/rules/"+rule, "", header("X-Actor", "\t"), expecting(semantic)).refused(api.CodeBadRequest)
		a.do(t, http.MethodDelete, "/v1/rules/nobody", "").refused(api.CodeRuleNotFound)
		a.do(t, http.MethodDelete, "/v1/rules/%00", "", unchecked()).refused(api.CodeRuleNotFound)
	})
	parallel(t, "remembered with a decision", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+tool("a", "bash", "rm -rf build && rm -rf /tmp/x", "")+`]`)
		decided := a.post(t, "/v1/runs/"+run.run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","remember":"session","remember_for_ms":0}]}`).want(http.StatusAccepted)
		written := decided.at("resume", "approvals", 0, "resolution", "rule").(map[string]any)
		rule := a.get(t, "/v1/rules/"+written["rule_id"].(string)).want(http.StatusOK)
		require.Equal(t, rule.at("text"), written["text"])
		require.Equal(t, []string{"input_digest"}, members(rule.at("match")), "the exact call, and nothing wider")
		require.Equal(t, run.run, rule.at("source_run_id"))
		require.Equal(t, "a", rule.at("source_request_id"))
		require.NotContains(t, members(rule.body), "expires_at_ms")
		claim := a.post(t, "/v1/runs/"+run.run+"/claim", `{"worker_id":"w1"}`).want(http.StatusOK)
		run.fence = claim.textAt("lease", "fence")
		for command, decision := range map[string]string{"rm -rf build": "ask", "rm -rf build && rm -rf /tmp/x": "allow"} {
			explained := a.post(t, "/v1/rules/explain", fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","input":{"command":%q}}`, run.session, command)).want(http.StatusOK)
			require.Equal(t, decision, explained.at("decision"))
		}
		again := a.suspended(t, run, `"approvals":[`+tool("b", "bash", "rm -rf build && rm -rf /tmp/x", "")+`]`)
		require.Equal(t, "running", again.at("run", "status"))
		other := a.suspended(t, run, `"approvals":[`+tool("c", "bash", "rm -rf build", "")+`]`)
		require.Equal(t, "waiting_for_approval", other.at("run", "status"))
		a.post(t, "/v1/runs/"+run.run+"/approvals", `{"resolutions":[{"request_id":"c","behavior":"allow","remember":"forever"}]}`).refused(api.CodeInvalidRequest).pointer("/resolutions/0/remember")
	})
	parallel(t, "too many of a session", func(t *testing.T) {
		const params = 15
		globs := make([]string, params)
		for n := range globs {
			globs[n] = fmt.Sprintf(`"p%d":%q`, n, strings.Repeat("x", api.MaxGlobLength))
		}
		run := a.waiting(t, `"approvals":[`+tool("a", "bash", "make", `,"pattern_keys":["`+strings.Repeat("k", api.MaxPatternKeyLength)+`"]`)+`]`)
		large := func(session string) *reply {
			return a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"tool_name":"nobody-has-it","match":{"params":{%s}}}`, session, strings.Join(globs, ",")))
		}
		added := 0
		last := large(run.session)
		for ; last.status == http.StatusCreated; added++ {
			last = large(run.session)
		}
		last.refused(api.CodeTooManyRules)
		require.LessOrEqual(t, added, api.MaxRuleBytesOfSession/(params*api.MaxGlobLength))
		require.Len(t, a.cursorWalk(t, "/v1/rules?page=true&limit=100&session_id="+run.session), added)
		large(a.name("another")).want(http.StatusCreated)

		// Smaller ones fill the remaining space. A decision remembers an exact input, which has a
		// separate limit.
		for fits := true; fits; {
			fits = a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"tool_name":"nobody-has-it","match":{"params":{"p":%q}}}`, run.session, strings.Repeat("x", 512))).status == http.StatusCreated
		}
		path := "/v1/runs/" + run.run + "/approvals"
		a.post(t, path, `{"resolutions":[{"request_id":"a","behavior":"allow","remember":"session"}]}`).want(http.StatusAccepted)
		a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","match":{"input_digest":"sha256:%s"}}`, run.session, strings.Repeat("0", 64))).want(http.StatusCreated)
	})
	parallel(t, "once is never more than once", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+tool("a", "bash", "make", `,"pattern_keys":["make"]`)+`]`)
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a")).want(http.StatusAccepted)
		run.fence = a.post(t, "/v1/runs/"+run.run+"/claim", `{"worker_id":"w1"}`).want(http.StatusOK).textAt("lease", "fence")
		again := a.suspended(t, run, `"approvals":[`+tool("b", "bash", "make", `,"pattern_keys":["make"]`)+`]`)
		require.Equal(t, "waiting_for_approval", again.at("run", "status"))
		require.Empty(t, a.get(t, "/v1/rules?session_id="+run.session).want(http.StatusOK).list())
	})
	parallel(t, "explained texts are those that decisions write", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		call := fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","input":{"command":"rm -rf build"},"effect":"deny","remember_for_ms":0}`, run.session)
		explained := a.post(t, "/v1/rules/explain", call).want(http.StatusOK)
		text := explained.textAt("remember", "session")
		require.Equal(t, map[string]any{"command": "rm -rf build"}, explained.at("remember", "examples", "matching", 0, "input"))
		require.Len(t, explained.list("remember", "examples", "not_matching"), 3)
		decided := a.post(t, "/v1/runs/"+run.run+"/approvals",
			`{"resolutions":[{"request_id":"a1","behavior":"deny","remember":"session","remember_for_ms":0}]}`).want(http.StatusAccepted)
		require.Equal(t, text, decided.textAt("resume", "approvals", 0, "resolution", "rule", "text"))
	})
	parallel(t, "choices of what is remembered", func(t *testing.T) {
		input := `{"command":"make all","description":"First"}`
		run := a.waiting(t, `"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":`+input+`}]`)
		explained := a.post(t, "/v1/rules/explain", fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","input":%s}`, run.session, input)).want(http.StatusOK)
		texts := map[string]any{}
		for _, choice := range explained.list("remember", "choices") {
			texts[choice.(map[string]any)["as"].(string)] = choice.(map[string]any)["session"]
		}
		require.Contains(t, texts["exact"], "exactly this input")
		require.Contains(t, texts["command"], `command is exactly "make all"`)
		require.Contains(t, texts["tool"], "every call of the tool bash")
		resolve := "/v1/runs/" + run.run + "/approvals"
		decision := func(more string) string {
			return `{"resolutions":[{"request_id":"a","behavior":"allow",` + more + `}]}`
		}
		a.post(t, resolve, decision(`"remember":"always","remember_as":"tool"`), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/resolutions/0/remember_as")
		a.post(t, resolve, decision(`"remember_as":"exact"`), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/resolutions/0/remember_as")
		decided := a.post(t, resolve, decision(`"remember":"session","remember_as":"command"`)).want(http.StatusAccepted)
		require.Equal(t, texts["command"], decided.textAt("resume", "approvals", 0, "resolution", "rule", "text"))
		for input, decision := range map[string]string{
			`{"command":"make all","description":"Second","timeout":5}`: "allow", `{"command":"make all","cwd":"/"}`: "ask", `{"command":"make  all"}`: "ask",
		} {
			again := a.post(t, "/v1/rules/explain", fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","input":%s}`, run.session, input)).want(http.StatusOK)
			require.Equal(t, decision, again.at("decision"), input)
		}

		// A call without a command has no such rule; a search has one for its tool.
		search := a.waiting(t, `"approvals":[{"id":"a","tool_call_id":"c","tool_name":"WebSearch","input":{"query":"weather"}}]`)
		resolve = "/v1/runs/" + search.run + "/approvals"
		a.post(t, resolve, decision(`"remember":"session","remember_as":"command"`), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/resolutions/0/remember_as")
		a.post(t, resolve, decision(`"remember":"session","remember_as":"tool"`)).want(http.StatusAccepted)
		news := a.post(t, "/v1/rules/explain", fmt.Sprintf(`{"session_id":%q,"tool_name":"WebSearch","input":{"query":"news"}}`, search.session)).want(http.StatusOK)
		require.Equal(t, "allow", news.at("decision"))
	})
	parallel(t, "commands that start with the same words, files in a folder", func(t *testing.T) {
		for _, test := range []struct{ as, tool, input, about, like, unlike string }{
			{"prefix", "bash", `{"command":"npm test -- cart"}`, "npm test", `{"command":"npm test x"}`, `{"command":"npm publish x"}`},
			{"folder", "Edit", `{"file_path":"cart/total.go","new_string":"x"}`, "cart/", `{"file_path":"cart/sum.go","new_string":"y"}`, `{"file_path":"shop/sum.go","new_string":"y"}`},
		} {
			run := a.waiting(t, fmt.Sprintf(`"approvals":[{"id":"a","tool_call_id":"c","tool_name":%q,"input":%s}]`, test.tool, test.input))
			explain := func(input string) *reply {
				return a.post(t, "/v1/rules/explain", fmt.Sprintf(`{"session_id":%q,"tool_name":%q,"input":%s}`, run.session, test.tool, input)).want(http.StatusOK)
			}
			text := ""
			for _, choice := range explain(test.input).list("remember", "choices") {
				if choice := choice.(map[string]any); choice["as"] == test.as {
					require.Equal(t, test.about, choice["about"])
					text = choice["session"].(string)
				}
			}
			other := map[string]string{"prefix": "folder", "folder": "prefix"}[test.as]
			resolve := "/v1/runs/" + run.run + "/approvals"
			body := `{"resolutions":[{"request_id":"a","behavior":"allow","remember":"session","remember_as":%q}]}`
			a.post(t, resolve, fmt.Sprintf(body, other), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/resolutions/0/remember_as")
			decided := a.post(t, resolve, fmt.Sprintf(body, test.as)).want(http.StatusAccepted)
			require.NotEmpty(t, text)
			require.Equal(t, text, decided.textAt("resume", "approvals", 0, "resolution", "rule", "text"))
			require.Equal(t, "allow", explain(test.like).at("decision"))
			require.Equal(t, "ask", explain(test.unlike).at("decision"))
		}
	})
	parallel(t, "which other requests a rule would have decided", func(t *testing.T) {
		asked := func(id, tool, input, more string) string {
			return fmt.Sprintf(`{"id":%q,"tool_call_id":%q,"tool_name":%q,"input":%s%s}`, id, id, tool, input, more)
		}
		ids := []string{"same", "other-words", "publish", "operator", "edit", "secret", "settled"}
		run := a.waiting(t, `"approvals":[`+strings.Join([]string{
			asked(ids[0], "bash", `{"command":"npm test -- cart","description":"Again"}`, ""), asked(ids[1], "bash", `{"command":"npm test -- sum"}`, ""),
			asked(ids[2], "bash", `{"command":"npm publish --force"}`, ""), asked(ids[3], "bash", `{"command":"npm test -- x && id"}`, ""), asked(ids[4], "Edit", `{"file_path":"a/b"}`, ""),
			asked(ids[5], "bash", `{"command":"npm test -- y","token":"x"}`, `,"sensitive_paths":["/token"]`), asked(ids[6], "bash", `{"command":"npm test -- z"}`, ""),
		}, ",")+`]`)
		a.post(t, "/v1/runs/"+run.run+"/approvals", `{"resolutions":[{"request_id":"settled","behavior":"deny"}]}`).want(http.StatusAccepted)
		names, handles := map[string]string{}, []string{"request_unknown"}
		for _, one := range a.get(t, "/v1/runs/"+run.run).want(http.StatusOK).list("pending_approvals") {
			request := one.(map[string]any)
			handle := request["handle"].(string)
			names[handle] = request["id"].(string)
			handles = append(handles, handle)
		}
		listed := func(handles []string) string { return `["` + strings.Join(handles, `","`) + `"]` }
		body := `{"session_id":%q,"tool_name":"bash","input":{"command":"npm test -- cart"},"also":%s}`
		explained := a.post(t, "/v1/rules/explain", fmt.Sprintf(body, a.name("elsewhere"), listed(handles))).want(http.StatusOK)
		found := map[string][]string{}
		for _, choice := range explained.list("remember", "choices") {
			choice := choice.(map[string]any)
			also, _ := choice["also"].([]any)
			for _, handle := range also {
				found[choice["as"].(string)] = append(found[choice["as"].(string)], names[handle.(string)])
			}
		}
		require.Equal(t, map[string][]string{"command": {"same"}, "prefix": {"same", "other-words"}, "tool": {"same", "other-words", "publish", "operator"}}, found)
		many := slices.Repeat([]string{"request_x"}, api.MaxAlsoExplained+1)
		a.post(t, "/v1/rules/explain", fmt.Sprintf(body, "s", listed(many))).refused(api.CodeInvalidRequest).pointer("/also")
	})
	parallel(t, "explained", func(t *testing.T) {
		session := a.name("session")
		a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"match":{"pattern_keys":["push"]}}`, session)).want(http.StatusCreated)
		explained := a.post(t, "/v1/rules/explain", fmt.Sprintf(`{"session_id":%q,"tool_name":"git","input":{},"pattern_keys":["push","force"]}`, session)).want(http.StatusOK)
		require.Equal(t, "ask", explained.at("decision"))
		rules := explained.list("rules")
		mine := rules[len(rules)-1].(map[string]any)
		require.Equal(t, false, mine["applies"])
		require.Contains(t, mine["why_not"], "force")
		require.Contains(t, explained.textAt("remember", "session"), session)
		require.NotContains(t, explained.textAt("remember", "always"), "push", "no rule is about what the asking side calls it")
		everywhere := a.post(t, "/v1/rules/explain", `{"tool_name":"git","input":{}}`).want(http.StatusOK)
		require.NotContains(t, members(everywhere.at("remember")), "session")
		require.Contains(t, everywhere.textAt("remember", "always"), "Allow")
		forEver := a.post(t, "/v1/rules/explain", `{"tool_name":"git","input":{},"effect":"deny","remember_for_ms":0}`).want(http.StatusOK)
		require.Contains(t, forEver.textAt("remember", "always"), "Deny")
		require.NotContains(t, forEver.textAt("remember", "always"), "until")
		a.post(t, "/v1/rules/explain", `{"tool_name":"git","input":{},"effect":"ask"}`).refused(api.CodeInvalidRequest).pointer("/effect")
		a.post(t, "/v1/rules/explain", `{"tool_name":"git","input":{},"remember_for_ms":-1}`).refused(api.CodeInvalidRequest).pointer("/remember_for_ms")
		a.post(t, "/v1/rules/explain", `{"tool_name":"git","input":1,"pattern_keys":[`+strings.Repeat(`"k",`, 64)+`"k"]}`).refused(api.CodeInvalidRequest).pointer("/pattern_keys")
		a.post(t, "/v1/rules/explain", `{"tool_name":"git","input":1,"pattern_keys":["k",""]}`).refused(api.CodeInvalidRequest).pointer("/pattern_keys/1")
		a.post(t, "/v1/rules/explain", `{"tool_name":"`+strings.Repeat("g", 201)+`","input":1}`).refused(api.CodeInvalidRequest).pointer("/tool_name")
		a.post(t, "/v1/rules/explain", `{"input":{}}`).refused(api.CodeInvalidRequest).pointer("/tool_name")
		a.post(t, "/v1/rules/explain", `{"tool_name":"git"}`).refused(api.CodeInvalidRequest).pointer("/input")
		a.post(t, "/v1/rules/explain", `{"tool_name":"git","input":1,"session_id":"*"}`).refused(api.CodeInvalidRequest).pointer("/session_id")
	})
	parallel(t, "what cannot be a rule", func(t *testing.T) {
		for body, pointer := range map[string]string{
			`{}`:           "/match",
			`{"match":{}}`: "/match",
			`{"tool_name":"x","match":{"input_digest":"sha256:00"}}`:    "/match/input_digest",
			`{"effect":"maybe","match":{"pattern_keys":["a"]}}`:         "/effect",
			`{"session_id":"*","match":{"pattern_keys":["a"]}}`:         "/session_id",
			`{"max_uses":0,"match":{"pattern_keys":["a"]}}`:             "/max_uses",
			`{"expires_after_ms":-1,"match":{"pattern_keys":["a"]}}`:    "/expires_after_ms",
			`{"tool_name":"x","match":{"params":{"command":7}}}`:        "/match/params/command",
			`{"match":{"tool_call_id":"call-1"},"session_id":"bad id"}`: "/session_id",
		} {
			a.post(t, "/v1/rules", body).refused(api.CodeInvalidRequest).pointer(pointer)
		}
		for body, pointer := range map[string]string{
			`{"match":{"any_input":true}}`:                                            "/match/any_input",
			`{"match":{"params":{"command":"x"}}}`:                                    "/match/params",
			`{"max_uses":1,"match":{"pattern_keys":["a"]}}`:                           "/max_uses",
			`{"match":{"tool_call_id":"call-1"}}`:                                     "/match/tool_call_id",
			`{"expires_at_ms":1,"match":{"pattern_keys":["a"]}}`:                      "/expires_at_ms",
			`{"expires_at_ms":1,"expires_after_ms":1,"match":{"pattern_keys":["a"]}}`: "/expires_after_ms",
		} {
			a.post(t, "/v1/rules", body, expecting(semantic)).refused(api.CodeInvalidRequest).pointer(pointer)
		}
	})
	parallel(t, "the same again, by id and by key", func(t *testing.T) {
		id, session := a.name("rule"), a.name("session")
		body := fmt.Sprintf(`{"rule_id":%q,"session_id":%q,"match":{"pattern_keys":["a"]}}`, id, session)
		first := a.post(t, "/v1/rules", body).want(http.StatusCreated)
		require.Equal(t, first.body, a.post(t, "/v1/rules", body).want(http.StatusOK).body)
		a.post(t, "/v1/rules", strings.Replace(body, `["a"]`, `["b"]`, 1)).refused(api.CodeIDConflict)
		keyed := fmt.Sprintf(`{"session_id":%q,"match":{"pattern_keys":["a"]}}`, session)
		first = a.post(t, "/v1/rules", keyed, key("k1")).want(http.StatusCreated)
		again := a.post(t, "/v1/rules", keyed, key("k1")).want(http.StatusCreated)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.Equal(t, first.body, again.body)
		a.post(t, "/v1/rules", strings.Replace(keyed, `["a"]`, `["b"]`, 1), key("k1")).refused(api.CodeIdempotencyConflict)
		a.post(t, "/v1/rules", keyed, key("")).refused(api.CodeInvalidIdempotencyKey)
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, session)).want(http.StatusCreated)
		a.post(t, "/v1/sessions/"+session+"/end", "").want(http.StatusOK)
		a.post(t, "/v1/rules", keyed).refused(api.CodeSessionEnded)
		require.Contains(t, members(a.get(t, "/v1/rules/"+id).body), "revoked_at_ms", "a session's rules end with it")
	})
	parallel(t, "in pages", func(t *testing.T) {
		session := a.name("session")
		var wanted []string
		for range 5 {
			wanted = append(wanted, a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"match":{"pattern_keys":["a"]}}`, session)).textAt("rule_id"))
		}
		require.ElementsMatch(t, wanted, a.pages(t, "/v1/rules?session_id="+session+"&", 2, "rule_id"))
		require.Empty(t, a.get(t, "/v1/rules?session_id=%20", expecting(lenient)).want(http.StatusOK).list())
		a.get(t, "/v1/rules?limit=0").refused(api.CodeInvalidLimit)
		a.get(t, "/v1/rules?cursor=x", expecting(semantic)).refused(api.CodeInvalidCursor)
	})
}

// TestACapOnRules: a rule with a longer lifetime than allowed is refused, not shortened.
func TestACapOnRules(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.MaxRuleAge = time.Hour })
	a.post(t, "/v1/rules", `{"match":{"pattern_keys":["a"]},"expires_after_ms":0}`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/expires_after_ms")
	a.post(t, "/v1/rules", `{"match":{"pattern_keys":["a"]},"expires_after_ms":3600001}`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/expires_after_ms")
	a.post(t, "/v1/rules", `{"match":{"pattern_keys":["a"]},"expires_after_ms":3600000}`).want(http.StatusCreated)
	run := a.waiting(t, `"approvals":[`+approval("a")+`]`)
	a.post(t, "/v1/runs/"+run.run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","remember":"always","remember_for_ms":0}]}`, expecting(semantic)).
		refused(api.CodeInvalidRequest).pointer("/resolutions/0/remember_for_ms")
	require.Equal(t, "waiting_for_approval", a.get(t, "/v1/runs/"+run.run).at("status"), "the decision was refused with its rule")
}

// manyRules has more rules in force than an explanation shows.
type manyRules struct {
	runs.Store
	count int
}

func (m *manyRules) Within(reads.Scope) reads.Reader { return m }

func (m *manyRules) RulesFor(context.Context, string, int, *reads.Budget) ([]rules.Rule, int64, error) {
	standing := make([]rules.Rule, m.count)
	for i := range standing {
		standing[i] = rules.Rule{
			RuleID: fmt.Sprintf("rule-%06d", i), SessionID: rules.AllSessions, ToolName: "other", Effect: api.RuleAllow, Match: api.RuleMatch{AnyInput: true},
		}
	}
	standing[m.count-1].ToolName, standing[m.count-1].Effect = "bash", api.RuleDeny
	return standing, 1, nil
}

// TestAnExplanationLooksAtEveryRule shows that the newest of very many rules counts, and that an
// uncertain result is not reported.
func TestAnExplanationLooksAtEveryRule(t *testing.T) {
	t.Parallel()
	const call = `{"tool_name":"bash","input":{}}`
	a := serve(t, &manyRules{Store: openSQLite(t), count: 1_500}, newContract(t))
	explained := a.post(t, "/v1/rules/explain", call).want(http.StatusOK)
	require.Equal(t, "deny", explained.at("decision"))
	shown := explained.list("rules")
	require.Len(t, shown, 1_001)
	require.Equal(t, true, shown[1_000].(map[string]any)["applies"])
	a = serve(t, &manyRules{Store: openSQLite(t), count: 100_001}, newContract(t))
	a.post(t, "/v1/rules/explain", call).refused(wire.CodeServiceUnavailable)
}
