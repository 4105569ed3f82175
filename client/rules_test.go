package client_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

func anyOf(tool string) client.AddRuleParams {
	return client.AddRuleParams{ToolName: tool, Match: api.RuleMatch{AnyInput: true}}
}

func TestADurationForARule(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, time.Millisecond: 1, time.Hour: 3_600_000, -1: -1, -time.Hour: -3_600_000} {
		require.Equal(t, want, *client.RememberFor(d), d)
	}
}

func TestRulesOfTheRealService(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	ctx := t.Context()
	params := client.AddRuleParams{
		RuleID: "npm", SessionID: "s", AgentID: "coder", ToolName: "bash", Reason: "npm is fine", MaxUses: 3,
		Match:          api.RuleMatch{Params: map[string]string{"command": "npm **"}},
		ExpiresAfterMs: client.RememberFor(time.Hour),
	}
	rule := must(c.AddRule(ctx, params))(t)
	require.Equal(t, api.RuleAllow, rule.Effect)
	require.Equal(t, "ann", rule.CreatedBy)
	require.Equal(t, time.Hour.Milliseconds(), rule.ExpiresAtMs-rule.CreatedAtMs)
	require.Contains(t, rule.Text, `Allow the tool bash when command matches "npm **"`)
	again := must(c.AddRule(ctx, params))(t)
	require.Equal(t, rule, again)
	params.MaxUses = 4
	_, err := c.AddRule(ctx, params)
	require.ErrorIs(t, err, client.ErrIDConflict)
	_, err = c.AddRule(ctx, client.AddRuleParams{ToolName: "bash"})
	require.ErrorIs(t, err, client.ErrInvalid)
	shown := must(c.GetRule(ctx, "npm"))(t)
	require.Equal(t, rule, shown)

	forEver := anyOf("read")
	forEver.ExpiresAfterMs = client.RememberFor(0)
	unnamed := must(c.AddRule(ctx, forEver))(t)
	require.NotEmpty(t, unnamed.RuleID, "the client made an id")
	require.Zero(t, unnamed.ExpiresAtMs)
	page := must(c.ListRules(ctx, client.RuleListParams{SessionID: "s"}))(t)
	require.Equal(t, []api.RuleView{*rule}, page.Items)
	var walked []string
	for rule, err := range c.AllRules(ctx, client.RuleListParams{PageParams: client.PageParams{Limit: 1}}) {
		require.NoError(t, err)
		walked = append(walked, rule.RuleID)
	}
	require.Equal(t, []string{"npm", unnamed.RuleID}, walked)

	call := api.ExplainRulesBody{SessionID: new("s"), AgentID: new("coder"), ToolName: "bash", Input: api.JSON(`{"command":"npm test"}`)}
	explained := must(c.ExplainRules(ctx, call))(t)
	require.Equal(t, api.RuleAllow, explained.Decision)
	require.Contains(t, explained.Remember.Session, "in session s")
	require.Contains(t, explained.Remember.Always, "in every session")
	call.AgentID = new("other")
	explained = must(c.ExplainRules(ctx, call))(t)
	require.Equal(t, api.RuleAsk, explained.Decision)
	for _, rule := range explained.Rules {
		require.False(t, rule.Applies)
		require.NotEmpty(t, rule.WhyNot)
	}
	_, err = c.ExplainRules(ctx, api.ExplainRulesBody{Input: api.JSON(`1`)})
	require.ErrorIs(t, err, client.ErrInvalid)

	require.NoError(t, c.RevokeRule(ctx, "npm"))
	require.NoError(t, c.RevokeRule(ctx, "npm"))
	shown = must(c.GetRule(ctx, "npm"))(t)
	require.NotZero(t, shown.RevokedAtMs)
	require.Equal(t, "ann", shown.RevokedBy)
	for _, err := range []error{c.RevokeRule(ctx, "nobody"), c.RevokeRule(ctx, "../runs")} {
		require.Error(t, err)
	}
	_, err = c.GetRule(ctx, "nobody")
	require.ErrorIs(t, err, client.ErrNotFound)
	_, err = c.EndSession(ctx, "s", "")
	require.ErrorIs(t, err, client.ErrNotFound, "a rule makes no session")
}

// A decision may create a rule, and returns its id.
func TestADecisionIsRemembered(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	run := must(c.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("a", "make")}}}))(t)
	decided := must(c.ResolveRunApprovals(t.Context(), run.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
		{RequestID: "a", Behavior: api.BehaviorAllow, Remember: api.RememberSession, RememberForMs: client.RememberFor(time.Minute)},
	}}))(t)
	written := decided.Resume.Approvals[0].Resolution.Rule
	rule := must(c.GetRule(t.Context(), written.RuleID))(t)
	require.Equal(t, rule.Text, written.Text)
	require.Equal(t, "s", rule.SessionID)
	require.Equal(t, run.RunID, rule.SourceRunID)
	require.Equal(t, "a", rule.SourceRequestID)
}

