package runs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// remembering decides one approval and remembers it.
func remembering(command *runs.ResolveApprovals, scope api.Remember) *runs.ResolveApprovals {
	command.Resolutions[0].Remember = scope
	command.Actor = runs.Actor{Name: "ann", Via: "hermes"}
	return command
}

// The rule is written with the decision and returned with it.
func TestRemember(t *testing.T) {
	h := parallelHouse(t).wait("r", running("a", "rm -rf ./temp"))
	reply := h.must(remembering(allow("r", "a"), api.RememberSession))
	written := h.rulesOf("s")
	require.Len(t, written, 1)
	rule := written[0]
	require.Equal(t, rules.Rule{
		RuleID: rule.RuleID, SessionID: "s", ToolName: "bash", Effect: api.RuleAllow,
		Match:     exactly(`{"command":"rm -rf ./temp"}`),
		Text:      `Allow the tool bash with exactly this input: {"command":"rm -rf ./temp"}, in session s, until the session ends.`,
		CreatedBy: "ann", CreatedAtMs: startMs,
		SourceRunID: "r", SourceRequestID: "a",
	}, *rule)
	recorded := h.request("r", "a").Recorded()
	require.Equal(t, &api.AppliedRule{RuleID: rule.RuleID, Text: rule.Text}, recorded.Rule)
	require.Equal(t, "hermes", recorded.Via, "a person made the decision, not the rule")
	require.Empty(t, h.request("r", "a").RuleID)
	recorded.Grant = &api.Grant{JTI: h.request("r", "a").Handle}
	require.Equal(t, recorded, reply.Run.View().Resume.Approvals[0].Resolution)

	fence := h.claim("r")
	h.must(suspend("r", fence, running("same", "rm -rf ./temp")))
	require.Equal(t, api.ViaRule+rule.RuleID, h.request("r", "same").Recorded().Via)
	h.must(suspend("r", fence, running("other", "rm -rf ./temp2")))
	require.True(t, h.request("r", "other").Open())
	// Requests that are already open wait for their own decisions.
	h.must(allow("r", "other"))
	h.must(hold("r", h.claim("r"), running("one", "make"), running("two", "make")))
	h.must(remembering(allow("r", "one"), api.RememberSession))
	require.True(t, h.request("r", "two").Open())
}

// A remembered compound command matches only the exact call.
func TestRememberedCompoundCommand(t *testing.T) {
	h := parallelHouse(t).wait("r", running("a", "rm temp.txt && ls"))
	h.must(remembering(allow("r", "a"), api.RememberAlways))
	fence := h.claim("r")
	h.must(suspend("r", fence, running("b", "rm temp.txt"), running("c", "rm -rf /"), running("d", "ls"), running("e", "rm temp.txt && ls ")))
	require.Equal(t, []string{"b", "c", "d", "e"}, h.record("r").View().PendingApprovalIDs)

	// Even with pattern keys: the agent chooses them, and may put them on any call.
	h.must(allow("r", "b", "c", "d", "e"))
	compound := running("f", "rm temp.txt && ls -l")
	compound.PatternKeys = []string{"rm", "ls"}
	h.must(suspend("r", h.claim("r"), compound))
	h.must(remembering(allow("r", "f"), api.RememberAlways))
	others := []any{running("g", "rm x && ls && dd"), running("h", "rm y; ls"), running("i", "rm temp.txt && ls -l"), running("j", "rm temp.txt && ls -l")}
	for i, keys := range [][]string{{"rm", "ls"}, {"ls"}, {"rm", "ls"}, {"other"}} {
		request := others[i].(api.ApprovalRequest)
		request.PatternKeys = keys
		others[i] = request
	}
	h.must(suspend("r", h.claim("r"), others...))
	require.Equal(t, []string{"g", "h"}, h.record("r").View().PendingApprovalIDs)
}

