package storetest

import (
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// scopes are bounds of a caller. Ids that are next to a prefix in the order of bytes are outside
// of it.
var scopes = []reads.Scope{
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

// inScope is an independent implementation of [reads.Scope].
func inScope(scope *reads.Scope, sessionID, agentID string, owners ...string) bool {
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
func requireScoped[R any](h *harness, name string, read func(reads.Reader) ([]R, error), count func(reads.Reader) (int64, error), within func(*reads.Scope, *R) bool) {
	h.Helper()
	all, err := read(h.store)
	require.NoError(h, err, name)
	require.NotEmpty(h, all, name)
	for i := range scopes {
		scope := scopes[i]
		want := slices.DeleteFunc(slices.Clone(all), func(row R) bool { return !within(&scope, &row) })
		got, err := read(h.store.Within(scope))
		require.NoError(h, err, "%s %+v", name, scope)
		require.Len(h, got, len(want), "%s %+v", name, scope)
		for i := range want {
			require.Equal(h, want[i], got[i], "%s %+v", name, scope)
		}
		if count != nil {
			counted, err := count(h.store.Within(scope))
			require.NoError(h, err, name)
			require.EqualValues(h, len(want), counted, "%s %+v", name, scope)
		}
	}
}

var scopeTests = map[string]func(*harness){
	"scopes/every list has what its caller reaches": func(h *harness) {
		agentOf, makerOf, owners := map[string]string{}, map[string]string{}, map[string]reads.Owners{}
		create := func(c runs.CreateRun, maker string) {
			c.Principal, owners[c.RunID] = maker, reads.Owners{Principal: maker, SessionID: c.SessionID}
			h.do(&c)
		}
		claim := func(runID, holder string) int64 {
			of := owners[runID]
			of.HolderPrincipal = holder
			owners[runID] = of
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

		run := func(scope *reads.Scope, row *model.RunRecord) bool {
			made, holds := of(row.Run.RunID)
			return inScope(scope, row.Run.SessionID, row.Run.AgentID, made, holds)
		}
		for _, q := range []reads.RunQuery{
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
			requireScoped(h, "runs", func(within reads.Reader) ([]model.RunRecord, error) { return within.Runs(h.ctx, q) },
				func(within reads.Reader) (int64, error) { return within.CountRuns(h.ctx, q) }, run)
		}
		for _, q := range []reads.SessionQuery{{}, {Status: api.SessionIdle}, {Status: api.StatusWaitingForUserQuestion}, {AgentID: "y"}} {
			q.Limit = 1000
			requireScoped(h, "sessions", func(within reads.Reader) ([]model.SessionSummary, error) { return within.Sessions(h.ctx, q) },
				func(within reads.Reader) (int64, error) { return within.CountSessions(h.ctx, q) },
				func(scope *reads.Scope, row *model.SessionSummary) bool {
					return inScope(scope, row.Session.SessionID, row.Session.AgentID, makerOf[row.Session.SessionID])
				})
		}
		requireScoped(h, "requests", func(within reads.Reader) ([]model.PendingRequest, error) {
			return within.PendingRequests(h.ctx, reads.RequestQuery{Kind: model.KindQuestion, Limit: 1000})
		}, func(within reads.Reader) (int64, error) {
			return within.CountPendingRequests(h.ctx, reads.RequestQuery{Kind: model.KindQuestion})
		}, func(scope *reads.Scope, row *model.PendingRequest) bool {
			made, holds := of(row.Request.RunID)
			return inScope(scope, row.Request.SessionID, row.AgentID, made, holds)
		})
		requireScoped(h, "decisions", func(within reads.Reader) ([]model.DecidedRequest, error) {
			return within.Decisions(h.ctx, reads.DecisionQuery{Limit: 1000})
		}, func(within reads.Reader) (int64, error) {
			return within.CountDecisions(h.ctx, reads.DecisionQuery{})
		}, func(scope *reads.Scope, row *model.DecidedRequest) bool {
			made, holds := of(row.Request.RunID)
			return inScope(scope, row.Request.SessionID, row.AgentID, made, holds)
		})
		requireScoped(h, "leases", func(within reads.Reader) ([]model.Run, error) {
			leased, _, err := within.LeasedRuns(h.ctx, reads.LeaseQuery{Limit: 1000})
			return leased, err
		}, nil, func(scope *reads.Scope, row *model.Run) bool {
			made, holds := of(row.RunID)
			return inScope(scope, row.SessionID, row.AgentID, made, holds)
		})
		for _, agents := range [][]string{nil, {"x", "z"}} {
			requireScoped(h, "claimable", func(within reads.Reader) ([]reads.Claimable, error) {
				return within.Claimable(h.ctx, reads.ClaimableQuery{AgentIDs: agents, Limit: 1000})
			}, nil, func(scope *reads.Scope, row *reads.Claimable) bool {
				made, holds := of(row.RunID)
				return inScope(scope, row.SessionID, row.AgentID, made, holds)
			})
		}
		for i := range scopes {
			scope, known := scopes[i], slices.Sorted(maps.Keys(agentOf))
			names, err := h.store.Within(scope).SessionNames(h.ctx, append(known, "nobody", known[0]))
			require.NoError(h, err)
			want := map[string]model.SessionName{}
			for _, sessionID := range known {
				if inScope(&scope, sessionID, agentOf[sessionID], makerOf[sessionID]) {
					want[sessionID] = model.SessionName{AgentID: agentOf[sessionID]}
				}
			}
			require.Equal(h, want, names, "%+v", scope)
		}
		read, err := h.store.Owners(h.ctx, append(slices.Collect(maps.Keys(owners)), "nobody"))
		require.NoError(h, err)
		require.Equal(h, owners, read)

		// Rows outside of runs have the agent of their session.
		for i := range scopes {
			scope := scopes[i]
			list, err := h.store.Within(scope).Rules(h.ctx, reads.RuleQuery{Limit: 1000})
			require.NoError(h, err)
			counted, err := h.store.Within(scope).CountRules(h.ctx, reads.RuleQuery{})
			require.NoError(h, err)
			found := map[string]bool{}
			for i := range list {
				found[list[i].Rule.SessionID] = true
			}
			for sessionID, agentID := range agentOf {
				require.Equal(h, inScope(&scope, sessionID, agentID, makerOf[sessionID]), found[sessionID], "%+v %s", scope, sessionID)
			}
			require.False(h, found["*"], "a rule of all sessions")
			require.EqualValues(h, len(list), counted)
		}
	},
	"scopes/effects have the agent of the session that wrote them": func(h *harness) {
		fence := h.child("asker")
		h.ask("asker", fence, "q", true)
		for _, test := range []struct {
			scope reads.Scope
			want  int
		}{
			{reads.Scope{SessionPrefixes: []string{"child"}}, 1},
			{reads.Scope{SessionPrefixes: []string{"other"}}, 0},
			{reads.Scope{AgentIDs: []string{"coder"}}, 1},
			{reads.Scope{AgentIDs: []string{"nobody"}}, 0},
			{reads.Scope{OwnedBy: "agent:one"}, 0},
		} {
			list, err := h.store.Within(test.scope).Effects(h.ctx, reads.EffectQuery{Limit: 10})
			require.NoError(h, err)
			require.Len(h, list, test.want, "%+v", test.scope)
			counted, err := h.store.Within(test.scope).CountEffects(h.ctx, reads.EffectQuery{State: api.EffectPending})
			require.NoError(h, err)
			require.EqualValues(h, test.want, counted)
		}
	},
	"scopes/a read by id finds what its caller reaches": func(h *harness) {
		for n, sessionID := range []string{"a", "a:1", "a.", "b:1", "zz", "A:1"} {
			agentID, maker, holder := []string{"x", "y", "z"}[n%3], []string{"agent:one", "user:two", ""}[n%3], []string{"", "agent:one"}[n%2]
			runID, ruleID := "r-"+sessionID, "rule-"+sessionID
			h.do(&runs.CreateSession{SessionID: sessionID, AgentID: agentID, Principal: maker})
			h.do(&runs.CreateRun{SessionID: sessionID, SessionGiven: true, RunID: runID, Input: api.JSON(`1`), Principal: maker})
			h.do(&runs.Suspend{
				RunID: runID, Fence: fenceOf(h, h.do(&runs.ClaimRun{RunID: runID, WorkerID: "w", Principal: holder})),
				Suspension: api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{approval("p"), approval("q")}},
			})
			h.do(&runs.ResolveApprovals{RunID: runID, Resolutions: allow("p"), Actor: person})
			h.do(&runs.AddRule{RuleID: ruleID, SessionID: sessionID, Match: api.RuleMatch{PatternKeys: []string{"k"}}})
			record, err := h.store.Run(h.ctx, runID)
			require.NoError(h, err)
			handle := record.Requests[0].Handle
			for i := range scopes {
				scope := scopes[i]
				within := h.store.Within(scope)
				found := func(err error, unknown api.Code) bool {
					if refusal.CodeOf(err) != unknown {
						require.NoError(h, err)
					}
					return err == nil
				}
				inSession, inRun := inScope(&scope, sessionID, agentID, maker), inScope(&scope, sessionID, agentID, maker, holder)
				check := func(name string, want, got bool) {
					require.Equal(h, want, got, "%s of %s in %+v", name, sessionID, scope)
				}
				_, err := within.Run(h.ctx, runID)
				check("Run", inRun, found(err, api.CodeRunNotFound))
				_, err = within.ClaimedRun(h.ctx, runID)
				check("ClaimedRun", inRun, found(err, api.CodeRunNotFound))
				_, err = within.Named(h.ctx, runID)
				check("Named", inRun, found(err, api.CodeRunNotFound))
				_, _, err = within.SettledAfter(h.ctx, runID, 0)
				check("SettledAfter", inRun, found(err, api.CodeRunNotFound))
				_, _, err = within.EventsWithin(h.ctx, reads.EventQuery{RunID: runID, Limit: 1, MaxBytes: 1})
				check("EventsWithin", inRun, found(err, api.CodeRunNotFound))
				_, err = within.RequestByHandle(h.ctx, handle)
				check("RequestByHandle", inRun, found(err, api.CodeRequestNotFound))
				_, err = within.DecisionByHandle(h.ctx, handle)
				check("DecisionByHandle", inRun, found(err, api.CodeRequestNotFound))
				_, err = within.Session(h.ctx, sessionID)
				check("Session", inSession, found(err, api.CodeSessionNotFound))
				_, err = within.SessionHead(h.ctx, sessionID)
				check("SessionHead", inSession, found(err, api.CodeSessionNotFound))
				_, _, err = within.EventsWithin(h.ctx, reads.EventQuery{SessionID: sessionID, Limit: 1, MaxBytes: 1})
				check("EventsWithin a session", inSession, found(err, api.CodeSessionNotFound))
				_, err = within.Rule(h.ctx, ruleID)
				check("Rule", inSession, found(err, api.CodeRuleNotFound))
				standing, nowMs, err := within.RulesFor(h.ctx, sessionID, 10, &reads.Budget{MaxBytes: 1 << 20})
				require.NoError(h, err)
				require.Positive(h, nowMs)
				check("RulesFor", inSession, len(standing) > 0)
			}
		}
		// A scope of prefixes includes sessions that do not exist yet, and no rule for all sessions.
		h.do(&runs.AddRule{RuleID: "of-all", Match: api.RuleMatch{PatternKeys: []string{"k"}}})
		within := h.store.Within(reads.Scope{SessionPrefixes: []string{"later"}})
		_, err := within.Rule(h.ctx, "of-all")
		require.Equal(h, api.CodeRuleNotFound, refusal.CodeOf(err))
		for sessionID, want := range map[string]int{"later:1": 1, "other": 0, rules.AllSessions: 0} {
			standing, _, err := within.RulesFor(h.ctx, sessionID, 10, &reads.Budget{MaxBytes: 1 << 20})
			require.NoError(h, err)
			require.Len(h, standing, want, sessionID)
		}
	},
}
