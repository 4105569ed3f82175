//go:build unix

package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/test/rig"
)

// The history of a correct service. Each change is something that a faulty service would
// record or reply.
func TestProblemsNamesEveryBrokenPromise(t *testing.T) {
	t.Parallel()
	resolved := func(outcome api.Outcome) api.Resolution {
		return api.Resolution{RequestID: "deploy", Outcome: outcome}
	}
	allowed := rig.RunRecord{
		Status: api.StatusCompleted, Ends: 1, Resolutions: []api.Resolution{resolved(api.OutcomeAllowed)},
	}
	open := rig.RunRecord{Status: api.StatusWaitingForApproval}
	history := func(change func(*rig.History)) rig.History {
		h := rig.History{
			Created: []string{"decided", "open", "unknown"}, Completed: []string{"decided"},
			Decisions: []rig.Decision{
				{RunID: "decided", RequestID: "deploy", Outcome: api.OutcomeAllowed, Reply: rig.Acknowledged},
				{RunID: "decided", RequestID: "deploy", Outcome: api.OutcomeDenied, Reply: rig.Refused, Recorded: api.OutcomeAllowed},
				{RunID: "unknown", RequestID: "deploy", Outcome: api.OutcomeDenied},
			},
			Claims: []rig.Claim{
				{RunID: "decided", Fence: "1", Outcomes: []api.Outcome{api.OutcomeAllowed}},
				{RunID: "decided", Fence: "2", Outcomes: []api.Outcome{api.OutcomeAllowed}},
			},
		}
		change(&h)
		return h
	}
	as := func(change func(rig.Records)) rig.Records {
		records := rig.Records{"decided": allowed, "open": open, "unknown": open}
		change(records)
		return records
	}
	unchanged := as(func(rig.Records) {})

	for name, test := range map[string]struct {
		change  func(*rig.History)
		records rig.Records
		problem string // empty for none
	}{
		"nothing": {records: unchanged},
		"an unknown decision took effect": {records: as(func(r rig.Records) {
			r["unknown"] = rig.RunRecord{Status: api.StatusRunning, Resolutions: []api.Resolution{resolved(api.OutcomeDenied)}}
		})},
		"a decision is missing": {
			records: as(func(r rig.Records) { r["decided"] = open }),
			problem: "run decided: allowed was acknowledged and is missing",
		},
		"another outcome": {
			records: as(func(r rig.Records) {
				r["decided"] = rig.RunRecord{Status: api.StatusCompleted, Ends: 1, Resolutions: []api.Resolution{resolved(api.OutcomeDenied)}}
			}),
			problem: "run decided: allowed was acknowledged and denied is on record",
		},
		"decided twice": {
			records: as(func(r rig.Records) {
				r["decided"] = rig.RunRecord{
					Status: api.StatusCompleted, Ends: 1,
					Resolutions: []api.Resolution{resolved(api.OutcomeAllowed), resolved(api.OutcomeAllowed)},
				}
			}),
			problem: "run decided was decided 2 times: [allowed allowed]",
		},
		"both rivals are acknowledged": {
			change:  func(h *rig.History) { h.Decisions[1].Reply = rig.Acknowledged },
			records: unchanged,
			problem: "run decided: denied was acknowledged and allowed is on record",
		},
		"refused for what is not on record": {
			change: func(h *rig.History) {
				h.Decisions[2].Reply, h.Decisions[2].Recorded = rig.Refused, api.OutcomeAllowed
			},
			records: unchanged,
			problem: "run unknown: denied was refused because of allowed, and [] is on record",
		},
		"a key is forgotten": {
			change: func(h *rig.History) {
				h.Decisions[0].Reply, h.Decisions[0].Recorded = rig.Refused, api.OutcomeAllowed
			},
			records: unchanged,
			problem: "run decided: allowed took effect and its key was forgotten",
		},
		"nobody decided that": {
			records: as(func(r rig.Records) {
				r["unknown"] = rig.RunRecord{Resolutions: []api.Resolution{resolved(api.OutcomeAllowed)}}
			}),
			problem: "run unknown has allowed on record, which nobody decided",
		},
		"a run is gone": {
			records: as(func(r rig.Records) { delete(r, "open") }),
			problem: "run open was acknowledged and is gone",
		},
		"a run goes on after its end": {
			records: as(func(r rig.Records) {
				going := allowed
				going.Status = api.StatusRunning
				r["decided"] = going
			}),
			problem: `run decided was acknowledged as completed, is "running" and has ended 1 times`,
		},
		"a run ends twice": {
			records: as(func(r rig.Records) {
				twice := allowed
				twice.Ends = 2
				r["decided"] = twice
			}),
			problem: `run decided was acknowledged as completed, is "completed" and has ended 2 times`,
		},
		"a fence is handed out twice": {
			change:  func(h *rig.History) { h.Claims[1].Fence = "1" },
			records: unchanged,
			problem: "run decided: fence 1 was handed out twice",
		},
		"another decision is handed over": {
			change:  func(h *rig.History) { h.Claims[1].Outcomes = []api.Outcome{api.OutcomeDenied} },
			records: unchanged,
			problem: "run decided was handed over with [denied], and [allowed] is on record",
		},
		"an answer that should not be given": {
			change:  func(h *rig.History) { h.Unexpected = []string{"HTTP 500"} },
			records: unchanged,
			problem: "HTTP 500",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.change == nil {
				test.change = func(*rig.History) {}
			}
			h := history(test.change)
			problems := h.Problems(test.records)
			if test.problem == "" {
				require.Empty(t, problems)
			} else {
				require.Contains(t, problems, test.problem)
			}
		})
	}
}
