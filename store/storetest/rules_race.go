package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// raise creates a run that asks immediately and reports whether a rule settled it.
func raise(h *harness, store runs.Store, sessionID string) (settled bool, err error) {
	suspension := approvals("a")
	reply, err := store.Do(h.ctx, &runs.CreateRun{
		SessionID: sessionID, SessionGiven: true, Input: api.JSON(`1`),
		Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &suspension,
	})
	if err != nil {
		return false, err
	}
	return reply.Run.Run.Status == api.StatusRunning, nil
}

// raiseWhile lets many goroutines raise approvals, each in its own sessions, until change has
// returned and each has raised one more. It returns the numbers settled by a rule when change
// returned, and in the end.
func (h *harness) raiseWhile(round, ruleID string, change func(), stores []runs.Store) (before, after int64) {
	h.Helper()
	const raisers = 16
	var changed atomic.Bool
	var wait sync.WaitGroup
	errs := make([]error, raisers)
	started := make(chan struct{}, raisers)
	for i := range raisers {
		wait.Go(func() {
			for n, late := 0, false; !late && errs[i] == nil; n++ {
				late = changed.Load()
				var settled bool
				settled, errs[i] = raise(h, stores[i%len(stores)], fmt.Sprintf("s-%s-%d-%d", round, i, n))
				if settled && late {
					errs[i] = errors.New("what was raised after the change was settled by the rule")
				}
				if n == 0 {
					started <- struct{}{}
				}
			}
		})
	}
	for range raisers {
		<-started
	}
	change()
	before = h.hits(ruleID)
	changed.Store(true)
	wait.Wait()
	for _, err := range errs {
		require.NoError(h, err)
	}
	return before, h.hits(ruleID)
}

// hits returns how many requests a rule has settled.
func (h *harness) hits(ruleID string) int64 {
	h.Helper()
	return h.rule(ruleID).Hits
}

// changesHoldAtOnce changes rules of all sessions through the last store while approvals are
// raised in all of them.
func changesHoldAtOnce(h *harness, stores ...runs.Store) {
	h.Helper()
	last := stores[len(stores)-1]
	do := func(command runs.Command) {
		_, err := last.Do(h.ctx, command)
		require.NoError(h, err)
	}
	for round := range 10 {
		do(&runs.AddRule{RuleID: numbered("l", round), ToolName: "bash", Match: anyInput})
		before, after := h.raiseWhile(numbered("revoked", round), numbered("l", round), func() {
			do(&runs.RevokeRule{RuleID: numbered("l", round)})
		}, stores)
		require.Positive(h, before)
		require.Equal(h, before, after, "nothing is settled by it when the reply has come")
	}
	do(&runs.AddRule{RuleID: "l", ToolName: "bash", Match: anyInput})
	for round := range 5 {
		ask := numbered("ask", round)
		before, after := h.raiseWhile(ask, "l", func() {
			do(&runs.AddRule{RuleID: ask, Effect: api.RuleAsk, ToolName: "bash", Match: anyInput})
		}, stores)
		require.Positive(h, before)
		require.Equal(h, before, after, "somebody is asked when the reply has come")
		do(&runs.RevokeRule{RuleID: ask})
	}
}

var ruleRaceTests = map[string]func(*harness){
	"race/a change of rules holds at once": func(h *harness) { changesHoldAtOnce(h, h.store) },
}

var ruleReplicaTests = map[string]func(*harness){
	"replicas/a change of rules holds at once": func(h *harness) { changesHoldAtOnce(h, h.store, h.open(), h.open()) },
	"replicas/a bound is kept": func(h *harness) {
		stores := []runs.Store{h.store, h.open()}
		h.do(&runs.AddRule{SessionID: "s", RuleID: "l", ToolName: "bash", Match: anyInput, MaxUses: 7})
		h.do(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
		h.do(&runs.Suspend{RunID: "r", Fence: 1, Suspension: api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{withTool(approval("first"), "write")}}})
		ask := func(n int) error {
			held := approvals(numbered("a", n))
			held.Hold = true
			_, err := stores[n%2].Do(h.ctx, &runs.Suspend{RunID: "r", Fence: 1, Suspension: held})
			return err
		}
		uses := func() int64 {
			record := h.rule("l")
			require.Equal(h, record.Rule.Uses, record.Hits, "each use is a request that the rule has settled")
			return record.Rule.Uses
		}
		each(h, 20, ask)
		require.LessOrEqual(h, uses(), int64(7))
		// Each use changes the rules. A request that met too many changes is for people, so there may be
		// uses left for those that come one at a time.
		for n := 20; n < 28; n++ {
			require.NoError(h, ask(n))
		}
		require.EqualValues(h, 7, uses())
	},
}

func withTool(request api.ApprovalRequest, tool string) api.ApprovalRequest {
	request.ToolName = tool
	return request
}
