package relay_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestPermissions(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		t.Run("none: everything is asked for", func(t *testing.T) {
			s.chat(t).started().raisesOne("a", "ls")
			s.chat(t, `"permissions":{}`).started().raisesOne("a", "ls")
		})
		t.Run("allowlist", func(t *testing.T) {
			c := s.chat(t, `"permissions":{"allowlist":[{"tool":"read"},{"tool":"bash","params":{"command":"git *"}},{"tool":"edit","params":{}}]}`)
			w := c.started()
			open := w.raises(approvals(bash("a", "git status"), bash("b", "git status; rm -rf /"), bash("c", "ls"),
				`{"id":"d","tool_call_id":"call-d","tool_name":"read","input":7}`, `{"id":"e","tool_call_id":"call-e","tool_name":"edit","input":{"path":"x"}}`))
			// An allowed call raises no relay; one star does not match a slash.
			c.relays("b", open["b"], "git status; rm -rf /")
			c.relays("c", open["c"], "ls")
			require.Len(t, open, 2)
			for _, id := range []string{"a", "d", "e"} {
				recorded := w.settled(id)
				require.Equal(t, api.OutcomeAllowed, recorded.Outcome)
				require.Equal(t, "rule:"+recorded.Rule.RuleID, recorded.Via)
			}
			other := s.chat(t)
			other.started().raisesOne("a", "git status")
		})
		t.Run("names of tools, as the protocol's reference writes them", func(t *testing.T) {
			c := s.chat(t, `"permissions":{"allowlist":["read"],"allowOnce":["patch"],"deny":["bash"]}`)
			w := c.started()
			tool := func(id, name string) string {
				return `{"id":"` + id + `","tool_call_id":"call-` + id + `","tool_name":"` + name + `","input":{"x":1}}`
			}
			open := w.raises(approvals(tool("a", "read"), tool("b", "patch"), tool("c", "patch"), tool("d", "bash"), tool("e", "edit")))
			require.Len(t, open, 2, "the second patch, and what is not named")
			require.Contains(t, open, "c")
			require.Contains(t, open, "e")
			for id, want := range map[string]api.Outcome{"a": api.OutcomeAllowed, "b": api.OutcomeAllowed, "d": api.OutcomeDenied} {
				require.Equal(t, want, w.settled(id).Outcome, id)
			}
		})
		t.Run("names of tools with a star, as the gateway's own page of its API writes them", func(t *testing.T) {
			w := s.chat(t, `"permissions":{"allowlist":["bash:*"],"deny":["edit:*"]}`).started()
			open := w.raises(approvals(bash("a", "ls"), `{"id":"b","tool_call_id":"call-b","tool_name":"edit","input":{"x":1}}`,
				`{"id":"c","tool_call_id":"call-c","tool_name":"bas","input":{"x":1}}`))
			require.Len(t, open, 1)
			require.Contains(t, open, "c")
			require.Equal(t, api.OutcomeAllowed, w.settled("a").Outcome)
			require.Equal(t, api.OutcomeDenied, w.settled("b").Outcome)
			s.do(t, http.MethodPost, "/chat", `{"model":"m","messages":["x"],"permissions":{"allowlist":[":*"]}}`).Want(http.StatusBadRequest)
		})
		t.Run("hints", func(t *testing.T) {
			c := s.chat(t)
			open := c.started().raises(approvals(bash("a", "ls", `"hints":[{"level":"danger","text":"production"}]`)))
			c.tells("relay", relayMembers("a", open["a"], "ls")+`,"hints":[{"level":"danger","text":"production"}]`)
		})
		t.Run("all at once allowed", func(t *testing.T) {
			c := s.chat(t, `"permissions":{"allowlist":[{"tool":"bash"}]}`)
			w := c.started()
			require.Empty(t, w.raises(approvals(bash("a", "ls"), bash("b", "ls"))))
			w.completes()
			c.tells("harness_end", "")
			c.Ends()
		})
		t.Run("allowOnce is used up, one entry a call", func(t *testing.T) {
			once := `{"tool":"bash","params":{"command":"ls"}}`
			c := s.chat(t, `"permissions":{"allowOnce":[`+once+`,`+once+`]}`)
			w := c.started()
			require.Empty(t, w.raises(approvals(bash("a", "ls"))))
			open := w.raises(approvals(bash("b", "ls"), bash("c", "ls")))
			require.Len(t, open, 1, "the second entry allows one of the two")
			c.relays("c", open["c"], "ls")
			w.raisesOne("d", "ls")
		})
		t.Run("deny goes first", func(t *testing.T) {
			c := s.chat(t, `"permissions":{"allowlist":[{"tool":"bash"}],"allowOnce":[{"tool":"bash"}],"deny":[{"toolCallId":"call-a","reason":"as before"},{"toolCallId":"call-b"}]}`)
			w := c.started()
			require.Empty(t, w.raises(approvals(bash("a", "ls"), bash("b", "ls"), bash("c", "ls"))))
			c.denies("a", "as before")
			c.denies("b", "")
			require.Equal(t, api.OutcomeDenied, w.settled("a").Outcome)
			require.Equal(t, "as before", w.settled("a").Reason)
			require.Equal(t, api.OutcomeAllowed, w.settled("c").Outcome)
		})
		t.Run("deny by parameters, as the gateway's own guide writes it", func(t *testing.T) {
			c := s.chat(t, `"permissions":{"allowlist":[{"tool":"bash"}],"deny":[{"tool":"bash","params":{"command":"rm **"},"reason":"never"},{"tool":"edit"}]}`)
			w := c.started()
			open := w.raises(approvals(bash("a", "rm -rf ./temp"), bash("b", "ls"),
				`{"id":"c","tool_call_id":"call-c","tool_name":"edit","input":{"x":1}}`, `{"id":"d","tool_call_id":"call-d","tool_name":"read","input":{"x":1}}`))
			require.Len(t, open, 1)
			require.Contains(t, open, "d")
			require.Equal(t, "never", w.settled("a").Reason)
			for id, want := range map[string]api.Outcome{"a": api.OutcomeDenied, "b": api.OutcomeAllowed, "c": api.OutcomeDenied} {
				require.Equal(t, want, w.settled(id).Outcome, id)
			}
		})
	})
}

