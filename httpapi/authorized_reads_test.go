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

	asked := map[string]rowsShown{
		"Run":         shows(held, reads.Reader.Run, run, api.CodeRunNotFound),
		"ClaimedRun":  shows(held, reads.Reader.ClaimedRun, run, api.CodeRunNotFound),
		"Named":       shows(held, reads.Reader.Named, run, api.CodeRunNotFound),
		"Session":     shows(held, reads.Reader.Session, session, api.CodeSessionNotFound),
		"SessionHead": shows(held, reads.Reader.SessionHead, session, api.CodeSessionNotFound),
		"SettledAfter": func(ctx context.Context) (int, error) {
			_, _, err := held.Reader(ctx).SettledAfter(ctx, run, 0)
			return unless(err, api.CodeRunNotFound)
		},
		"RequestByHandle":  shows(held, reads.Reader.RequestByHandle, handle, api.CodeRequestNotFound),
		"DecisionByHandle": shows(held, reads.Reader.DecisionByHandle, handle, api.CodeRequestNotFound),
		"Rule":             shows(held, reads.Reader.Rule, rule, api.CodeRuleNotFound),
		"EventsWithin of a session": func(ctx context.Context) (int, error) {
			_, _, err := held.Reader(ctx).EventsWithin(ctx, reads.EventQuery{SessionID: session, Limit: 10, MaxBytes: api.MaxReplyBytes})
			return unless(err, api.CodeSessionNotFound)
		},
		"EventsWithin": func(ctx context.Context) (int, error) {
			_, _, err := held.Reader(ctx).EventsWithin(ctx, reads.EventQuery{RunID: run, Limit: 10, MaxBytes: api.MaxReplyBytes})
			return unless(err, api.CodeRunNotFound)
		},
		"Sessions":        lists(held, reads.Reader.Sessions, reads.SessionQuery{Limit: 10}),
		"Runs":            lists(held, reads.Reader.Runs, reads.RunQuery{Limit: 10}),
		"PendingRequests": lists(held, reads.Reader.PendingRequests, reads.RequestQuery{Kind: model.KindApproval, Limit: 10}),
		"Decisions":       lists(held, reads.Reader.Decisions, reads.DecisionQuery{Limit: 10}),
		"Rules":           lists(held, reads.Reader.Rules, reads.RuleQuery{Limit: 10}),
		"RulesFor": func(ctx context.Context) (int, error) {
			list, _, err := held.Reader(ctx).RulesFor(ctx, session, 10, &reads.Budget{MaxBytes: api.MaxReplyBytes})
			return len(list), err
		},
		"Effects": lists(held, reads.Reader.Effects, reads.EffectQuery{Limit: 10}),
		"SessionNames": func(ctx context.Context) (int, error) {
			names, err := held.Reader(ctx).SessionNames(ctx, []string{session, "nobody"})
			return len(names), err
		},
		"LeasedRuns": func(ctx context.Context) (int, error) {
			list, _, err := held.Reader(ctx).LeasedRuns(ctx, reads.LeaseQuery{Limit: 10})
			return len(list), err
		},
		"Claimable":            lists(held, reads.Reader.Claimable, reads.ClaimableQuery{Limit: 10}),
		"CountSessions":        counts(held, reads.Reader.CountSessions, reads.SessionQuery{}),
		"CountRuns":            counts(held, reads.Reader.CountRuns, reads.RunQuery{}),
		"CountPendingRequests": counts(held, reads.Reader.CountPendingRequests, reads.RequestQuery{Kind: model.KindApproval}),
		"CountDecisions":       counts(held, reads.Reader.CountDecisions, reads.DecisionQuery{}),
		"CountRules":           counts(held, reads.Reader.CountRules, reads.RuleQuery{}),
		"CountEffects":         counts(held, reads.Reader.CountEffects, reads.EffectQuery{}),
	}
	scopes := map[string]*auth.Identity{
		"of sessions": {Role: api.RoleOperator, Principal: "user:x", TokenID: "t", SessionPrefixes: []string{"ours"}},
		"its own":     {Role: api.RoleAgent, Principal: "agent:x", TokenID: "t"},
		"of agents":   {Role: api.RoleObserver, Principal: "user:x", TokenID: "t", AgentIDs: []string{"ours"}},
	}
	reader := reflect.TypeFor[reads.Reader]()
	for i := range reader.NumMethod() {
		require.Contains(t, asked, reader.Method(i).Name, "has it a scope?")
	}
	for name, read := range asked {
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

// rowsShown returns how many rows a read shows to a caller.
type rowsShown func(context.Context) (int, error)

func shows[Q, R any](held authorized, read func(reads.Reader, context.Context, Q) (R, error), q Q, unknown api.Code) rowsShown {
	return func(ctx context.Context) (int, error) {
		_, err := read(held.Reader(ctx), ctx, q)
		return unless(err, unknown)
	}
}

// unless returns 0 for the code of a row that is unknown.
func unless(err error, unknown api.Code) (int, error) {
	if refusal.CodeOf(err) == unknown {
		return 0, nil
	}
	return 1, err
}

func lists[Q, R any](held authorized, read func(reads.Reader, context.Context, Q) ([]R, error), q Q) rowsShown {
	return func(ctx context.Context) (int, error) {
		list, err := read(held.Reader(ctx), ctx, q)
		return len(list), err
	}
}

func counts[Q any](held authorized, read func(reads.Reader, context.Context, Q) (int64, error), q Q) rowsShown {
	return func(ctx context.Context) (int, error) {
		n, err := read(held.Reader(ctx), ctx, q)
		return int(n), err
	}
}
