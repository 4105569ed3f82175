package runs_test

import (
	"context"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// checkHealthy has the doctor look at all rows: what the door writes, he finds
// nothing wrong with.
func (h *house) checkHealthy() {
	h.t.Helper()
	_, err := doctor.Examine(context.Background(), h, func(finding doctor.Finding) {
		require.Fail(h.t, "the doctor finds something", "%+v", finding)
	})
	require.NoError(h.t, err)
}

// Walk implements runs.Walker.
func (h *house) Walk(_ context.Context, visit func(*model.SessionRows) error) error {
	sessionIDs := slices.Collect(maps.Keys(h.states))
	for _, rule := range h.rules {
		sessionIDs = append(sessionIDs, rule.SessionID)
	}
	slices.Sort(sessionIDs)
	for _, sessionID := range slices.Compact(sessionIDs) {
		state := h.states[sessionID]
		if state == nil {
			state = runs.NewState(sessionID)
		}
		err := visit(&model.SessionRows{
			SessionID: sessionID, Session: state.Session,
			Runs: rowsOf(maps.Values(state.Runs)), Requests: rowsOf(maps.Values(state.Requests)),
			Events: rowsOf(slices.Values(h.events[sessionID])), Records: rowsOf(maps.Values(state.Records)),
			Effects: rowsOf(maps.Values(state.Effects)), Messages: rowsOf(maps.Values(state.Messages)),
			Rules: rowsOf(slices.Values(h.rulesOf(sessionID))),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func rowsOf[R any](rows func(func(*R) bool)) model.RowSequence[R] {
	return func(yield func(*R, error) bool) {
		for row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// rulesOf returns the rules that are bound to a session, or those of all sessions,
// oldest first.
func (h *house) rulesOf(sessionID string) []*rules.Rule {
	var rules []*rules.Rule
	for _, ruleID := range slices.Sorted(maps.Keys(h.rules)) {
		if h.rules[ruleID].SessionID == sessionID {
			rules = append(rules, h.rules[ruleID])
		}
	}
	return rules
}