func TestPermissionsThatDoNotFit(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		const shape = "permissions: must be {allowlist: [{tool, params?}], allowOnce: [{tool, params?}], " +
			"deny: [{toolCallId, reason?} or {tool, params?, reason?}]}"
		const pattern = "must be the name of a tool; patterns are for params"
		many := strings.TrimSuffix(strings.Repeat(`{"tool":"bash"},`, 51), ",")
		for given, want := range map[string]string{
			`7`: shape, `[]`: shape, `"x"`: shape, `{"allowlist":{}}`: shape, `{"allowlist":[7]}`: shape, `{"deny":[["bash"]]}`: shape, `{"allowlist":[{"tool":7}]}`: shape,
			`{"deny":[{"toolCallId":"x","reason":7}]}`: shape, `{"allowOnce":[{"tool":"bash","params":{"command":7}}]}`: shape, `{"allowOnce":[{"tool":"bash","params":[]}]}`: shape,
			`{"allowlist":[{"tool":"bash","parameters":{"command":"ls"}}]}`: shape, `{"deny":[{"toolCallId":"x","tool":"bash"}]}`: shape, `{"denylist":["bash"]}`: shape, `{"allowList":["bash"]}`: shape,
			`{"allowlist":[""]}`: "permissions.allowlist[0].tool: must be the name of a tool", `{"deny":[""]}`: "permissions.deny[0].tool: must be the name of a tool",
			`{"allowlist":[{}]}`: "permissions.allowlist[0].tool: must be the name of a tool", `{"allowOnce":[{"tool":"bash"},{"tool":""}]}`: "permissions.allowOnce[1].tool: must be the name of a tool",
			`{"allowlist":[{"tool":"bash","params":{"command":null}}]}`: "permissions.allowlist[0].params: must hold texts", `{"deny":[{"reason":"x"}]}`: "permissions.deny[0].toolCallId: must be the id of a tool call",
			`{"deny":[{"toolCallId":"x","params":{}}]}`: shape, `{"deny":[{"params":{"command":"rm **"}}]}`: shape, `{"deny":[{"tool":"bash","parameters":{}}]}`: shape,
			`{"deny":[{"tool":"bash","params":{"command":null}}]}`: "permissions.deny[0].params: must hold texts",
			// No tool has such a name, and a denial of it would deny nothing.
			`{"allowlist":["bash"],"deny":["bash:rm *"]}`: "permissions.deny[0].tool: " + pattern, `{"deny":["Bash(rm:*)"]}`: "permissions.deny[0].tool: " + pattern,
			`{"deny":[{"tool":"mcp_*"}]}`: "permissions.deny[0].tool: " + pattern, `{"allowOnce":[{"tool":"*"}]}`: "permissions.allowOnce[0].tool: " + pattern,
			`{"allowlist":[` + many + `],"allowOnce":[` + many + `]}`: "permissions: must have at most 100 entries",
		} {
			s.post(t, "/chat", `{`+hello+`,"permissions":`+given+`}`).refused(http.StatusBadRequest, want)
		}
		long := s.post(t, "/chat", `{`+hello+`,"permissions":{"allowlist":[{"tool":"`+strings.Repeat("x", 300)+`"}]}}`)
		require.Equal(t, http.StatusBadRequest, long.Status)
		require.Contains(t, long.Text, `{"error":"permissions.allowlist[0]: `)
		var sessions []any
		s.get(t, "/v1/sessions").Into(&sessions)
		require.Empty(t, sessions)
	})
}

