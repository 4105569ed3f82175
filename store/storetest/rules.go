package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// anyInput allows a tool whatever its input.
var anyInput = api.RuleMatch{AnyInput: true}

// addRule writes a rule that allows the tool that approval asks for.
func (h *harness) addRule(sessionID, ruleID string, match api.RuleMatch) {
	h.Helper()
	h.do(&runs.AddRule{SessionID: sessionID, RuleID: ruleID, ToolName: "bash", Match: match, Actor: person})
}

// settledBy creates a run that asks for one approval, and returns the rule that settled it, ""
// if a person must decide.
func (h *harness) settledBy(sessionID, runID string, request api.ApprovalRequest) string {
	h.Helper()
	h.wait(sessionID, runID, api.Suspension{Approvals: []api.ApprovalRequest{request}})
	settled := h.settledAfter(runID, 0)
	h.do(&runs.CancelRun{RunID: runID})
	if len(settled) == 0 {
		return ""
	}
	require.NotEmpty(h, settled[0].RuleID)
	return settled[0].RuleID
}

func withInput(request api.ApprovalRequest, input string) api.ApprovalRequest {
	request.Input = api.JSON(input)
	return request
}

func digestOf(h *harness, input string) api.RuleMatch {
	h.Helper()
	digest, err := document.Digest(api.JSON(input))
	require.NoError(h, err)
	return api.RuleMatch{InputDigest: digest}
}

// rules walks the list by its cursor.
func (h *harness) rule(ruleID string) *rules.Record {
	h.Helper()
	record, err := h.store.Rule(h.ctx, ruleID)
	require.NoError(h, err)
	return record
}

func (h *harness) rules(q reads.RuleQuery) []string {
	h.Helper()
	var ids []string
	for range 100 {
		page, err := h.store.Rules(h.ctx, q)
		require.NoError(h, err)
		require.LessOrEqual(h, len(page), q.Limit)
		for _, record := range page {
			ids = append(ids, fmt.Sprintf("%s %d", record.Rule.RuleID, record.Hits))
		}
		if len(page) < q.Limit {
			return ids
		}
		last := page[len(page)-1].Rule
		q.After = &reads.RulePosition{CreatedAtMs: last.CreatedAtMs, RuleID: last.RuleID}
	}
	require.Fail(h, "the list does not end")
	return nil
}

// rulesFor names the rules in force in a session.
func (h *harness) rulesFor(sessionID string, limit int) []string {
	h.Helper()
	rules, nowMs, err := h.store.RulesFor(h.ctx, sessionID, limit, &reads.Budget{MaxBytes: api.MaxReplyBytes})
	require.NoError(h, err)
	require.Equal(h, h.clock.NowMs(), nowMs)
	ids := []string{}
	for i := range rules {
		ids = append(ids, rules[i].RuleID)
	}
	return ids
}

