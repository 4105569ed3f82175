package runs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// logged returns an error unless the change that settles requests has a line of the log for each.
func logged(change *runs.Change) error {
	for _, request := range change.SettledRequests {
		if !slices.ContainsFunc(change.Events, func(e *model.Event) bool {
			return e.Type == api.EventApprovalResolved && strings.Contains(string(e.Body), `"`+request.RequestID+`"`)
		}) {
			return fmt.Errorf("nothing says that %s was %s", request.RequestID, request.Outcome)
		}
	}
	return nil
}

// handedOver returns an error unless a worker can claim a run with the decision.
func (h *house) handedOver(state *runs.State, runID, requestID string) error {
	claim := &runs.ClaimRun{RunID: runID, WorkerID: "next"}
	if err := runs.Prepare(claim, h.newID); err != nil {
		return err
	}
	_, reply, err := runs.Decide(state, claim, h.nowMs)
	switch {
	case err != nil:
		return fmt.Errorf("the run does not go on: %w", err)
	case reply.Claim == nil || reply.Claim.Resume == nil || !slices.ContainsFunc(reply.Claim.Resume.Approvals, func(a api.SettledApproval) bool {
		return a.Request.ID == requestID && a.Resolution.Outcome == api.OutcomeAllowed
	}):
		return fmt.Errorf("the worker does not get the decision about %s", requestID)
	}
	return nil
}

// TestPlantedDefectsOfDecisionsAreFound: a decision has its line in the log and lets the run go on. A change without its
// event or run is noticed.
func TestPlantedDefectsOfDecisionsAreFound(t *testing.T) {
	t.Parallel()
	decide := func(t *testing.T, lose func(*runs.Change)) error {
		t.Helper()
		h := newHouse(t).wait("r", approval("a"))
		command := allow("r", "a")
		require.NoError(t, runs.Prepare(command, h.newID))
		state := copyState(h.load(command.Needs()))
		change, _, err := runs.Decide(state, command, h.nowMs)
		require.NoError(t, err)
		require.NotEmpty(t, change.SettledRequests)
		lose(&change)
		state.Apply(change)
		if err := logged(&change); err != nil {
			return err
		}
		return h.handedOver(state, "r", "a")
	}
	require.NoError(t, decide(t, func(*runs.Change) {}))
	for what, lose := range map[string]func(*runs.Change){
		"nothing says that a was allowed": func(c *runs.Change) { c.Events = nil },
		"the run does not go on":          func(c *runs.Change) { c.UpdatedRuns = nil },
	} {
		require.ErrorContains(t, decide(t, lose), what)
	}
}
