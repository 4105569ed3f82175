//go:build unix && faults

package linearizability

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// tally counts the covered situations of a history.
type tally map[string]int

// Situations that a history must cover for its check to be meaningful.
const (
	tallyAllowed   = "allowed"
	tallyDenied    = "denied"
	tallyAnswered  = "answered"
	tallyDeclined  = "declined"
	tallyCancelled = "cancelled"
	tallyExpired   = "shown as expired"
	tallyLost      = "lost a race"
	tallyRepeated  = "repeated with a key"
	tallyReplayed  = "repeated under a fence"
	tallyReplaced  = "repeated under a fence that is not the newest"
	tallyStale     = "refused for a stale fence"
	tallyTakenOver = "taken over after a lease lapsed"
	tallyCompleted = "completed"
	tallyUnknown   = "unknown outcome"
	tallyCalls     = "calls"
	tallyRuns      = "runs"
)

var tallyOrder = []string{
	tallyCalls, tallyRuns, tallyUnknown, tallyAllowed, tallyDenied, tallyAnswered, tallyDeclined, tallyCancelled,
	tallyExpired, tallyLost, tallyRepeated, tallyReplayed, tallyReplaced, tallyStale, tallyTakenOver, tallyCompleted,
}

func tallyOf(histories map[string][]porcupine.Operation) tally {
	counted := tally{tallyRuns: len(histories)}
	for _, calls := range histories {
		counted[tallyCalls] += len(calls)
		counted[tallyTakenOver] += takenOver(calls)
		counted[tallyReplaced] += replaced(calls)
		for _, call := range calls {
			counted.count(call.Input.(input), call.Output.(output))
		}
	}
	return counted
}

func (c tally) add(other tally) {
	for what, count := range other {
		c[what] += count
	}
}

func (c tally) count(in input, out output) {
	switch {
	case out.Unknown:
		c[tallyUnknown]++
		return
	case out.Code == api.CodeLeaseLost:
		c[tallyStale]++
	case out.Recorded.Outcome != "":
		c[tallyLost]++
	case out.Code != "":
	case out.Repeated && in.Fence != 0:
		c[tallyReplayed]++
	case out.Repeated && in.Kind != callCreate:
		c[tallyRepeated]++
	case in.Kind == callComplete:
		c[tallyCompleted]++
	case in.Kind == callResolve || in.Kind == callAnswer || in.Kind == callCancelQuestion:
		for _, one := range in.Decisions {
			c[string(one.Outcome)]++
		}
	}
	if slices.ContainsFunc(out.Settled[:], func(s settled) bool { return s.Outcome == api.OutcomeExpired }) ||
		out.Recorded.Outcome == api.OutcomeExpired {
		c[tallyExpired]++
	}
}

// takenOver counts the claims after a holder that did nothing to end its lease.
func takenOver(calls []porcupine.Operation) (count int) {
	ended := map[int64]bool{}
	lapses := map[int64]int64{}
	for _, call := range calls {
		in, out := call.Input.(input), call.Output.(output)
		switch {
		case in.Kind == callClaim && out.Fence != 0:
			lapses[out.Fence] = out.LapsesAtMs
		case (in.Kind == callSuspend || in.Kind == callRelease) && out.Code == "":
			ended[in.Fence] = true
		}
	}
	for fence := range lapses {
		if lapses[fence-1] != 0 && !ended[fence-1] {
			count++
		}
	}
	return count
}

// replaced counts the repeated calls with a fence that another claim had replaced before.
func replaced(calls []porcupine.Operation) (count int) {
	for _, call := range calls {
		in, out := call.Input.(input), call.Output.(output)
		if out.Repeated && in.Fence != 0 && slices.ContainsFunc(calls, func(other porcupine.Operation) bool {
			return other.Return < call.Call && other.Output.(output).Fence > in.Fence
		}) {
			count++
		}
	}
	return count
}

// complete reports whether the load has covered all situations.
func (c tally) complete() bool {
	return !slices.ContainsFunc(tallyOrder, func(what string) bool { return c[what] == 0 })
}

// requireAll fails if the load has missed a situation.
func (c tally) requireAll(t *testing.T) {
	t.Helper()
	for _, what := range tallyOrder {
		require.NotZero(t, c[what], "the load shows nothing that was %s: %s", what, c)
	}
}

func (c tally) String() string {
	parts := make([]string, len(tallyOrder))
	for i, what := range tallyOrder {
		parts[i] = fmt.Sprintf("%d %s", c[what], what)
	}
	return strings.Join(parts, ", ")
}