// A rule that an earlier version remembered for pattern keys no longer allows anything. A rule that a
// person wrote for pattern keys still does, and a deny by pattern keys still denies.
func TestWhatWasRememberedForLabelsAllowsNothing(t *testing.T) {
	t.Parallel()
	for effect, want := range map[api.RuleEffect]map[string]api.RuleEffect{
		api.RuleAllow: {"": api.RuleAllow, "a": api.RuleAsk}, api.RuleDeny: {"": api.RuleDeny, "a": api.RuleDeny},
	} {
		for source, decision := range want {
			rule := rules.Rule{RuleID: "l", SessionID: rules.AllSessions, Effect: effect, SourceRequestID: source, Match: keys("k")}
			call := rules.Call{ToolName: "bash", Input: api.JSON(`1`), PatternKeys: []string{"k"}}
			require.Equal(t, decision, rules.Explain([]rules.Rule{rule}, call, 0).Decision, "%s, from %q", effect, source)
			call.Budget = rules.NewBudget(1)
			found := rules.MatchSets(&call, rules.NewSet([]*rules.Rule{&rule}, true)).Judge(func(rule *rules.Rule) *rules.Rule { return rule })
			require.Equal(t, decision, found.Effect, "%s, from %q", effect, source)
		}
	}
}

func TestRememberAlways(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	command := remembering(deny("r", "a"), api.RememberAlways)
	command.Resolutions[0].Reason, command.Resolutions[0].RememberForMs = "not here", ms(0)
	require.NoError(t, runs.Prepare(command, h.newID))
	require.True(t, command.Needs().ChangesRules, "it waits for what is decided from rules just now")
	h.must(command)
	written := h.rulesOf(rules.AllSessions)
	require.Len(t, written, 1)
	require.Equal(t, api.RuleDeny, written[0].Effect)
	require.Zero(t, written[0].ExpiresAtMs)
	there := createWaiting(false, false, approval("x"))
	there.SessionID, there.RunID = "u", "there"
	h.must(there)
	recorded := h.request("there", "x").Recorded()
	require.Equal(t, api.OutcomeDenied, recorded.Outcome)
	require.Equal(t, "not here", recorded.Reason, "the worker is told the same")

	mild := remembering(allow("r", "a"), api.RememberAlways)
	require.NoError(t, runs.Prepare(mild, h.newID))
	require.False(t, mild.Needs().ChangesRules, "a rule that allows holds up nobody")
}

// A session's rule ends with its session and applies nowhere else.
func TestRememberSessionStaysThere(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	h.must(remembering(allow("r", "a"), api.RememberSession))
	there := createWaiting(false, false, approval("x"))
	there.SessionID, there.RunID = "u", "there"
	require.Equal(t, api.StatusWaitingForApproval, h.must(there).Run.Run.Status)
	h.nowMs++
	h.must(&runs.EndSession{SessionID: "s", Actor: runs.Actor{Name: "ben"}})
	rule := h.rulesOf("s")[0]
	require.Equal(t, h.nowMs, rule.RevokedAtMs)
	require.Equal(t, "ben", rule.RevokedBy)
}

func TestRememberTwoInOneBatch(t *testing.T) {
	h := parallelHouse(t).wait("r", running("a", "make"), running("b", "ls"), running("c", "ps"))
	command := allow("r", "a", "b", "c")
	command.Resolutions[0].Remember, command.Resolutions[2].Remember = api.RememberSession, api.RememberAlways
	command.Resolutions[2].Behavior = api.BehaviorDeny
	command.Key = "k"
	h.must(command)
	require.Len(t, h.rules, 2)
	require.Nil(t, h.request("r", "b").Recorded().Rule)

	// A repeated call writes no second rule; a call that remembers differently conflicts.
	again := allow("r", "a", "b", "c")
	again.Resolutions[0].Remember, again.Resolutions[2].Remember = api.RememberSession, api.RememberAlways
	again.Resolutions[2].Behavior = api.BehaviorDeny
	again.Key = "k"
	require.True(t, h.must(again).Replayed)
	require.Len(t, h.rules, 2)
	for _, change := range []func(*runs.ApprovalDecision){
		func(r *runs.ApprovalDecision) { r.Remember = "" },
		func(r *runs.ApprovalDecision) { r.Remember = api.RememberAlways },
		func(r *runs.ApprovalDecision) { r.RememberForMs = ms(5) },
		func(r *runs.ApprovalDecision) { r.RememberMatch = &api.RuleMatch{AnyInput: true} },
	} {
		other := allow("r", "a", "b", "c")
		other.Resolutions[0].Remember, other.Resolutions[2].Remember = api.RememberSession, api.RememberAlways
		other.Resolutions[2].Behavior = api.BehaviorDeny
		other.Key = "k"
		change(&other.Resolutions[0])
		h.refused(api.CodeIdempotencyConflict, other)
	}
}