// If rules settle all requests of a run, its worker keeps the lease and its handler
// continues in place.
func TestSuspendGoesOnWhenRulesSettleEverything(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	rule := must(c.AddRule(t.Context(), anyOf("bash")))(t)
	denying := anyOf("rm")
	denying.Effect, denying.Reason = api.RuleDeny, "never"
	must(c.AddRule(t.Context(), denying))(t)
	var handled sync.Map
	work(t, c, func(ctx context.Context, task *client.Task) error {
		if _, again := handled.LoadOrStore(task.RunID(), true); again {
			return errors.New("the run was claimed again")
		}
		removal := approval("b", "x")
		removal.ToolName = "rm"
		resume, err := task.Suspend(ctx, api.Suspension{
			Approvals: []api.ApprovalRequest{approval("a", "ls"), removal}, Checkpoint: api.JSON(`1`),
		})
		if err != nil {
			return err
		}
		// The lease is still valid.
		if err := task.Output(ctx, "went on"); err != nil {
			return err
		}
		repeated, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("a", "ls"), removal}})
		if err != nil {
			return err
		}
		return task.Complete(ctx, []any{resume.Approvals, len(repeated.Approvals)})
	})
	run := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x"}))(t)
	ended := must(c.WaitRun(t.Context(), run.RunID, client.UntilTerminal))(t)
	require.Equal(t, api.StatusCompleted, ended.Status, ended.Error)
	require.Contains(t, string(ended.Output), `"via":"rule:`+rule.RuleID+`"`)
	require.Contains(t, string(ended.Output), `"outcome":"denied"`)
	require.Contains(t, string(ended.Output), `"reason":"never"`)
	require.Equal(t, "went on", ended.Outputs[0].Content)
}

// If a person has to decide the rest, the run is released, and the next claim also has the
// decisions by rules.
func TestSuspendLetsGoWhenRulesSettleAPart(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	must(c.AddRule(t.Context(), client.AddRuleParams{ToolName: "bash", Match: api.RuleMatch{Params: map[string]string{"command": "ls"}}}))(t)
	work(t, c, func(ctx context.Context, task *client.Task) error {
		resume, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("a", "ls"), approval("b", "make")}})
		if err != nil {
			return err
		}
		return task.Complete(ctx, len(resume.Approvals))
	})
	run := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x"}))(t)
	// Not by WaitRun with UntilDecided: a fast worker may have suspended the run before the
	// call, which would then wait for the decision that this test makes below.
	open := untilSome(t, func(ctx context.Context) ([]string, error) {
		view, err := c.GetRun(ctx, run.RunID)
		if err != nil {
			return nil, err
		}
		return view.PendingApprovalIDs, nil
	})
	require.Equal(t, []string{"b"}, open)
	must(c.ResolveRunApprovals(t.Context(), run.RunID, allowing("b")))(t)
	ended := must(c.WaitRun(t.Context(), run.RunID, client.UntilTerminal))(t)
	require.Equal(t, `2`, string(ended.Output))
}

// The same for waits in place: a request settled by a rule does not wait, even while
// another request of the run is open.
func TestApproveGoesOnWhenARuleSettlesIt(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	rule := must(c.AddRule(t.Context(), client.AddRuleParams{ToolName: "bash", Match: api.RuleMatch{Params: map[string]string{"command": "ls"}}}))(t)
	alone, besides := make(chan api.Resolution, 1), make(chan api.Resolution, 1)
	work(t, c, func(ctx context.Context, task *client.Task) error {
		settled, err := task.Approve(ctx, approval("alone", "ls"))
		if err != nil {
			return err
		}
		alone <- settled
		var other error
		var open sync.WaitGroup
		open.Go(func() { _, other = task.Approve(ctx, approval("open", "make")) })
		for {
			run, err := c.GetRun(ctx, task.RunID())
			if err != nil {
				return err
			}
			if len(run.PendingApprovalIDs) > 0 {
				break
			}
		}
		if settled, err = task.Approve(ctx, approval("besides", "ls")); err != nil {
			return err
		}
		besides <- settled
		open.Wait()
		return errors.Join(other, task.Complete(ctx, "done"))
	})
	run := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x"}))(t)
	for _, settled := range []api.Resolution{<-alone, <-besides} {
		require.Equal(t, api.OutcomeAllowed, settled.Outcome)
		require.Equal(t, "rule:"+rule.RuleID, settled.Via)
		require.Equal(t, rule.Text, settled.Rule.Text)
	}
	view := must(c.GetRun(t.Context(), run.RunID))(t)
	require.Equal(t, []string{"open"}, view.PendingApprovalIDs, "it still waits")
	must(c.ResolveRunApprovals(t.Context(), run.RunID, allowing("open")))(t)
	ended := must(c.WaitRun(t.Context(), run.RunID, client.UntilTerminal))(t)
	require.Equal(t, `"done"`, string(ended.Output))
}
