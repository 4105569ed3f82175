package storetest

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/door"
)

// RequireRuleLoads checks that an engine with an empty database loads exactly the rules that a
// batch needs, as they were written.
func RequireRuleLoads(t *testing.T, engine door.Engine) {
	t.Helper()
	made := map[string]*rules.Rule{}
	add := func(sessionID, ruleID, digest string) *rules.Rule {
		rule := &rules.Rule{
			RuleID: ruleID, SessionID: sessionID, ToolName: "bash", Effect: api.RuleAllow, Text: "a rule", CreatedBy: "ann", CreatedAtMs: 1,
			Match: api.RuleMatch{InputDigest: digest, AnyInput: digest == ""},
		}
		made[ruleID] = rule
		return rule
	}
	for _, sessionID := range []string{rules.AllSessions, "s-1", "s-2"} {
		add(sessionID, "any-"+sessionID, "")
		add(sessionID, "one-"+sessionID, "sha256:1")
		add(sessionID, "two-"+sessionID, "sha256:2")
		over := add(sessionID, "revoked-"+sessionID, "")
		over.RevokedAtMs, over.RevokedBy = 2, "bob"
	}
	full := add("s-1", "full", "sha256:1")
	full.AgentID, full.Reason, full.ExpiresAtMs, full.MaxUses, full.Uses = "coder", "as \x01ever 🙂", 9, 3, 1
	full.SourceRunID, full.SourceRequestID, full.PayloadDigest = "r", "q", "sha256:d"
	full.Match.Params, full.Match.PatternKeys, full.Match.ToolCallID = map[string]string{"b": "nul \x00", "a": "*"}, []string{"z", "a"}, "call"
	full.Match.Directory = "/srv/app"
	commitRules(t, engine, runs.Writes{Rows: runs.Rows{NewRules: slices.Collect(maps.Values(made))}})

	states := loadRules(t, engine, []door.Load{
		{SessionID: rules.AllSessions, Needs: []runs.Needs{{SessionRules: true}}},
		{SessionID: "nobody", Needs: []runs.Needs{{Rules: true, RuleDigests: []string{"sha256:2", "sha256:3"}}}},
		{SessionID: "s-1", Needs: []runs.Needs{
			{Rules: true, RuleDigests: []string{"sha256:1"}}, {RuleID: "none"}, {RuleID: "any-s-2"}, {RuleID: "revoked-s-1"},
		}},
		{SessionID: "s-2", Needs: []runs.Needs{{Rules: true}}},
		{SessionID: "s-3"},
	})
	require.Equal(t, map[string][]string{
		rules.AllSessions: {"any-*", "one-*", "two-*"},
		"nobody":          {"two-*"},
		"s-1":             {"any-s-2", "one-*", "one-s-1", "revoked-s-1"},
		"s-2":             nil,
		"s-3":             nil,
	}, states, "one with globs is not found by its digest")

	images := func() map[string]*rules.Rule {
		all := door.Load{SessionID: "s-1", Needs: []runs.Needs{{SessionRules: true}}}
		for ruleID := range made {
			all.Needs = append(all.Needs, runs.Needs{RuleID: ruleID})
		}
		batch, err := engine.Begin(t.Context(), []door.Load{all})
		require.NoError(t, err)
		defer batch.Rollback(t.Context())
		return batch.State("s-1").Rules
	}
	require.Empty(t, Diff(made, images()))

	used, revoked := *full, *made["one-*"]
	used.Uses = 2
	revoked.RevokedAtMs, revoked.RevokedBy = 5, "eve"
	made["full"], made["one-*"] = &used, &revoked
	commitRules(t, engine, runs.Writes{Rows: runs.Rows{UpdatedRules: []*rules.Rule{&used, &revoked}}})
	require.Empty(t, Diff(made, images()))
	require.Equal(t, map[string][]string{"s-2": {"one-s-2"}},
		loadRules(t, engine, []door.Load{{SessionID: "s-2", Needs: []runs.Needs{{Rules: true, RuleDigests: []string{"sha256:1"}}}}}))

	missing := *full
	missing.RuleID = "missing"
	batch, err := engine.Begin(t.Context(), nil)
	require.NoError(t, err)
	defer batch.Rollback(t.Context())
	require.Error(t, batch.Commit(t.Context(), runs.Writes{Rows: runs.Rows{UpdatedRules: []*rules.Rule{&missing}}}), "what is not there cannot change")
}

