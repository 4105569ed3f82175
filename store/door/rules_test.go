package door_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/door"
)

// ruleTable is a RuleReader that also sets the versions loaded by an engine.
type ruleTable struct {
	engine *memory
	// onRead, if set, runs at the start of each read.
	onRead func(sessionID string) error

	mu    sync.Mutex
	rules map[string][]*rules.Rule
	reads int
	// changes, if set, is returned by RuleChanges.
	changes *runs.RuleChanges
}

func (r *ruleTable) StandingRules(_ context.Context, sessionID string, _, _ int) (int64, []*rules.Rule, bool, error) {
	r.mu.Lock()
	r.reads++
	r.mu.Unlock()
	if r.onRead != nil {
		if err := r.onRead(sessionID); err != nil {
			return 0, nil, false, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	version := r.engine.rules.OfSession
	if sessionID == rules.AllSessions {
		version = r.engine.rules.OfAll
	}
	return version, r.rules[sessionID], true, nil
}

// change replaces the rules of all sessions.
func (r *ruleTable) change(standing ...*rules.Rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	r.engine.rules.OfAll++
	r.rules = map[string][]*rules.Rule{rules.AllSessions: standing}
}

func (r *ruleTable) RuleChanges(context.Context, int64, int, int) (runs.RuleChanges, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes == nil {
		return runs.RuleChanges{}, false, nil
	}
	return *r.changes, true, nil
}

func (r *ruleTable) readCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reads
}

func withRules(t *testing.T) (*memory, *ruleTable, *door.Door) {
	t.Helper()
	engine := newMemory()
	table := &ruleTable{engine: engine}
	c := loading(engine, door.Options{Rules: table, Lanes: 1})
	t.Cleanup(func() { c.Close() })
	return engine, table, c
}

func globbed(effect api.RuleEffect, glob string) *rules.Rule {
	return &rules.Rule{
		RuleID: string(effect) + " " + glob, SessionID: rules.AllSessions, ToolName: "bash", Effect: effect, Text: "a rule", CreatedBy: "ann",
		Match: api.RuleMatch{Params: map[string]string{"command": glob}},
	}
}

// asks creates a run that asks for a command and returns the outcome of the approval.
func asks(t *testing.T, c *door.Door, sessionID, command string) (api.Outcome, error) {
	t.Helper()
	reply, err := c.Do(t.Context(), &runs.CreateRun{
		SessionID: sessionID, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{
			ID: "a", ToolCallID: "call", ToolName: "bash", Input: document.Encode(map[string]string{"command": command}),
		}}},
	})
	if err != nil {
		return "", err
	}
	return reply.Run.Requests[0].Outcome, nil
}

// A server that took over without the last commits reuses their versions for other rules.
func TestRulesOfAnotherServerAreReadAgain(t *testing.T) {
	t.Parallel()
	engine, table, c := withRules(t)
	engine.incarnation.Store(1)
	table.change(globbed(api.RuleAllow, "ls"))
	outcome, err := asks(t, c, "s", "ls")
	require.NoError(t, err)
	require.Equal(t, api.OutcomeAllowed, outcome)

	table.mu.Lock()
	table.rules[rules.AllSessions] = nil
	table.mu.Unlock()
	engine.incarnation.Store(2)
	outcome, err = asks(t, c, "other", "ls")
	require.NoError(t, err)
	require.Empty(t, outcome)
}

// Rules read from one server while another takes over are not cached, even if the new server later
// uses the same version.
func TestRulesThatAreReadWhileAServerIsLostAreForgotten(t *testing.T) {
	t.Parallel()
	engine, table, c := withRules(t)
	engine.incarnation.Store(1)
	table.change(globbed(api.RuleAllow, "ls"))
	set := func(version int64, standing ...*rules.Rule) {
		table.mu.Lock()
		defer table.mu.Unlock()
		engine.mu.Lock()
		defer engine.mu.Unlock()
		engine.rules.OfAll = version
		table.rules[rules.AllSessions] = standing
	}
	var reads atomic.Int64
	table.onRead = func(string) error {
		if reads.Add(1) > 1 {
			set(engine.rules.OfAll)
			return nil
		}
		set(1)
		engine.incarnation.Store(2)
		if outcome, err := asks(t, c, "other", "ls"); err != nil || outcome != "" {
			return fmt.Errorf("the new server has no rule: %q, %w", outcome, err)
		}
		set(2, globbed(api.RuleAllow, "ls")) // the earlier read sees this
		return nil
	}
	outcome, err := asks(t, c, "s", "ls")
	require.NoError(t, err)
	require.Empty(t, outcome)
}

// Rules are read only if a decision finds a version other than the cached one.
func TestRulesAreReadWhenTheyHaveChanged(t *testing.T) {
	t.Parallel()
	_, table, c := withRules(t)
	outcome := func(want api.Outcome, reads int) {
		t.Helper()
		got, err := asks(t, c, "", "make test")
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, reads, table.readCount())
	}
	outcome("", 0)
	table.change(globbed(api.RuleAllow, "make *"))
	outcome(api.OutcomeAllowed, 1)
	outcome(api.OutcomeAllowed, 1)
	table.change(globbed(api.RuleAllow, "make *"), globbed(api.RuleDeny, "**"))
	outcome(api.OutcomeDenied, 2)
	table.change()
	outcome("", 3)
	outcome("", 3)
}