// nearlyFull is a store without room for a rule that denies, after one that allows.
type nearlyFull struct{ runs.Store }

func (r nearlyFull) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if call, ok := command.(*runs.Call); ok {
		if rule, adds := call.Command.(*runs.AddRule); adds && rule.Effect == api.RuleDeny {
			return runs.Reply{}, refusal.New(api.CodeTooManyRules, "the session would have too many rules in force")
		}
	}
	return r.Store.Do(ctx, command)
}

// A refused chat leaves no session that goes on, and no rule in force.
func TestRefusedChats(t *testing.T) {
	t.Parallel()
	const body = `{` + hello + `,"permissions":{"allowlist":[{"tool":"bash"}],"deny":["rm"]}}`
	t.Run("without the right to write rules", func(t *testing.T) {
		t.Parallel()
		store := dialecttest.SQLite(t)
		keyring := auth.NewKeyring(auth.Options{
			Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() },
		})
		s := serve(t, store, relay.Options{}, func(o *httpapi.Options) { o.Keyring = keyring })
		token := func(role api.Role) dialecttest.Option {
			made, _, err := keyring.Create(t.Context(), &api.CreateTokenBody{Name: "the-" + string(role), Role: role}, "user:test", "")
			require.NoError(t, err)
			return dialecttest.Header("Authorization", "Bearer "+made.Secret)
		}
		agent, admin := token(api.RoleAgent), token(api.RoleAdmin)
		s.Post(t, "/chat", body, agent).Want(http.StatusForbidden)
		require.Zero(t, s.Get(t, "/v1/sessions", admin).Count(), "nothing is made")
		require.Equal(t, "connected", s.Follow(t, http.MethodPost, "/chat", `{`+hello+`}`, agent).Frame().Event, "rules are what it may not write")
	})
	for name, c := range map[string]struct {
		status int
		store  func(runs.Store) runs.Store
		change func(*httpapi.Options)
	}{
		"a run beyond the limit": {http.StatusTooManyRequests, func(store runs.Store) runs.Store { return store }, func(o *httpapi.Options) {
			o.Limits.Quota.Queued, o.Backlogs = 1, o.Store.(wire.BacklogReader)
		}},
		"a rule beyond the limit": {http.StatusConflict, func(store runs.Store) runs.Store { return nearlyFull{store} }, func(*httpapi.Options) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.store(dialecttest.SQLite(t)), relay.Options{}, c.change)
			first := s.chat(t)
			for range 2 {
				refused := s.post(t, "/chat", body)
				require.Equal(t, c.status, refused.Status, refused.Text)
			}
			var sessions []api.SessionSummaryView
			s.get(t, "/v1/sessions").Into(&sessions)
			require.Len(t, sessions, 3)
			for _, session := range sessions {
				require.Equal(t, session.SessionID != first.session, session.Status == api.SessionEnded, "what existed goes on")
				var rules []api.RuleView
				s.get(t, "/v1/rules?session_id="+session.SessionID).Into(&rules)
				require.Equal(t, session.SessionID != first.session, len(rules) > 0)
				for _, rule := range rules {
					require.NotZero(t, rule.RevokedAtMs)
				}
			}
		})
	}
}