// A refused batch writes no rule.
func TestRememberIsAllOrNothing(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	command := remembering(allow("r", "a", "nobody"), api.RememberAlways)
	h.refused(api.CodeApprovalNotPending, command)
	require.Empty(t, h.rules)
}

func TestRememberMatch(t *testing.T) {
	h := parallelHouse(t).wait("r", running("a", "npm test"))
	command := remembering(allow("r", "a"), api.RememberSession)
	command.Resolutions[0].RememberMatch = &api.RuleMatch{Params: map[string]string{"command": "npm **"}}
	h.must(command)
	require.Equal(t, `Allow the tool bash when command matches "npm **" (** is any text with or without slashes, " **" at the end may be missing, no wildcard covers shell operators), in session s, until the session ends.`, h.rulesOf("s")[0].Text)
	fence := h.claim("r")
	require.Equal(t, api.StatusRunning, h.must(suspend("r", fence, running("b", "npm run build"))).Run.Run.Status)
	elsewhere := running("c", "npm test")
	elsewhere.ToolName = "other"
	require.Equal(t, api.StatusWaitingForApproval, h.must(suspend("r", fence, elsewhere)).Run.Run.Status)

	exact := remembering(allow("r", "c"), api.RememberSession)
	exact.Resolutions[0].RememberMatch = &api.RuleMatch{InputDigest: digestOf(`{"command":"npm test"}`), ToolCallID: "call-c"}
	h.must(exact)
	require.Contains(t, h.request("r", "c").Recorded().Rule.Text,
		`Allow the tool other with exactly this input: {"command":"npm test"} and for the one call "call-c", in session s`)
}

func TestRememberFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		change  func(*runs.ApprovalDecision)
		maxAge  int64
		pointer string
	}{
		{"another scope", func(r *runs.ApprovalDecision) { r.Remember = "forever" }, 0, "remember"},
		{"how long but not what", func(r *runs.ApprovalDecision) { r.Remember, r.RememberForMs = "", ms(1) }, 0, "remember_for_ms"},
		{"less than no time", func(r *runs.ApprovalDecision) { r.RememberForMs = ms(-1) }, 0, "remember_for_ms"},
		{"past the cap", func(r *runs.ApprovalDecision) { r.RememberForMs = ms(1_001) }, 1_000, "remember_for_ms"},
		{"forever past the cap", func(r *runs.ApprovalDecision) { r.RememberForMs = ms(0) }, 1_000, "remember_for_ms"},
		{"past all bounds", func(r *runs.ApprovalDecision) { r.RememberForMs = ms(api.MaxExpiresAfterMs + 1) }, 0, "remember_for_ms"},
		{"another input", func(r *runs.ApprovalDecision) { r.UpdatedInput = api.JSON(`{"command":"ls -l"}`) }, 0, "remember"},
		{"nothing to match", func(r *runs.ApprovalDecision) { r.RememberMatch = &api.RuleMatch{} }, 0, "remember"},
		{"a call everywhere", func(r *runs.ApprovalDecision) {
			r.Remember, r.RememberMatch = api.RememberAlways, &api.RuleMatch{ToolCallID: "c"}
		}, 0, "remember/tool_call_id"},
	} {
		inHouse(t, test.name, func(t *testing.T, h *house) {
			h.wait("r", approval("a"), approval("b"))
			command := remembering(allow("r", "b", "a"), "")
			command.MaxRuleAgeMs = test.maxAge
			command.Resolutions[1].Remember = api.RememberSession
			test.change(&command.Resolutions[1])
			require.Equal(t, []string{"/resolutions/1/" + test.pointer}, pointersOf(h.refused(api.CodeInvalidRequest, command)))
			require.Empty(t, h.rules)

			_, err := runs.PreviewRule(approval("a"), "s", command.Resolutions[1], test.maxAge, h.nowMs)
			refusal := requireCode(t, api.CodeInvalidRequest, err)
			require.True(t, strings.HasPrefix(refusal.Faults[0].Pointer, "/remember"))
		})
	}
}

