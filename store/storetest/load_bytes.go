package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// largeText is about as much as a caller may send.
var largeText = strings.Repeat("x", 1_000_000)

// loadBytesTests bound the load of a decision, with rows of maximum size.
var loadBytesTests = map[string]func(*harness){
	"load/a reading of the mailbox ends at 4 MiB": func(h *harness) {
		h.child("r")
		for n := range 9 {
			h.clock.Advance(1)
			large := delivery("child", "r", numbered("q", n))
			large.Message = api.JSON(`"` + largeText + `"`)
			h.do(large)
		}
		read := h.mailbox("child")
		require.Len(h, read, 4)
		require.Empty(h, h.mailbox("child"), "the oldest are leased")
		for len(read) > 0 {
			for _, id := range read {
				h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: id})
			}
			read = h.mailbox("child")
			require.LessOrEqual(h, len(read), 4)
		}
		for n := range 9 {
			require.True(h, h.do(delivery("child", "r", numbered("q", n))).Existing)
		}
		// One that is larger than all that fits is shown alone.
		for _, id := range []string{"small", "whole"} {
			large := delivery("child", "r", id)
			if id == "whole" {
				large.Message = api.JSON(`"` + strings.Repeat("x", model.MaxMailboxBytes) + `"`)
			}
			h.do(large)
			h.clock.Advance(1)
			require.Equal(h, []string{model.MessageIDOf(id)}, h.mailbox("child"))
			h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf(id)})
		}
	},
	"load/a mailbox is bounded, and who is parked gets the answer all the same": func(h *harness) {
		fence := h.child("asker")
		h.asked("asker", fence, "early", false)
		for n := range 16 {
			answer := delivery("child", "asker", numbered("q", n))
			answer.Message = api.JSON(`"` + largeText[2:] + `"`)
			h.do(answer)
		}
		more := delivery("child", "asker", "more")
		more.Message = api.JSON(`"` + largeText[2:] + `"`)
		h.refuse(api.CodeMailboxFull, more)
		h.do(delivery("child", "asker", "small"))
		h.refuse(api.CodeMailboxFull, more)
		// Acknowledging a message frees space.
		read := h.mailbox("child")
		h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: read[0]})
		require.False(h, h.do(more).Existing)
		full := delivery("child", "asker", "full")
		full.Message = api.JSON(`"` + largeText[2:] + `"`)
		h.refuse(api.CodeMailboxFull, full)
		full.RequestID, full.Resolution = "early", api.JSON(`{"request_id":"early","outcome":"answered","resolved_at_ms":7}`)
		h.refuse(api.CodeMailboxFull, full)
	},
	"load/exact rules of one session are bounded": func(h *harness) {
		add := func(sessionID string, n int) error {
			_, err := h.store.Do(h.ctx, &runs.AddRule{
				SessionID: sessionID, RuleID: numbered(sessionID+"l", n), ToolName: "bash", Match: digestOf(h, fmt.Sprintf(`{"n":%d}`, n)),
				ExpiresAfterMs: new(int64(api.DefaultRuleAgeMs)),
			})
			return err
		}
		each(h, api.MaxExactRulesOfSession, func(n int) error { return add("s", n) })
		requireCode(h, api.CodeTooManyRules, add("s", api.MaxExactRulesOfSession))
		require.NoError(h, add("", api.MaxExactRulesOfSession), "rules of all sessions have no bound")
		h.wait("s", "r", approvals("a"))
		remember := runs.ApprovalDecision{RequestID: "a", Behavior: api.BehaviorAllow, Remember: api.RememberSession}
		h.refuse(api.CodeTooManyRules, &runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{remember}})
		h.do(&runs.RevokeRule{SessionID: "s", RuleID: numbered("sl", 3)})
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{remember}})
		requireCode(h, api.CodeTooManyRules, add("s", api.MaxExactRulesOfSession))
		h.clock.Advance(api.DefaultRuleAgeMs)
		require.NoError(h, add("s", api.MaxExactRulesOfSession), "the others have expired")
		require.Contains(h, h.rulesFor("s", 2*api.MaxExactRulesOfSession), numbered("sl", api.MaxExactRulesOfSession))
		h.do(&runs.EndSession{SessionID: "s"})
		require.NotContains(h, h.rulesFor("s", 2*api.MaxExactRulesOfSession), numbered("sl", api.MaxExactRulesOfSession), "the session has taken the one in force along")
	},
	"load/expired exact rules leave room for those in force": func(h *harness) {
		call := approval("a")
		match := digestOf(h, string(call.Input))
		each(h, runs.MaxExactRulesLoaded, func(n int) error {
			_, err := h.store.Do(h.ctx, &runs.AddRule{RuleID: numbered("old", n), ToolName: call.ToolName, Match: match, ExpiresAfterMs: new(int64(1000))})
			return err
		})
		require.Empty(h, h.settledBy("s", "many", call), "there may be more than were loaded")
		h.clock.Advance(1000)
		h.addRule("", "allows", match)
		require.Equal(h, "allows", h.settledBy("s", "allowed", call))
		h.do(&runs.AddRule{RuleID: "denies", Effect: api.RuleDeny, ToolName: call.ToolName, Match: match})
		require.Equal(h, "denies", h.settledBy("s", "denied", call))
	},
	"load/used-up exact rules leave room for those in force": func(h *harness) {
		call := approval("a")
		match := digestOf(h, string(call.Input))
		for n := range runs.MaxExactRulesLoaded + 1 {
			once := numbered("once", n)
			h.do(&runs.AddRule{SessionID: "s", RuleID: once, ToolName: call.ToolName, Match: match, MaxUses: 1})
			require.Equal(h, once, h.settledBy("s", numbered("run", n), call))
		}
	},
	"load/of many exact rules about one input as many as fit, and a person is asked": func(h *harness) {
		fence := h.started("s", "r")
		call := approval("a")
		match := digestOf(h, string(call.Input))
		for n := range 5 {
			h.do(&runs.AddRule{
				RuleID: numbered("rule", n), Effect: api.RuleAllow, ToolName: call.ToolName, Match: match,
				Reason: strings.Repeat("x", api.MaxTextLength-n),
			})
			id := numbered("call", n)
			same := approval(id)
			reply := h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{same}}})
			require.Equal(h, n >= 2, reply.Run.Requests[len(reply.Run.Requests)-1].Open(), "with %d rules", n+1)
		}
	},
}

