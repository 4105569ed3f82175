package storetest

import (
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// scopes are bounds of a caller. Ids that are next to a prefix in the order of bytes are outside
// of it.
var scopes = []runs.Scope{
	{SessionPrefixes: []string{"a:"}},
	{SessionPrefixes: []string{"a"}},
	{SessionPrefixes: []string{"a:1", "b:", "zz"}},
	{AgentIDs: []string{"x"}},
	{AgentIDs: []string{"x", "nobody", "y"}},
	{AgentIDs: []string{"nobody"}},
	{SessionPrefixes: []string{"a:", "b:"}, AgentIDs: []string{"y"}},
	{SessionPrefixes: []string{"nowhere"}},
	{OwnedBy: "agent:one"},
	{OwnedBy: "user:two"},
	{OwnedBy: "agent:on"},
}

// inScope is an independent implementation of [runs.Scope].
func inScope(scope *runs.Scope, sessionID, agentID string, owners ...string) bool {
	within := len(scope.SessionPrefixes) == 0
	for _, prefix := range scope.SessionPrefixes {
		within = within || strings.Index(sessionID, prefix) == 0
	}
	owned := scope.OwnedBy == ""
	for _, owner := range owners {
		owned = owned || owner == scope.OwnedBy
	}
	return within && owned && (len(scope.AgentIDs) == 0 || slices.Contains(scope.AgentIDs, agentID))
}

// requireScoped compares a list with a scope to the filtered list without one, and to its count.
func requireScoped[R any](h *harness, name string, read func(runs.Scope) ([]R, error), count func(runs.Scope) (int64, error), within func(*runs.Scope, *R) bool) {
	h.Helper()
	all, err := read(runs.Scope{})
	require.NoError(h, err, name)
	require.NotEmpty(h, all, name)
	for i := range scopes {
		scope := scopes[i]
		want := slices.DeleteFunc(slices.Clone(all), func(row R) bool { return !within(&scope, &row) })
		got, err := read(scope)
		require.NoError(h, err, "%s %+v", name, scope)
		require.Len(h, got, len(want), "%s %+v", name, scope)
		for i := range want {
			require.Equal(h, want[i], got[i], "%s %+v", name, scope)
		}
		if count != nil {
			counted, err := count(scope)
			require.NoError(h, err, name)
			require.EqualValues(h, len(want), counted, "%s %+v", name, scope)
		}
	}
}

var scopeTests = map[string]func(*harness){
	"scopes/every list has what its caller reaches": func(h *harness) {
		agentOf, makerOf, owners := map[string]string{}, map[string]string{}, map[string]runs.Owners{}
		create := func(c runs.CreateRun, maker string) {
			c.Principal, owners[c.RunID] = maker, runs.Owners{Principal: maker}
			h.do(&c)
		}
		claim := func(runID, holder string) int64 {
			owners[runID] = runs.Owners{Principal: owners[runID].Principal, HolderPrincipal: holder}
			return fenceOf(h, h.do(&runs.ClaimRun{RunID: runID, WorkerID: "worker", Principal: holder}))
		}
		of := func(runID string) (string, string) { return owners[runID].Principal, owners[runID].HolderPrincipal }
		for n, sessionID := range []string{"a", "a:1", "a:2", "a.", "a_", "b:1", "b", "c:1", "A:1", "zz"} {
			agentOf[sessionID] = []string{"x", "y", "z"}[n%3]
			maker, holder := []string{"agent:one", "user:two", "", "agent:one"}[n%4], []string{"user:two", "agent:one", "agent:one", "", ""}[n%5]
			makerOf[sessionID] = maker
			h.do(&runs.CreateSession{SessionID: sessionID, AgentID: agentOf[sessionID], Principal: maker})
			// One run is of another agent than its session.
			for i, suspension := range []api.Suspension{approvals("p"), questions("q")} {
				agentID := []string{"", "y"}[i]
				runID := numbered("r-"+sessionID, i)
				create(runs.CreateRun{SessionID: sessionID, SessionGiven: true, RunID: runID, AgentID: agentID, Input: api.JSON(`1`)}, maker)
				h.do(&runs.Suspend{RunID: runID, Fence: claim(runID, holder), Suspension: suspension})
				if i == 0 {
					h.do(&runs.ResolveApprovals{RunID: runID, Resolutions: allow("p"), Actor: person})
					h.do(&runs.Complete{RunID: runID, Fence: claim(runID, holder)})
				}
			}
			h.do(&runs.AddRule{RuleID: "rule-" + sessionID, SessionID: sessionID, Match: api.RuleMatch{PatternKeys: []string{"k"}}})
			create(runs.CreateRun{SessionID: "claimable-" + sessionID, RunID: "c-" + sessionID, AgentID: agentOf[sessionID], Input: api.JSON(`1`), SessionGiven: true}, maker)
			create(runs.CreateRun{SessionID: sessionID + "-held", RunID: "h-" + sessionID, AgentID: agentOf[sessionID], Input: api.JSON(`1`), SessionGiven: true}, maker)
			claim("h-"+sessionID, holder)
			makerOf["claimable-"+sessionID], makerOf[sessionID+"-held"] = maker, maker
		}
		h.do(&runs.AddRule{RuleID: "of-all", Match: api.RuleMatch{PatternKeys: []string{"k"}}})

		run := func(scope *runs.Scope, row *model.RunRecord) bool {
			made, holds := of(row.Run.RunID)
			return inScope(scope, row.Run.SessionID, row.Run.AgentID, made, holds)
		}
		for _, q := range []runs.RunQuery{
			{},
			{SessionID: "a:1"},
			{AgentID: "y"},
			{Status: api.StatusCompleted},
			{PriorityActive: true},
			{Status: api.StatusWaitingForUserQuestion},
			{AgentID: "x", Status: api.StatusCompleted},
			{Kind: api.KindInput},
			{AgentID: "x", PriorityActive: true},
			{Last: true},
			{SessionID: "a:1", PriorityActive: true},
		} {
			q.Limit = 1000
			within := func(scope runs.Scope) runs.RunQuery { q := q; q.Scope = scope; return q }
			requireScoped(h, "runs", func(scope runs.Scope) ([]model.RunRecord, error) { return h.store.Runs(h.ctx, within(scope)) },
				func(scope runs.Scope) (int64, error) { return h.store.CountRuns(h.ctx, within(scope)) }, run)
		}
		for _, q := range []runs.SessionQuery{{}, {Status: api.SessionIdle}, {Status: api.StatusWaitingForUserQuestion}, {AgentID: "y"}} {
			q.Limit = 1000
			within := func(scope runs.Scope) runs.SessionQuery { q := q; q.Scope = scope; return q }
			requireScoped(h, "sessions", func(scope runs.Scope) ([]model.SessionSummary, error) { return h.store.Sessions(h.ctx, within(scope)) },
				func(scope runs.Scope) (int64, error) { return h.store.CountSessions(h.ctx, within(scope)) },
				func(scope *runs.Scope, row *model.SessionSummary) bool {
					return inScope(scope, row.Session.SessionID, row.Session.AgentID, makerOf[row.Session.SessionID])
				})
		}
		requireScoped(h, "requests", func(scope runs.Scope) ([]model.PendingRequest, error) {
			return h.store.PendingRequests(h.ctx, runs.RequestQuery{Kind: model.KindQuestion, Scope: scope, Limit: 1000})
		}, func(scope runs.Scope) (int64, error) {
			return h.store.CountPendingRequests(h.ctx, runs.RequestQuery{Kind: model.KindQuestion, Scope: scope})
		}, func(scope *runs.Scope, row *model.PendingRequest) bool {
			made, holds := of(row.Request.RunID)
			return inScope(scope, row.Request.SessionID, row.AgentID, made, holds)
		})
		requireScoped(h, "decisions", func(scope runs.Scope) ([]model.DecidedRequest, error) {
			return h.store.Decisions(h.ctx, runs.DecisionQuery{Scope: scope, Limit: 1000})
		}, func(scope runs.Scope) (int64, error) {
			return h.store.CountDecisions(h.ctx, runs.DecisionQuery{Scope: scope})
		}, func(scope *runs.Scope, row *model.DecidedRequest) bool {
			made, holds := of(row.Request.RunID)
			return inScope(scope, row.Request.SessionID, row.AgentID, made, holds)
		})
		requireScoped(h, "leases", func(scope runs.Scope) ([]model.Run, error) {
			leased, _, err := h.store.LeasedRuns(h.ctx, scope, 1000)
			return leased, err
		}, nil, func(scope *runs.Scope, row *model.Run) bool {
			made, holds := of(row.RunID)
			return inScope(scope, row.SessionID, row.AgentID, made, holds)
		})
		for _, agents := range [][]string{nil, {"x", "z"}} {
			requireScoped(h, "claimable", func(scope runs.Scope) ([]runs.Claimable, error) {
				return h.store.Claimable(h.ctx, runs.ClaimableQuery{AgentIDs: agents, Scope: scope, Limit: 1000})
			}, nil, func(scope *runs.Scope, row *runs.Claimable) bool {
				made, holds := of(row.RunID)
				return inScope(scope, row.SessionID, row.AgentID, made, holds)
			})
		}
		read, err := h.store.Owners(h.ctx, append(slices.Collect(maps.Keys(owners)), "nobody"))
		require.NoError(h, err)
		require.Equal(h, owners, read)

		// Rows outside of runs have the agent of their session.
		for i := range scopes {
			scope := scopes[i]
			rules, err := h.store.Rules(h.ctx, runs.RuleQuery{Scope: scope, Limit: 1000})
			require.NoError(h, err)
			counted, err := h.store.CountRules(h.ctx, runs.RuleQuery{Scope: scope})
			require.NoError(h, err)
			found := map[string]bool{}
			for i := range rules {
				found[rules[i].Rule.SessionID] = true
			}
			for sessionID, agentID := range agentOf {
				require.Equal(h, inScope(&scope, sessionID, agentID, makerOf[sessionID]), found[sessionID], "%+v %s", scope, sessionID)
			}
			require.False(h, found["*"], "a rule of all sessions")
			require.EqualValues(h, len(rules), counted)
		}
	},
	"scopes/effects have the agent of the session that owes them": func(h *harness) {
		fence := h.child("asker")
		h.ask("asker", fence, "q", true)
		for _, test := range []struct {
			scope runs.Scope
			want  int
		}{
			{runs.Scope{SessionPrefixes: []string{"child"}}, 1},
			{runs.Scope{SessionPrefixes: []string{"other"}}, 0},
			{runs.Scope{AgentIDs: []string{"coder"}}, 1},
			{runs.Scope{AgentIDs: []string{"nobody"}}, 0},
			{runs.Scope{OwnedBy: "agent:one"}, 0},
		} {
			list, err := h.store.Effects(h.ctx, runs.EffectQuery{Scope: test.scope, Limit: 10})
			require.NoError(h, err)
			require.Len(h, list, test.want, "%+v", test.scope)
			counted, err := h.store.CountEffects(h.ctx, runs.EffectQuery{Scope: test.scope, State: api.EffectPending})
			require.NoError(h, err)
			require.EqualValues(h, test.want, counted)
		}
	},
}
