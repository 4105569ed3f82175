package httpapi

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// Every read method hides sessions outside of a caller's scope and shows them to the service. A new
// method of [reads.Reader] fails this test until it is added here.
func TestEveryReadHasTheCallersScope(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.Zero(t, countEmbedded(reflect.TypeFor[authorized]()), "an embedded method is not authorized")
	held := authorized{store: store}
	do := func(command runs.Command) runs.Reply {
		reply, err := store.Do(t.Context(), command)
		require.NoError(t, err, "%T", command)
		return reply
	}
	const session, run = "theirs", "run"
	do(&runs.CreateSession{SessionID: "parent"})
	do(&runs.CreateSession{SessionID: session, ParentSessionID: "parent"})
	approval := func(id string) api.ApprovalRequest {
		return api.ApprovalRequest{ID: id, ToolCallID: id, ToolName: "bash", Input: api.JSON(`{}`)}
	}
	do(&runs.CreateRun{
		SessionID: session, SessionGiven: true, RunID: run, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
		Suspend: &api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{approval("a"), approval("b")}},
	})
	do(&runs.ResolveApprovals{RunID: run, Resolutions: []runs.ApprovalDecision{{RequestID: "b", Behavior: api.BehaviorAllow}}})
	rule := do(&runs.AddRule{SessionID: session, Match: api.RuleMatch{PatternKeys: []string{"k"}}}).Rule.Rule.RuleID
	do(&runs.CreateRun{SessionID: "theirs-queue", SessionGiven: true, Input: api.JSON(`1`)})
	asking := do(&runs.CreateSession{SessionID: "theirs-child", ParentSessionID: "parent"}).Session.SessionID
	do(&runs.CreateRun{SessionID: asking, SessionGiven: true, RunID: "asks", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
	do(&runs.AskClarification{RunID: "asks", Fence: 1, Request: api.UserQuestionRequest{ID: "q", ToolCallID: "q", ResponseSchema: api.JSON(`{}`)}})
	record, err := store.Run(t.Context(), run)
	require.NoError(t, err)
	handle := record.Requests[0].Handle

	// asked returns how many rows a method shows.
	one := func(err error, unknown api.Code) (int, error) {
		if refusal.CodeOf(err) == unknown {
			return 0, nil
		}
		return 1, err
	}
	asked := map[string]func(context.Context) (int, error){
		"Run": func(ctx context.Context) (int, error) {
			_, err := held.Reader(ctx).Run(ctx, run)
			return one(err, api.CodeRunNotFound)
		},
		"ClaimedRun": func(ctx context.Context) (int, error) {
			_, err := held.Reader(ctx).ClaimedRun(ctx, run)
			return one(err, api.CodeRunNotFound)
		},
		"Named": func(ctx context.Context) (int, error) {
			_, err := held.Reader(ctx).Named(ctx, run)
			return one(err, api.CodeRunNotFound)
		},
		"Session": func(ctx context.Context) (int, error) {
			_, err := held.Reader(ctx).Session(ctx, session)
			return one(err, api.CodeSessionNotFound)
		},
		"SessionHead": func(ctx context.Context) (int, error) {
			_, err := held.Reader(ctx).SessionHead(ctx, session)
			return one(err, api.CodeSessionNotFound)
		},
		"SettledAfter": func(ctx context.Context) (int, error) {
			_, _, err := held.Reader(ctx).SettledAfter(ctx, run, 0)
			return one(err, api.CodeRunNotFound)
		},
		"RequestByHandle": func(ctx context.Context) (int, error) {
			_, err := held.Reader(ctx).RequestByHandle(ctx, handle)
			return one(err, api.CodeRequestNotFound)
		},
		"DecisionByHandle": func(ctx context.Context) (int, error) {
			_, err := held.Reader(ctx).DecisionByHandle(ctx, handle)
			return one(err, api.CodeRequestNotFound)
		},
		"Rule": func(ctx context.Context) (int, error) {
			_, err := held.Reader(ctx).Rule(ctx, rule)
			return one(err, api.CodeRuleNotFound)
		},
		"EventsWithin of a session": func(ctx context.Context) (int, error) {
			_, _, err := held.Reader(ctx).EventsWithin(ctx, reads.EventQuery{SessionID: session, Limit: 10, MaxBytes: api.MaxReplyBytes})
			return one(err, api.CodeSessionNotFound)
		},
		"EventsWithin": func(ctx context.Context) (int, error) {
			_, _, err := held.Reader(ctx).EventsWithin(ctx, reads.EventQuery{RunID: run, Limit: 10, MaxBytes: api.MaxReplyBytes})
			return one(err, api.CodeRunNotFound)
		},
		"Sessions": func(ctx context.Context) (int, error) {
			list, err := held.Reader(ctx).Sessions(ctx, reads.SessionQuery{Limit: 10})
			return len(list), err
		},
		"Runs": func(ctx context.Context) (int, error) {
			list, err := held.Reader(ctx).Runs(ctx, reads.RunQuery{Limit: 10})
			return len(list), err
		},
		"PendingRequests": func(ctx context.Context) (int, error) {
			list, err := held.Reader(ctx).PendingRequests(ctx, reads.RequestQuery{Kind: model.KindApproval, Limit: 10})
			return len(list), err
		},
		"Decisions": func(ctx context.Context) (int, error) {
			list, err := held.Reader(ctx).Decisions(ctx, reads.DecisionQuery{Limit: 10})
			return len(list), err
		},
		"Rules": func(ctx context.Context) (int, error) {
			list, err := held.Reader(ctx).Rules(ctx, reads.RuleQuery{Limit: 10})
			return len(list), err
		},
		"RulesFor": func(ctx context.Context) (int, error) {
			list, _, err := held.Reader(ctx).RulesFor(ctx, session, 10, &reads.Budget{MaxBytes: api.MaxReplyBytes})
			return len(list), err
		},
		"Effects": func(ctx context.Context) (int, error) {
			list, err := held.Reader(ctx).Effects(ctx, reads.EffectQuery{Limit: 10})
			return len(list), err
		},
		"SessionNames": func(ctx context.Context) (int, error) {
			names, err := held.Reader(ctx).SessionNames(ctx, []string{session, "nobody"})
			return len(names), err
		},
		"LeasedRuns": func(ctx context.Context) (int, error) {
			list, _, err := held.Reader(ctx).LeasedRuns(ctx, 10)
			return len(list), err
		},
		"Claimable": func(ctx context.Context) (int, error) {
			list, err := held.Reader(ctx).Claimable(ctx, reads.ClaimableQuery{Limit: 10})
			return len(list), err
		},
		"CountSessions": func(ctx context.Context) (int, error) {
			n, err := held.Reader(ctx).CountSessions(ctx, reads.SessionQuery{})
			return int(n), err
		},
		"CountRuns": func(ctx context.Context) (int, error) {
			n, err := held.Reader(ctx).CountRuns(ctx, reads.RunQuery{})
			return int(n), err
		},
		"CountPendingRequests": func(ctx context.Context) (int, error) {
			n, err := held.Reader(ctx).CountPendingRequests(ctx, reads.RequestQuery{Kind: model.KindApproval})
			return int(n), err
		},
		"CountDecisions": func(ctx context.Context) (int, error) {
			n, err := held.Reader(ctx).CountDecisions(ctx, reads.DecisionQuery{})
			return int(n), err
		},
		"CountRules": func(ctx context.Context) (int, error) {
			n, err := held.Reader(ctx).CountRules(ctx, reads.RuleQuery{})
			return int(n), err
		},
		"CountEffects": func(ctx context.Context) (int, error) {
			n, err := held.Reader(ctx).CountEffects(ctx, reads.EffectQuery{})
			return int(n), err
		},
	}
	scopes := map[string]*auth.Identity{
		"of sessions": {Role: api.RoleOperator, Principal: "user:x", TokenID: "t", SessionPrefixes: []string{"ours"}},
		"its own":     {Role: api.RoleAgent, Principal: "agent:x", TokenID: "t"},
		"of agents":   {Role: api.RoleObserver, Principal: "user:x", TokenID: "t", AgentIDs: []string{"ours"}},
	}
	reader := reflect.TypeFor[reads.Reader]()
	for i := range reader.NumMethod() {
		name := reader.Method(i).Name
		read := asked[name]
		require.NotNil(t, read, "has %s a scope?", name)
		shown, err := read(t.Context())
		require.NoError(t, err, name)
		require.Positive(t, shown, "%s shows nothing at all", name)
		for kind, caller := range scopes {
			shown, err := read(auth.With(t.Context(), caller))
			require.NoError(t, err, name)
			require.Zero(t, shown, "%s with a scope %s", name, kind)
		}
	}
}

func countEmbedded(structure reflect.Type) (count int) {
	for i := range structure.NumField() {
		if structure.Field(i).Anonymous {
			count++
		}
	}
	return count
}
