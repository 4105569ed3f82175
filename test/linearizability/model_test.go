//go:build unix && faults

package linearizability

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/test/rig"
)

// told is a call in a hand-written history.
type told struct {
	fromMs, toMs int64
	in           input
	out          output
}

// The calls of the histories below. Each takes 10 ms, one after the other from 0, unless between is
// used.
func calling(in input, out output) told { return told{in: in, out: out} }

func (c told) between(fromMs, toMs int64) told {
	c.fromMs, c.toMs = fromMs, toMs
	return c
}

func (c told) unknown() told {
	c.out = output{Unknown: true}
	return c
}

func (c told) refused(code api.Code) told {
	c.out = output{Code: code}
	return c
}

func (c told) refusedFor(code api.Code, slot int, outcome api.Outcome, name string) told {
	c.out = output{Code: code, RecordedSlot: slot, Recorded: settled{outcome, name + "#"}}
	return c
}

func (c told) repeated() told {
	c.out.Repeated = true
	return c
}

func (c told) again(status api.Status) told {
	c.out.Repeated, c.out.Status = true, status
	return c
}

func (c told) shown(slot int, outcome api.Outcome, mark string) told {
	c.out.Settled[slot] = settled{outcome, mark}
	return c
}

func creating() told { return calling(input{Kind: callCreate, Key: 1}, output{}) }

func claiming(fence int64) told {
	return calling(input{Kind: callClaim, LeaseMs: leaseMs}, output{Fence: fence})
}

func suspending(fence int64, round int, requests ...asked) told {
	return calling(input{Kind: callSuspend, Fence: fence, Round: round, Asked: requests}, output{})
}

func resolving(mark string, slot int, outcome api.Outcome) told {
	return calling(input{Kind: callResolve, Mark: mark, Decisions: []decision{{slot, outcome}}}, output{})
}

func answering(mark string, slot int, outcome api.Outcome) told {
	return calling(input{Kind: callAnswer, Mark: mark, Decisions: []decision{{slot, outcome}}}, output{})
}

func releasing(fence int64, variant int) told {
	return calling(input{Kind: callRelease, Fence: fence, Variant: variant}, output{})
}

func completing(fence int64, mark string) told {
	return calling(input{Kind: callComplete, Fence: fence, Mark: mark}, output{})
}

func beating(fence int64) told {
	return calling(input{Kind: callHeartbeat, Fence: fence, LeaseMs: leaseMs}, output{})
}

func cancelling(mark string) told {
	return calling(input{Kind: callCancelRun, Mark: mark}, output{Status: api.StatusCancelled})
}

func reading(status api.Status) told {
	return calling(input{Kind: callRead}, output{Status: status})
}

func keyed(c told, key, variant int) told {
	c.in.Key, c.in.Variant = key, variant
	return c
}

// startMs is the time of day at which the histories begin.
const startMs = 1_000_000

func historyOf(calls []told) []porcupine.Operation {
	var history []porcupine.Operation
	nowMs := int64(0)
	for i, c := range calls {
		if c.toMs == 0 {
			c.fromMs, c.toMs = nowMs+1, nowMs+10
		}
		nowMs = max(nowMs, c.toMs)
		c.in.CallMs, c.out.ReturnMs = startMs+c.fromMs, startMs+c.toMs
		if c.in.LeaseMs != 0 && c.out.LapsesAtMs == 0 && c.out.Code == "" && !c.out.Unknown {
			c.out.LapsesAtMs = c.out.ReturnMs + c.in.LeaseMs
		}
		if c.out.Unknown {
			c.toMs, c.out.ReturnMs = 1_000_000, startMs+1_000_000
		}
		history = append(history, porcupine.Operation{
			ClientId: i, Input: c.in, Output: c.out,
			Call: c.fromMs * int64(time.Millisecond), Return: c.toMs * int64(time.Millisecond),
		})
	}
	return history
}

var (
	approval = asked{Slot: 0}
	question = asked{Slot: 0, Question: true}
)

// suspended begins most of the histories: a run that waits, under its first fence.
func suspended(requests []asked, then ...told) []told {
	return append([]told{creating(), claiming(1), suspending(1, 0, requests...)}, then...)
}