var ruleTests = map[string]func(*harness){
	"rules/hold in their session, or in all": func(h *harness) {
		h.do(&runs.CreateSession{SessionID: "s-1"})
		h.addRule("s-1", "of-s-1", anyInput)
		// The session does not exist yet.
		h.addRule("s-2", "of-s-2", anyInput)
		require.Equal(h, "of-s-1", h.settledBy("s-1", "r-1", approval("a")))
		require.Equal(h, "of-s-2", h.settledBy("s-2", "r-2", approval("a")))
		require.Empty(h, h.settledBy("s-3", "r-3", approval("a")))
		h.clock.Advance(1)
		h.addRule("", "of-all", anyInput)
		require.Equal(h, "of-s-1", h.settledBy("s-1", "r-4", approval("a")), "it is older")
		require.Equal(h, "of-all", h.settledBy("s-3", "r-5", approval("a")))
		require.Equal(h, "of-all", h.settledBy("s-4", "r-6", approval("a")), "a session that the run makes")
	},
	"rules/of exact inputs are told apart": func(h *harness) {
		for n := range 20 {
			h.addRule("", numbered("l", n), digestOf(h, fmt.Sprintf(`{"n":%d}`, n)))
		}
		h.addRule("s-1", "own", digestOf(h, `{"n":100}`))
		suspension := api.Suspension{Approvals: []api.ApprovalRequest{
			withInput(approval("a"), `{"n":7}`), withInput(approval("b"), `{"n":7.0}`), withInput(approval("c"), `{"n":12}`),
			withInput(approval("d"), `{"n":30}`), withInput(approval("e"), `{"n":100}`),
		}}
		for n, sessionID := range []string{"s-1", "s-2"} {
			run := numbered("r", n)
			h.wait(sessionID, run, suspension)
			settled := h.settledAfter(run, 0)
			var made []string
			for i := range settled {
				made = append(made, settled[i].RequestID+" "+settled[i].RuleID)
			}
			require.Equal(h, []string{"a l-007", "b l-007", "c l-012", "e own"}[:4-n], made)
		}
	},
	"rules/no session is called as they are": func(h *harness) {
		h.addRule("", "l", anyInput)
		h.refuse(api.CodeInvalidRequest, &runs.CreateSession{SessionID: rules.AllSessions})
		h.refuse(api.CodeInvalidRequest, &runs.CreateRun{SessionID: rules.AllSessions, SessionGiven: true, Input: api.JSON(`1`)})
		h.refuse(api.CodeSessionNotFound, &runs.EndSession{SessionID: rules.AllSessions})
		h.refuse(api.CodeSessionNotFound, &runs.AmendSession{SessionID: rules.AllSessions, Metadata: api.JSON(`{}`)})
		_, err := h.store.Session(h.ctx, rules.AllSessions)
		requireCode(h, api.CodeSessionNotFound, err)
		_, err = h.store.SessionHead(h.ctx, rules.AllSessions)
		requireCode(h, api.CodeSessionNotFound, err)
		require.Equal(h, []string{"l"}, h.rulesFor(rules.AllSessions, 10))
	},
	"rules/one id is one rule": func(h *harness) {
		added := &runs.AddRule{SessionID: "s-1", RuleID: "l", ToolName: "bash", Match: anyInput}
		h.do(added)
		require.True(h, h.do(added).Existing)
		h.refuse(api.CodeIDConflict, &runs.AddRule{SessionID: "s-2", RuleID: "l", ToolName: "bash", Match: anyInput})
		h.refuse(api.CodeIDConflict, &runs.AddRule{RuleID: "l", ToolName: "bash", Match: anyInput})
		// A caller outside of the rule's session does not find it.
		h.refuse(api.CodeRuleNotFound, &runs.RevokeRule{SessionID: "s-2", RuleID: "l"})
		h.refuse(api.CodeRuleNotFound, &runs.RevokeRule{RuleID: "l"})
		h.refuse(api.CodeRuleNotFound, &runs.RevokeRule{SessionID: "s-1", RuleID: "nothing\x00"})
		require.False(h, h.do(&runs.RevokeRule{SessionID: "s-1", RuleID: "l"}).Existing)
		require.True(h, h.do(&runs.RevokeRule{SessionID: "s-1", RuleID: "l"}).Existing)
	},
	"rules/one id added in many sessions at once": func(h *harness) {
		errs := make([]error, 32)
		each(h, len(errs), func(n int) error {
			_, errs[n] = h.store.Do(h.ctx, &runs.AddRule{SessionID: numbered("s", n), RuleID: "l", ToolName: "bash", Match: anyInput})
			return nil
		})
		added := 0
		for _, err := range errs {
			if err == nil {
				added++
				continue
			}
			requireCode(h, api.CodeIDConflict, err)
		}
		require.Equal(h, 1, added)
	},
	"rules/an escalation reaches the requests": func(h *harness) {
		e := &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{"group:finance"}, AlsoFrom: []string{"user:ada"}}}}
		for id, match := range map[string]api.RuleMatch{"any": anyInput, "exact": digestOf(h, `{"n":1}`)} {
			h.do(&runs.AddRule{SessionID: "s-" + id, RuleID: id, ToolName: "bash", Match: match, Effect: api.RuleAsk, Escalation: e, Actor: person})
			request := withInput(approval("a"), `{"n":1}`)
			request.Escalation = &api.Escalation{AtDeadline: api.DeadlineKeep}
			h.wait("s-"+id, "r-"+id, api.Suspension{Approvals: []api.ApprovalRequest{request}})
			stamped := h.run("r-" + id).Requests[0].Escalation()
			require.Equal(h, &api.EscalationRule{RuleID: id}, stamped.ByRule)
			require.Equal(h, e.Steps, stamped.Steps)
			require.Empty(h, stamped.AtDeadline)
			record := h.rule(id)
			require.Equal(h, e, record.View().Escalation)
		}
	},
	"rules/a hint reaches the requests and decides nothing": func(h *harness) {
		hint := &api.Hint{Level: api.HintDanger, Text: "production"}
		for id, match := range map[string]api.RuleMatch{"any": anyInput, "exact": digestOf(h, `{"n":1}`)} {
			h.do(&runs.AddRule{SessionID: "s-" + id, RuleID: id, ToolName: "bash", Match: match, Effect: api.RuleHint, Hint: hint, Actor: person})
			request := withInput(approval("a"), `{"n":1}`)
			request.Hints = []api.Hint{{Level: api.HintInfo, Text: "mine"}}
			h.wait("s-"+id, "r-"+id, api.Suspension{Approvals: []api.ApprovalRequest{request}})
			of := *hint
			of.RuleID = id
			require.Equal(h, []api.Hint{of, request.Hints[0]}, h.run("r-" + id).Requests[0].Approval().Hints)
			record := h.rule(id)
			require.Equal(h, api.RuleHint, record.Rule.Effect)
			require.Equal(h, hint, record.View().Hint)

			h.do(&runs.CancelRun{RunID: "r-" + id})
			h.do(&runs.AddRule{SessionID: "s-" + id, RuleID: "may-" + id, ToolName: "bash", Match: match, Actor: person})
			require.Equal(h, "may-"+id, h.settledBy("s-"+id, "r-2-"+id, withInput(approval("a"), `{"n":1}`)))
		}
	},
	"rules/a bound is kept": func(h *harness) {
		h.do(&runs.AddRule{SessionID: "s", RuleID: "l", ToolName: "bash", Match: anyInput, MaxUses: 3})
		h.wait("s", "r-1", approvals("a", "b"))
		h.do(&runs.CancelRun{RunID: "r-1"})
		h.wait("s", "r-2", approvals("a", "b"))
		require.Equal(h, api.StatusWaitingForApproval, h.run("r-2").Run.Status)
		record := h.rule("l")
		require.Equal(h, []int64{3, 3}, []int64{record.Rule.Uses, record.Hits})
		require.EqualValues(h, 3, record.View().Uses)
	},
	"rules/are listed with what they settled": func(h *harness) {
		var all, ofSession []string
		for n := range 9 {
			sessionID, id := "", numbered("l", (n*4)%9)
			if n%3 == 0 {
				sessionID = "s"
			}
			h.addRule(sessionID, id, api.RuleMatch{PatternKeys: []string{id}})
			hits := n % 4
			for hit := range hits {
				request := approval("a")
				request.PatternKeys = []string{id}
				require.Equal(h, id, h.settledBy("s", fmt.Sprintf("r-%d-%d", n, hit), request))
			}
			all = append(all, fmt.Sprintf("%s %d", id, hits))
			if sessionID != "" {
				ofSession = append(ofSession, all[n])
			}
			if n%2 == 1 {
				h.clock.Advance(1)
			}
		}
		// Rules with the same time are ordered by id.
		byMoment := func(list []string, moment func(n int) int) []string {
			order := map[string]int{}
			for n, line := range list {
				order[line] = moment(n)
			}
			list = slices.Clone(list)
			slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(order[a], order[b]), strings.Compare(a, b)) })
			return list
		}
		all = byMoment(all, func(n int) int { return n / 2 })
		ofSession = byMoment(ofSession, func(n int) int { return n * 3 / 2 })
		h.do(&runs.RevokeRule{RuleID: "l-004"})
		for _, limit := range []int{1, 2, 4, 9, 100} {
			require.Equal(h, all, h.rules(reads.RuleQuery{Limit: limit}))
			require.Equal(h, ofSession, h.rules(reads.RuleQuery{Limit: limit, SessionID: "s"}))
		}
		require.Empty(h, h.rules(reads.RuleQuery{Limit: 10, SessionID: "nobody"}))
		for sessionID, want := range map[string]int64{"": 9, "s": 3, rules.AllSessions: 6, "nobody\x00": 0} {
			count, err := h.store.CountRules(h.ctx, reads.RuleQuery{SessionID: sessionID})
			require.NoError(h, err)
			require.Equal(h, want, count, sessionID)
		}
		require.Len(h, h.rulesFor("s", 100), 8, "one is revoked")
		require.Len(h, h.rulesFor("s", 5), 5)
		require.Len(h, h.rulesFor("other", 100), 5)
		for _, id := range []string{"nothing", "", "nul\x00"} {
			_, err := h.store.Rule(h.ctx, id)
			requireCode(h, api.CodeRuleNotFound, err)
		}
	},
	"rules/a session that ends takes its own along": func(h *harness) {
		h.do(&runs.CreateSession{SessionID: "s"})
		h.addRule("s", "own", anyInput)
		h.addRule("s", "exact", digestOf(h, `1`))
		h.addRule("", "of-all", digestOf(h, `1`))
		h.do(&runs.EndSession{SessionID: "s", Actor: person})
		require.Equal(h, []string{"of-all"}, h.rulesFor("s", 10))
		h.refuse(api.CodeSessionEnded, &runs.AddRule{SessionID: "s", ToolName: "bash", Match: anyInput})
	},
}