// manyBytesTests write tens of megabytes.
var manyBytesTests = map[string]func(*harness){
	"load/large runs end in parts": func(h *harness) {
		fence := h.child("asker")
		const clarifications, queued = 10, 3
		other := h.childIn("other", "asker-2")
		for n := range clarifications {
			ask := &runs.AskClarification{RunID: "asker", Fence: fence, Request: largeQuestion(numbered("q", n))}
			if n >= clarifications/2 {
				ask.RunID, ask.Fence = "asker-2", other
			}
			h.do(ask)
		}
		h.carryOut()
		h.create("parent", "active")
		h.claim("active")
		for n := range queued {
			h.create("parent", numbered("queued", n))
		}
		require.Len(h, h.pendingQuestions("parent"), clarifications)
		require.True(h, h.do(&runs.InterruptSession{SessionID: "parent"}).Interrupted)
		require.Equal(h, api.StatusInterrupted, h.run("active").Run.Status, "the run with the slot is not left for later")
		require.Len(h, h.pendingQuestions("parent"), clarifications-4)
		h.do(&runs.EndSession{SessionID: "parent", Actor: person})
		require.Len(h, h.pendingQuestions("parent"), clarifications-8)
		require.Equal(h, api.StatusCancelled, h.run("queued-000").Run.Status, "nor the head of the queue")
		require.Equal(h, api.StatusQueued, h.run("queued-001").Run.Status)
		h.carryOut()
		require.Empty(h, h.pendingQuestions("parent"))
		for n := range queued {
			require.Equal(h, api.StatusCancelled, h.run(numbered("queued", n)).Run.Status)
		}
		require.Len(h, h.mailbox("child"), clarifications/2)
	},
	"load/questions to one session are bounded": func(h *harness) {
		fence := h.child("asker")
		large := largeQuestion("large")
		asked := 0
		var refused error
		for n := 0; refused == nil && n < 20; n++ {
			session, run := numbered("child", n/6), numbered("asker", n/6)
			if n%6 == 0 {
				fence = h.childIn(session, run)
			}
			large.ID = numbered("q", n)
			reply := h.do(&runs.AskClarification{RunID: run, Fence: fence, Request: large})
			if _, refused = h.store.Do(h.ctx, commandOf(reply.Effect)); refused == nil {
				asked++
			}
		}
		requireCode(h, api.CodeQuestionsFull, refused)
		// Each is stored twice: as the run's input and as the request.
		require.Equal(h, 12, asked)
		require.Len(h, h.pendingQuestions("parent"), asked)
		// The one that was refused is opened by its effect once there is room.
		h.do(&runs.InterruptSession{SessionID: "parent"})
		h.carryOut()
		open := h.pendingQuestions("parent")
		require.Len(h, open, 1)
		require.Equal(h, large.ID, open[0].Request.RequestID)
	},
	"load/a queue of large runs is bounded": func(h *harness) {
		h.wait("s", "active", approvals("a"))
		queue := func(bytes int) error {
			_, err := h.store.Do(h.ctx, &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`"` + strings.Repeat("x", bytes-2) + `"`)})
			return err
		}
		// Enough small ones for the queue to be measured; the rest nearly fills it.
		for range 40 {
			require.NoError(h, queue(10))
		}
		for range 33 {
			require.NoError(h, queue(1_000_000))
		}
		left := api.MaxQueuedBytes - 33*1_000_000 - 40*10
		requireCode(h, api.CodeQueueFull, queue(left+1))
		// Concurrent ones count each other, even in one batch.
		accepted := make([]bool, 8)
		each(h, len(accepted), func(n int) error {
			err := queue(left / 3)
			if accepted[n] = err == nil; !accepted[n] {
				requireCode(h, api.CodeQueueFull, err)
			}
			return nil
		})
		require.Len(h, slices.DeleteFunc(accepted, func(ok bool) bool { return !ok }), 3)
		require.Len(h, h.session("s").QueuedRunIDs, 40+33+3)
		requireCode(h, api.CodeQueueFull, queue(1_000_000))
		// Other sessions, and runs outside of the queue, continue.
		h.create("other", "r")
		h.do(&runs.ResolveApprovals{RunID: "active", Resolutions: allow("a")})
		h.do(&runs.EndSession{SessionID: "s"})
		h.carryOut()
		require.Zero(h, h.session("s").Session.QueuedCount)
	},
}

// largeQuestion is a question of nearly the largest size.
func largeQuestion(id string) api.UserQuestionRequest {
	large := question(id)
	options := &large.Questions[0].Options
	for n := range api.MaxOptionsPerQuestion - 4 {
		*options = append(*options, api.QuestionOption{ID: numbered("option", n), Label: "Other", Description: largeText[:api.MaxTextLength]})
	}
	return large
}