func TestTheModelAllowsWhatTheServicePromises(t *testing.T) {
	t.Parallel()
	due := asked{Slot: 0, DueAtMs: startMs + 500}
	dueQuestion := asked{Slot: 0, Question: true, DueAtMs: startMs + 500}
	for name, calls := range map[string][]told{
		"a whole wait": suspended([]asked{approval},
			resolving("ann#1", 0, api.OutcomeAllowed),
			claiming(2).shown(0, api.OutcomeAllowed, "ann#1"),
			suspending(2, 1, asked{Slot: 2, Question: true}),
			answering("bob#1", 2, api.OutcomeDeclined),
			claiming(3).shown(2, api.OutcomeDeclined, "bob#1"),
			completing(3, "cy#1"),
			calling(input{Kind: callRead}, output{Status: api.StatusCompleted, Result: "cy#1"})),
		"the loser of a race is told what was decided": suspended([]asked{approval},
			resolving("ann#1", 0, api.OutcomeAllowed).between(50, 60),
			resolving("bob#1", 0, api.OutcomeDenied).refusedFor(api.CodeApprovalStateConflict, 0, api.OutcomeAllowed, "ann").between(50, 60)),
		"a decision of which nobody heard took effect": suspended([]asked{approval},
			resolving("ann#1", 0, api.OutcomeAllowed).unknown(),
			reading(api.StatusWaitingForApproval).opens(0),
			claiming(2).shown(0, api.OutcomeAllowed, "ann#1")),
		"a decision of which nobody heard took no effect": suspended([]asked{approval},
			resolving("ann#1", 0, api.OutcomeAllowed).unknown(),
			resolving("bob#1", 0, api.OutcomeDenied),
			claiming(2).shown(0, api.OutcomeDenied, "bob#1")),
		"a claim of which nobody heard used a fence":  {creating(), claiming(0).unknown(), claiming(2)},
		"a lease that lapsed is claimed again":        {creating(), claiming(1), claiming(2).between(1100, 1110)},
		"a lease may lapse while it is asked for":     {creating(), claiming(1), claiming(2).between(100, 1110)},
		"a lapsed fence that nobody took over counts": {creating(), claiming(1), beating(1).between(3000, 3010)},
		"a heartbeat puts the lapse off":              {creating(), claiming(1), beating(1).between(900, 910), claiming(0).refused(api.CodeRunNotClaimable).between(1500, 1510)},
		"an approval expires and the run goes on":     suspended([]asked{due}, claiming(2).shown(0, api.OutcomeExpired, systemMark).between(600, 610)),
		"an answer comes before the deadline":         suspended([]asked{dueQuestion}, answering("ann#1", 0, api.OutcomeAnswered).between(480, 490)),
		"an answer comes after the deadline":          suspended([]asked{dueQuestion}, answering("ann#1", 0, api.OutcomeAnswered).refusedFor(api.CodeQuestionExpired, 0, api.OutcomeExpired, systemName).between(510, 520), reading(api.StatusCancelled)),
		"a deadline is not yet seen by a reader":      suspended([]asked{due}, reading(api.StatusWaitingForApproval).opens(0).between(600, 610)),
		"a repeated call is known by its key":         suspended([]asked{approval}, keyed(resolving("ann#1", 0, api.OutcomeDenied), 2, 0), keyed(resolving("ann#1", 0, api.OutcomeDenied), 2, 0).repeated()),
		"a key that was used for something else":      suspended([]asked{approval}, keyed(resolving("ann#1", 0, api.OutcomeDenied), 2, 0), keyed(resolving("ann#2", 0, api.OutcomeAllowed), 2, 1).refused(api.CodeIdempotencyConflict)),
		"the same suspend again while it waits":       suspended([]asked{approval}, suspending(1, 0, approval).again(api.StatusWaitingForApproval)),
		"the same suspend again with an old fence": suspended([]asked{approval}, resolving("ann#1", 0, api.OutcomeAllowed),
			claiming(2).shown(0, api.OutcomeAllowed, "ann#1"),
			suspending(1, 0, approval).again(api.StatusRunning),
			beating(2), completing(2, "cy#1"),
			suspending(1, 0, approval).again(api.StatusCompleted)),
		"each of two suspends again, when the run is over": suspended([]asked{approval}, resolving("ann#1", 0, api.OutcomeAllowed),
			claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(2, 1, asked{Slot: 2}), cancelling("ann#2"),
			suspending(1, 0, approval).again(api.StatusCancelled),
			suspending(2, 1, asked{Slot: 2}).again(api.StatusCancelled)),
		"another suspend by the id of one": suspended([]asked{approval},
			suspending(1, 0, due).refused(api.CodeIDConflict), resolving("ann#1", 0, api.OutcomeAllowed),
			claiming(2).shown(0, api.OutcomeAllowed, "ann#1"),
			suspending(1, 0, due).refused(api.CodeLeaseLost)),
		"each of two releases again": {
			creating(), claiming(1), releasing(1, 0), claiming(2), releasing(2, 1), claiming(3),
			releasing(1, 0).again(api.StatusRunning), releasing(2, 1).again(api.StatusRunning),
			releasing(1, 1).refused(api.CodeLeaseLost), releasing(2, 0).refused(api.CodeLeaseLost), completing(3, "cy#1"),
			releasing(1, 0).again(api.StatusCompleted),
		},
		"a suspend of which nobody heard, again": {
			creating(), claiming(1), suspending(1, 0, approval).unknown(),
			suspending(1, 0, approval).again(api.StatusWaitingForApproval),
		},
		"a cancelled run takes its requests with it":       suspended([]asked{approval}, cancelling("ann#1"), resolving("bob#1", 0, api.OutcomeAllowed).refusedFor(api.CodeRunStateConflict, 0, api.OutcomeCancelled, "ann")),
		"the holder of a cancelled run is told to stop":    {creating(), claiming(1), cancelling("ann#1"), calling(input{Kind: callHeartbeat, Fence: 1, LeaseMs: leaseMs}, output{CancelRequested: true, LapsesAtMs: 1})},
		"who had suspended a cancelled run holds no lease": suspended([]asked{approval}, cancelling("ann#1"), beating(1).refused(api.CodeLeaseLost)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(approvals(), historyOf(calls), 5*rig.Patience))
		})
	}
}

