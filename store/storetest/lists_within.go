package storetest

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// page reads the page of a list after the last row of the previous one, and returns its keys.
type page func(limit int, budget *reads.Budget) []string

// budgetTests show that a page ends at its bytes, and that nothing is lost by that.
var budgetTests = map[string]func(*harness){
	"list/every page ends at its bytes": func(h *harness) {
		const rows, bytes = 9, 4000
		text := strings.Repeat("x", bytes)
		for n := range rows {
			suspension := approvals("a")
			suspension.Approvals[0].Reason = text
			suspension.Questions = questions("q").Questions
			suspension.Questions[0].Questions[0].Question = text
			h.do(&runs.CreateSession{SessionID: numbered("s", n), Metadata: api.JSON(fmt.Sprintf(`{"note":%q}`, text))})
			h.wait(numbered("s", n), numbered("r", n), suspension)
			h.do(&runs.AddRule{SessionID: "*", RuleID: numbered("l", n), ToolName: "other", Match: anyInput, Reason: text, Actor: person})
		}
		for name, fresh := range h.pages() {
			all := fresh()(100, nil)
			require.NotEmpty(h, all, name)
			for _, wanted := range []struct {
				maxBytes, pages int // 0: any number
				cut             bool
			}{{1, len(all), true}, {3 * bytes, 0, true}, {1 << 20, 1, false}} {
				next, budget := fresh(), &reads.Budget{MaxBytes: wanted.maxBytes}
				var seen []string
				for pages := 1; ; pages++ {
					rows := next(100, budget)
					seen = append(seen, rows...)
					if pages == 1 {
						require.Equal(h, wanted.cut, budget.Cut, "%s within %d", name, wanted.maxBytes)
						require.LessOrEqual(h, len(rows)*bytes, max(wanted.maxBytes, bytes), "%s within %d", name, wanted.maxBytes)
					}
					if !budget.Cut {
						require.True(h, wanted.pages == 0 || wanted.pages == pages, "%s within %d: %d pages", name, wanted.maxBytes, pages)
						break
					}
					require.NotEmpty(h, rows, name)
				}
				require.Equal(h, all, seen, "%s within %d", name, wanted.maxBytes)
			}
			next, budget := fresh(), &reads.Budget{MaxBytes: 1 << 20}
			require.Equal(h, all[:2], next(2, budget), name)
			require.False(h, budget.Cut, "the limit is none of the bytes'")
		}
		// The last ones that fit, not the first.
		budget := &reads.Budget{MaxBytes: 3 * 3 * bytes}
		last := h.runs(reads.RunQuery{Last: true, Limit: 100, Budget: budget})
		require.True(h, budget.Cut)
		require.Less(h, len(last), rows)
		require.Equal(h, numbered("r", rows-1), last[len(last)-1].Run.RunID)
	},
}

// pages returns, for each list, a function that reads its first page.
func (h *harness) pages() map[string]func() page {
	lists := map[string]func() page{
		"sessions": func() page {
			var q reads.SessionQuery
			return func(limit int, budget *reads.Budget) (keys []string) {
				q.Limit, q.Budget = limit, budget
				rows, err := h.store.Sessions(h.ctx, q)
				require.NoError(h, err)
				for i := range rows {
					q.After = rows[i].Session.SessionID
					keys = append(keys, q.After)
				}
				return keys
			}
		},
		"rules": func() page {
			var q reads.RuleQuery
			return func(limit int, budget *reads.Budget) (keys []string) {
				q.Limit, q.Budget = limit, budget
				rows, err := h.store.Rules(h.ctx, q)
				require.NoError(h, err)
				for i := range rows {
					q.After = &reads.RulePosition{CreatedAtMs: rows[i].Rule.CreatedAtMs, RuleID: rows[i].Rule.RuleID}
					keys = append(keys, q.After.RuleID)
				}
				return keys
			}
		},
	}
	for name, priority := range map[string]bool{"runs": false, "runs, active first": true} {
		lists[name] = func() page {
			q := reads.RunQuery{PriorityActive: priority}
			return func(limit int, budget *reads.Budget) (keys []string) {
				q.Limit, q.Budget = limit, budget
				rows := h.runs(q)
				for i := range rows {
					require.Len(h, rows[i].Requests, 2)
					q.After = &reads.RunPosition{SubmittedAtMs: rows[i].Run.SubmittedAtMs, RunID: rows[i].Run.RunID}
					keys = append(keys, q.After.RunID)
				}
				return keys
			}
		}
	}
	for name, kind := range map[string]model.RequestKind{"approvals": model.KindApproval, "questions": model.KindQuestion} {
		lists[name] = func() page {
			q := reads.RequestQuery{Kind: kind}
			return func(limit int, budget *reads.Budget) (keys []string) {
				q.Limit, q.Budget = limit, budget
				rows := h.pending(q)
				for i := range rows {
					request := &rows[i].Request
					q.After = &reads.RequestPosition{SessionID: request.SessionID, RunID: request.RunID, RequestID: request.RequestID}
					keys = append(keys, request.RunID)
				}
				return keys
			}
		}
	}
	return lists
}
