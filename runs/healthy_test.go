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

// checkHealthy examines the rows of all sessions.
func (h *house) checkHealthy() { h.t.Helper(); h.examine(h) }

// checkExamined examines the rows of one session.
func (h *house) checkExamined(sessionID string) { h.t.Helper(); h.examine(oneSession{h, sessionID}) }

// examine requires that the rows satisfy every invariant of package doctor.
func (h *house) examine(walker model.Walker) {
	h.t.Helper()
	_, err := doctor.Examine(context.Background(), walker, func(finding doctor.Finding) {
		require.Fail(h.t, "an invariant is broken", "%+v", finding)
	})
	require.NoError(h.t, err)
}

// Walk implements [model.Walker].
func (h *house) Walk(_ context.Context, visit func(*model.SessionRows) error) error {
	sessionIDs := slices.Collect(maps.Keys(h.states))
	for _, rule := range h.rules {
		sessionIDs = append(sessionIDs, rule.SessionID)
	}
	slices.Sort(sessionIDs)
	for _, sessionID := range slices.Compact(sessionIDs) {
		if err := visit(h.rowsOf(sessionID)); err != nil {
			return err
		}
	}
	return nil
}

// oneSession walks the rows of one session of a house.
type oneSession struct {
	*house
	sessionID string
}

// Walk implements [model.Walker].
func (s oneSession) Walk(_ context.Context, visit func(*model.SessionRows) error) error {
	return visit(s.rowsOf(s.sessionID))
}

func (h *house) rowsOf(sessionID string) *model.SessionRows {
	state := h.states[sessionID]
	if state == nil {
		state = runs.NewState(sessionID)
	}
	return &model.SessionRows{
		SessionID: sessionID, Session: state.Session,
		Runs: sequenceOf(maps.Values(state.Runs)), Requests: sequenceOf(maps.Values(state.Requests)),
		Events: sequenceOf(slices.Values(h.events[sessionID])), Records: sequenceOf(maps.Values(state.Records)),
		Effects: sequenceOf(maps.Values(state.Effects)), Messages: sequenceOf(maps.Values(state.Messages)),
		Rules: sequenceOf(slices.Values(h.rulesOf(sessionID))),
	}
}

func sequenceOf[R any](rows func(func(*R) bool)) model.RowSequence[R] {
	return func(yield func(*R, error) bool) {
		for row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// rulesOf returns the rules for a session, or for all sessions, oldest first.
func (h *house) rulesOf(sessionID string) []*rules.Rule {
	var rules []*rules.Rule
	for _, ruleID := range slices.Sorted(maps.Keys(h.rules)) {
		if h.rules[ruleID].SessionID == sessionID {
			rules = append(rules, h.rules[ruleID])
		}
	}
	return rules
}