func TestTheModelRefusesWhatTheServiceMustNotDo(t *testing.T) {
	t.Parallel()
	due := asked{Slot: 0, DueAtMs: startMs + 500}
	decided := func(then ...told) []told {
		return append(suspended([]asked{approval}, resolving("ann#1", 0, api.OutcomeAllowed)), then...)
	}
	for name, calls := range map[string][]told{
		"two claims get one fence":                      {creating(), claiming(1).between(20, 30), claiming(1).between(20, 30)},
		"two claims hold one lease":                     {creating(), claiming(1), claiming(2).between(500, 510)},
		"a heartbeat did not put the lapse off":         {creating(), claiming(1), beating(1).between(900, 910), claiming(2).between(1500, 1510)},
		"a lapsed lease is never claimed again":         {creating(), claiming(1), claiming(0).refused(api.CodeRunNotClaimable).between(2000, 2010)},
		"a fence that does not grow":                    decided(claiming(1).shown(0, api.OutcomeAllowed, "ann#1")),
		"a stale fence still counts":                    decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), completing(1, "cy#1")),
		"the newest fence does not count":               {creating(), claiming(1), completing(1, "cy#1").refused(api.CodeLeaseLost)},
		"a lease by a wrong clock":                      {creating(), wrongLapse(claiming(1), 3_600_000)},
		"a heartbeat by a wrong clock":                  {creating(), claiming(1), wrongLapse(beating(1), -500)},
		"two decisions are accepted":                    suspended([]asked{approval}, resolving("ann#1", 0, api.OutcomeAllowed).between(50, 60), resolving("bob#1", 0, api.OutcomeDenied).between(50, 60)),
		"the same decision is accepted twice":           suspended([]asked{approval}, resolving("ann#1", 0, api.OutcomeAllowed).between(50, 60), resolving("bob#1", 0, api.OutcomeAllowed).between(50, 60)),
		"a claim is told another decision":              decided(claiming(2).shown(0, api.OutcomeDenied, "ann#1")),
		"a claim is told somebody else's":               decided(claiming(2).shown(0, api.OutcomeAllowed, "bob#1")),
		"an acknowledged decision is lost":              decided(reading(api.StatusWaitingForApproval).opens(0)),
		"a run goes on that nobody decided":             suspended([]asked{approval}, claiming(2)),
		"a decision that nobody made":                   suspended([]asked{approval}, claiming(2).shown(0, api.OutcomeAllowed, "ann#1")),
		"a loser is told what was not decided":          decided(resolving("bob#1", 0, api.OutcomeDenied).refusedFor(api.CodeApprovalStateConflict, 0, api.OutcomeDenied, "ann")),
		"a loser is told of somebody else":              decided(resolving("bob#1", 0, api.OutcomeDenied).refusedFor(api.CodeApprovalStateConflict, 0, api.OutcomeAllowed, "bob")),
		"a reader does not see what is open":            suspended([]asked{approval}, reading(api.StatusWaitingForApproval)),
		"a loser is not told what was decided":          decided(resolving("bob#1", 0, api.OutcomeDenied).refused(api.CodeApprovalStateConflict)),
		"an open approval cannot be decided":            suspended([]asked{approval}, resolving("bob#1", 0, api.OutcomeDenied).refused(api.CodeApprovalStateConflict)),
		"an open question cannot be answered":           suspended([]asked{question}, answering("bob#1", 0, api.OutcomeAnswered).refused(api.CodeQuestionStateConflict)),
		"a request expires before its deadline":         suspended([]asked{due}, claiming(2).shown(0, api.OutcomeExpired, systemMark)),
		"a request that has no deadline expires":        suspended([]asked{approval}, claiming(2).shown(0, api.OutcomeExpired, systemMark).between(600, 610)),
		"a decision comes after the deadline":           suspended([]asked{due}, resolving("ann#1", 0, api.OutcomeAllowed).between(600, 610)),
		"expired, and decided all the same":             suspended([]asked{due}, claiming(2).shown(0, api.OutcomeExpired, systemMark).between(600, 610), claiming(3).shown(0, api.OutcomeAllowed, "ann#1").between(2000, 2010), resolving("ann#1", 0, api.OutcomeAllowed).unknown()),
		"a repeated call counts twice":                  suspended([]asked{approval}, keyed(resolving("ann#1", 0, api.OutcomeDenied), 2, 0), keyed(resolving("ann#1", 0, api.OutcomeDenied), 2, 0)),
		"a key is known that was not used":              suspended([]asked{approval}, keyed(resolving("ann#1", 0, api.OutcomeDenied), 2, 0).repeated()),
		"another suspend with an old fence is accepted": decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(1, 1, asked{Slot: 2})),
		"another suspend with an old fence is the same": decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(1, 1, asked{Slot: 2}).again(api.StatusRunning)),
		"another suspend by an old id is the same":      decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(1, 0, due).again(api.StatusRunning)),
		"a suspend with more requests is the same":      decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(1, 0, approval, asked{Slot: 1}).again(api.StatusRunning)),
		"another suspend of requests that were raised":  decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(2, 0, approval).again(api.StatusRunning)),
		"the same suspend with a fence to come":         suspended([]asked{approval}, suspending(2, 0, approval).again(api.StatusWaitingForApproval)),
		"the same suspend is refused":                   decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(1, 0, approval).refused(api.CodeLeaseLost)),
		"the same suspend is not called so":             decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(1, 0, approval)),
		"the same suspend is shown what is over":        decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(1, 0, approval).again(api.StatusWaitingForApproval)),
		"the same suspend raises its request again":     decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(1, 0, approval).again(api.StatusRunning), reading(api.StatusWaitingForApproval).opens(0)),
		"the same suspend ends another's lease":         decided(claiming(2).shown(0, api.OutcomeAllowed, "ann#1"), suspending(1, 0, approval).again(api.StatusRunning), beating(2).refused(api.CodeLeaseLost)),
		"a suspend is known that was not made":          {creating(), claiming(1), suspending(1, 0, approval).again(api.StatusRunning)},
		"another release with an old fence is the same": {creating(), claiming(1), releasing(1, 0), claiming(2), releasing(1, 1).again(api.StatusRunning)},
		"another release with an old fence is accepted": {creating(), claiming(1), releasing(1, 0), claiming(2), releasing(1, 1)},
		"a release with an old fence that made none":    {creating(), claiming(1), claiming(2).between(1100, 1110), releasing(1, 0).again(api.StatusRunning)},
		"the same release is refused":                   {creating(), claiming(1), releasing(1, 0), claiming(2), releasing(1, 0).refused(api.CodeLeaseLost)},
		"the same release gives another's lease back":   {creating(), claiming(1), releasing(1, 0), claiming(2), releasing(1, 0).again(api.StatusRunning), claiming(3)},
		"a run is made twice":                           {creating(), creating()},
		"a run completes twice":                         {creating(), claiming(1), completing(1, "cy#1"), completing(1, "di#1")},
		"a cancelled run goes on":                       {creating(), claiming(1), cancelling("ann#1"), completing(1, "cy#1")},
		"a cancel is lost":                              {creating(), claiming(1), cancelling("ann#1"), reading(api.StatusRunning)},
		"a reader sees what is over":                    suspended([]asked{approval}, cancelling("ann#1"), reading(api.StatusWaitingForApproval).opens(0)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(approvals(), historyOf(calls), 5*rig.Patience))
		})
	}
}

func (c told) opens(slot int) told {
	c.out.Open[slot] = true
	return c
}

// wrongLapse gives the lease of a call by a clock that is ahead by this much.
func wrongLapse(c told, aheadMs int64) told {
	c.out.LapsesAtMs = startMs + aheadMs + leaseMs
	return c
}