// If the changes are known, nothing else is read, and a revoked rule allows nothing.
func TestOnlyChangedRulesAreRead(t *testing.T) {
	t.Parallel()
	_, table, c := withRules(t)
	outcome := func(command string, want api.Outcome, reads int) {
		t.Helper()
		got, err := asks(t, c, "", command)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, reads, table.readCount())
	}
	change := func(version int64, standing []*rules.Rule, ruleIDs ...string) {
		table.change(globbed(api.RuleAllow, "read whole"))
		table.mu.Lock()
		defer table.mu.Unlock()
		table.changes = &runs.RuleChanges{Version: version, RuleIDs: ruleIDs, Standing: standing}
	}
	table.change(globbed(api.RuleAllow, "make *"), globbed(api.RuleAllow, "ls *"))
	outcome("make test", api.OutcomeAllowed, 1)
	change(2, nil, "allow make *")
	outcome("make test", "", 1)
	outcome("ls x", api.OutcomeAllowed, 1)
	deny := globbed(api.RuleDeny, "ls *")
	change(3, []*rules.Rule{deny}, deny.RuleID)
	outcome("ls x", api.OutcomeDenied, 1)
	change(4, []*rules.Rule{globbed(api.RuleAllow, "make *")}, deny.RuleID, "allow make *")
	outcome("ls x", api.OutcomeAllowed, 1)
	outcome("make test", api.OutcomeAllowed, 1)

	var many []string
	for n := range 300 {
		many = append(many, fmt.Sprint(n))
	}
	change(5, nil, many...)
	outcome("make test", api.OutcomeAllowed, 1)
	table.change(globbed(api.RuleAllow, "read whole"))
	table.changes = nil
	outcome("make test", "", 2)
	outcome("read whole", api.OutcomeAllowed, 2)
}

// If the rules change faster than a command can be matched, a person is asked: outdated rules must
// not allow anything.
func TestAPersonIsAskedWhenRulesChangeAllTheTime(t *testing.T) {
	t.Parallel()
	engine, table, c := withRules(t)
	engine.onBegin = func([]door.Load) error {
		table.change(globbed(api.RuleAllow, "**"))
		return nil
	}
	got, err := asks(t, c, "", "ls")
	require.NoError(t, err)
	require.Empty(t, got)
	require.LessOrEqual(t, len(engine.sizes()), 6)
}

// A caller that waits for rules does not block the lane, and gets the error of the read.
func TestReadingRulesHoldsNoLane(t *testing.T) {
	t.Parallel()
	_, table, c := withRules(t)
	reading, release := make(chan struct{}), make(chan struct{})
	broken := errors.New("the database is gone")
	table.onRead = func(string) error {
		close(reading)
		<-release
		return broken
	}
	table.change(globbed(api.RuleAllow, "**"))
	failed := make(chan error, 1)
	go func() {
		_, err := asks(t, c, "a", "ls")
		failed <- err
	}()
	<-reading
	_, err := c.Do(t.Context(), &runs.CreateRun{SessionID: "b", Input: api.JSON(`1`)})
	require.NoError(t, err, "the one lane is free")
	close(release)
	require.ErrorIs(t, <-failed, broken)
}

// Input from callers is matched before the lane: the decision itself tries no rule. No glob allows
// a text that is too long, and every glob denies it.
func TestHostileRulesAreMatchedBeforeTheLane(t *testing.T) {
	t.Parallel()
	for _, effect := range []api.RuleEffect{api.RuleAllow, api.RuleDeny} {
		_, table, c := withRules(t)
		var many []*rules.Rule
		for n := range 200 {
			many = append(many, globbed(effect, fmt.Sprintf("**secret%d**", n)))
		}
		for n := range 64 {
			many = append(many, globbed(effect, fmt.Sprint(n, strings.Repeat("*a?", 1_300))))
		}
		table.change(many...)
		got, err := asks(t, c, "", strings.Repeat("secret ", 1<<17))
		require.NoError(t, err)
		require.Equal(t, map[api.RuleEffect]api.Outcome{api.RuleAllow: "", api.RuleDeny: api.OutcomeDenied}[effect], got)
	}
}

// A change of rules is answered once all decisions based on the old rules have ended. The lane does
// not wait for them.
func TestAChangeOfRulesIsAnsweredLater(t *testing.T) {
	t.Parallel()
	engine, _, c := withRules(t)
	waiting, over := make(chan struct{}), make(chan error)
	engine.onAwait = func(ctx context.Context) error {
		close(waiting)
		select {
		case err := <-over:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	added := make(chan error, 1)
	go func() {
		_, err := c.Do(context.Background(), &runs.AddRule{Effect: api.RuleDeny, ToolName: "bash", Match: api.RuleMatch{AnyInput: true}})
		added <- err
	}()
	<-waiting
	_, err := c.Do(t.Context(), &runs.AddRule{SessionID: rules.AllSessions, ToolName: "bash", Match: api.RuleMatch{AnyInput: true}})
	require.NoError(t, err, "the one lane is free, and a rule that allows waits for nothing")
	require.Empty(t, added)
	over <- errors.New("gone")
	require.ErrorIs(t, <-added, runs.ErrUnavailable)
}