func TestAlwaysIsExact(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		c := s.chat(t)
		w := c.started()
		open := w.raises(approvals(bash("a", "git push origin", `"pattern_keys":["git"]`), bash("b", "git push origin")))
		c.relays("a", open["a"], "git push origin")
		c.relays("b", open["b"], "git push origin")
		s.answer(t, c.session, open["a"], `{"approved":true,"always":true}`).accepted()
		recorded := c.settles("relay_resolved", open["a"])
		require.NotNil(t, recorded.Rule, "the rule and its text are shown with the decision")
		require.Contains(t, recorded.Rule.Text, `Allow the tool bash with exactly this input: {"command":"git push origin"}, in session `+c.session)
		require.Equal(t, strings.Split(c.always, ", until ")[0], strings.Split(recorded.Rule.Text, ", until ")[0], "it was shown before")
		require.Equal(t, recorded.Rule, w.settled("a").Rule)

		var rules []api.RuleView
		s.get(t, "/v1/rules?session_id="+c.session).Into(&rules)
		require.Len(t, rules, 1)
		digest, err := document.Digest(api.JSON(`{"command":"git push origin"}`))
		require.NoError(t, err)
		require.Equal(t, "bash", rules[0].ToolName)
		require.Equal(t, api.RuleMatch{InputDigest: digest}, rules[0].Match, "even if the request offers pattern keys")
		require.Equal(t, recorded.Rule.Text, rules[0].Text)
		require.Zero(t, rules[0].ExpiresAtMs, "it ends with the session")

		require.Contains(t, c.open(), "b", "the pending request stays pending")
		require.Len(t, w.raises(approvals(`{"id":"c","tool_call_id":"x","tool_name":"bash","input":{ "command" : "git push origin" }}`)), 1, "the very same call is allowed")
		require.Equal(t, "rule:"+recorded.Rule.RuleID, w.settled("c").Via)
		w.raisesOne("d", "git push")
		w.raisesOne("e", "git push origin ")
		s.chat(t).started().raisesOne("a", "git push origin")
	})
}

// An answer whose rule has no room decides nothing.
func TestAlwaysAtTheLimitOfRules(t *testing.T) {
	t.Parallel()
	s := serve(t, dialecttest.SQLite(t), relay.Options{})
	c := s.chat(t)
	handle := c.started().raisesOne("a", "git push origin")
	var rules errgroup.Group // at once: each transaction counts the rules so far, and has many of them
	for i := range api.MaxExactRulesOfSession {
		rules.Go(func() error {
			digest, err := document.Digest(api.JSON(strconv.Itoa(i)))
			if err != nil {
				return err
			}
			_, err = s.Store.Do(t.Context(), &runs.AddRule{SessionID: c.session, ToolName: "bash", Match: api.RuleMatch{InputDigest: digest}})
			return err
		})
	}
	require.NoError(t, rules.Wait())
	refused := s.answer(t, c.session, handle, `{"approved":true,"always":true}`)
	require.Equal(t, http.StatusConflict, refused.Status, refused.Text)
	require.NotEmpty(t, refused.TextAt("error"))
	require.Equal(t, handle, c.open()["a"], "it stays open")
	s.answer(t, c.session, handle, `{"approved":true}`).accepted()
}

func TestAlwaysByPrefix(t *testing.T) {
	onEngines(t, relay.Options{AlwaysPrefix: true}, func(t *testing.T, s *service) {
		c := s.chat(t)
		w := c.started()
		handle := w.raisesOne("a", "git push origin")
		require.Contains(t, c.always, "git **", "shown before it is said")
		s.answer(t, c.session, handle, `{"approved":true,"always":true}`).accepted()
		recorded := c.settles("relay_resolved", handle)
		require.Contains(t, recorded.Rule.Text, "git **", "its text says how broad it is")
		require.Empty(t, w.raises(approvals(bash("b", "git log --all -- a/b/c"))))
		require.Contains(t, recorded.Rule.Text, "may be missing")
		require.Empty(t, w.raises(approvals(bash("d", "git"))), "as its text says")
		w.raisesOne("c", "gitk --all")

		// Of a remover nothing is derived.
		handle = w.raisesOne("e", "rm -rf ./temp")
		s.answer(t, c.session, handle, `{"approved":true,"always":true}`).accepted()
		require.NotContains(t, c.settles("relay_resolved", handle).Rule.Text, "**")
		require.Len(t, w.raises(approvals(bash("f", "rm -rf ./temp"))), 1)
		w.raisesOne("g", "rm -rf /")
	})
}

// A maximum below the default applies, because this contract has no expiry.
func TestRulesUnderACap(t *testing.T) {
	t.Parallel()
	s := serve(t, dialecttest.SQLite(t), relay.Options{}, func(o *httpapi.Options) { o.MaxRuleAge = time.Hour })
	c := s.chat(t, `"permissions":{"allowlist":[{"tool":"read"}]}`)
	handle := c.started().raisesOne("a", "ls")
	s.answer(t, c.session, handle, `{"approved":true,"always":true}`).accepted()
	var rules []api.RuleView
	s.get(t, "/v1/rules?session_id="+c.session).Into(&rules)
	require.Len(t, rules, 2)
	for _, rule := range rules {
		require.Equal(t, int64(time.Hour/time.Millisecond), rule.ExpiresAtMs-rule.CreatedAtMs, fmt.Sprint(rule))
	}
}