// The cap shortens a default age, and a deny ignores another input.
func TestRememberDefaults(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), approval("b"), approval("c"))
	short := remembering(allow("r", "a"), api.RememberSession)
	short.MaxRuleAgeMs = 1_000
	preview, err := runs.PreviewRule(approval("a"), "s", short.Resolutions[0], short.MaxRuleAgeMs, h.nowMs)
	require.NoError(t, err)
	h.must(short)
	require.Equal(t, int64(startMs+1_000), h.rulesOf("s")[0].ExpiresAtMs)
	require.Equal(t, preview.Text, h.rulesOf("s")[0].Text, "what is shown before is what is written")
	require.Equal(t, preview.ExpiresAtMs, h.rulesOf("s")[0].ExpiresAtMs)

	long := remembering(allow("r", "b"), api.RememberSession)
	long.MaxRuleAgeMs, long.Resolutions[0].RememberForMs = 1_000, ms(1_000)
	h.must(long)
	edited := remembering(deny("r", "c"), api.RememberSession)
	edited.Resolutions[0].UpdatedInput = api.JSON(`{"command":"make"}`)
	h.must(edited)
	require.Equal(t, exactly(`{"command":"ls"}`), h.rules[h.request("r", "c").Recorded().Rule.RuleID].Match, "the input that was asked for")
}

// An allow holds where the call would run: elsewhere the same command is another script. A deny holds everywhere.
func TestRememberedInADirectory(t *testing.T) {
	t.Parallel()
	in := func(directory, id, command string) api.ApprovalRequest {
		request := running(id, command)
		request.Directory = directory
		return request
	}
	for _, as := range []api.RememberAs{api.RememberExact, api.RememberCommand, api.RememberPrefix} {
		for _, scope := range []api.Remember{api.RememberSession, api.RememberAlways} {
			h := newHouse(t).wait("r", in("/srv/app", "a", "npm test"))
			command := remembering(allow("r", "a"), scope)
			command.Resolutions[0].RememberAs = as
			h.must(command)
			h.must(suspend("r", h.claim("r"), in("/srv/app", "same", "npm test"), in("/srv/other", "other", "npm test"), running("unknown", "npm test")))
			require.Equal(t, []string{"other", "unknown"}, h.record("r").View().PendingApprovalIDs, "%s %s", as, scope)
			require.Contains(t, h.request("r", "same").Recorded().Rule.Text, `, in the directory "/srv/app", in `)
		}
	}
	h := newHouse(t).wait("r", in("/srv/app", "a", "npm test"))
	command := remembering(allow("r", "a"), api.RememberSession)
	command.Resolutions[0].RememberAs = api.RememberTool
	h.must(command)
	h.must(suspend("r", h.claim("r"), in("/srv/other", "b", "npm test")))
	require.False(t, h.request("r", "b").Open(), "every call of the tool is allowed, in any directory")

	h = newHouse(t).wait("r", in("/srv/app", "a", "npm test"))
	h.must(remembering(deny("r", "a"), api.RememberAlways))
	h.must(suspend("r", h.claim("r"), in("/srv/other", "b", "npm test")))
	require.Equal(t, api.OutcomeDenied, h.request("r", "b").Recorded().Outcome)
}