// RequireRuleVersions expects of an engine with an empty database that the version of rules
// grows with each change of a rule that is not exact, and with no other.
func RequireRuleVersions(t *testing.T, engine door.Engine) {
	t.Helper()
	versions := func(sessionID string) runs.RuleVersions {
		batch, err := engine.Begin(t.Context(), []door.Load{{SessionID: sessionID, Needs: []runs.Needs{{Rules: true}}}})
		require.NoError(t, err)
		defer batch.Rollback(t.Context())
		return batch.State(sessionID).RuleVersions
	}
	rule := func(sessionID, ruleID string, match api.RuleMatch) *rules.Rule {
		return &rules.Rule{
			RuleID: ruleID, SessionID: sessionID, ToolName: "bash", Effect: api.RuleAllow, Match: match, Text: "a rule", CreatedBy: "ann", CreatedAtMs: 1,
		}
	}
	require.Zero(t, versions("s-1"))
	exact := rule("s-1", "exact", api.RuleMatch{InputDigest: "sha256:1", PatternKeys: []string{"k"}})
	commitRules(t, engine, runs.Writes{Rows: runs.Rows{NewRules: []*rules.Rule{exact, rule(rules.AllSessions, "exact of all", api.RuleMatch{InputDigest: "sha256:1"})}}})
	require.Zero(t, versions("s-1"), "exact rules are read by the decision itself")

	any1 := rule("s-1", "any", api.RuleMatch{AnyInput: true})
	any1.MaxUses = 3
	commitRules(t, engine, runs.Writes{Rows: runs.Rows{NewRules: []*rules.Rule{
		any1, rule("s-2", "both", api.RuleMatch{InputDigest: "sha256:1", Params: map[string]string{"a": "*"}}),
	}}})
	first, other := versions("s-1"), versions("s-2")
	require.Positive(t, first.OfSession)
	require.Positive(t, other.OfSession, "globs are not matched by the decision")
	require.Zero(t, first.OfAll)

	grows := func(writes runs.Writes) {
		t.Helper()
		before := versions("s-1")
		commitRules(t, engine, writes)
		require.Greater(t, versions("s-1").OfSession, before.OfSession)
		require.Equal(t, other, versions("s-2"), "another session's rules are as they were")
	}
	grows(runs.Writes{Rows: runs.Rows{NewRules: []*rules.Rule{rule("s-1", "more", api.RuleMatch{PatternKeys: []string{"k"}})}}})
	used := *any1
	used.Uses = 1
	grows(runs.Writes{Rows: runs.Rows{UpdatedRules: []*rules.Rule{&used}}})
	revoked := used
	revoked.RevokedAtMs, revoked.RevokedBy = 5, "eve"
	grows(runs.Writes{Rows: runs.Rows{UpdatedRules: []*rules.Rule{&revoked}}})

	before := versions("s-1")
	gone := *exact
	gone.RevokedAtMs, gone.RevokedBy = 5, "eve"
	commitRules(t, engine, runs.Writes{Rows: runs.Rows{UpdatedRules: []*rules.Rule{&gone}}})
	require.Equal(t, before, versions("s-1"))
	commitRules(t, engine, runs.Writes{Rows: runs.Rows{NewRules: []*rules.Rule{rule(rules.AllSessions, "all", api.RuleMatch{AnyInput: true})}}})
	require.Equal(t, before.OfSession, versions("s-1").OfSession)
	require.Positive(t, versions("s-1").OfAll)
	require.Equal(t, versions("s-1").OfAll, versions("nobody").OfAll)
}

func commitRules(t *testing.T, engine door.Engine, writes runs.Writes) {
	t.Helper()
	batch, err := engine.Begin(t.Context(), nil)
	require.NoError(t, err)
	defer batch.Rollback(t.Context())
	require.NoError(t, batch.Commit(t.Context(), writes))
}

// loadRules names the rules that a batch has loaded for each session.
func loadRules(t *testing.T, engine door.Engine, loads []door.Load) map[string][]string {
	t.Helper()
	batch, err := engine.Begin(t.Context(), loads)
	require.NoError(t, err)
	defer batch.Rollback(t.Context())
	states := map[string][]string{}
	for i := range loads {
		state := batch.State(loads[i].SessionID)
		require.Nil(t, state.Session)
		states[loads[i].SessionID] = slices.Sorted(maps.Keys(state.Rules))
	}
	return states
}
