package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// finish creates a run that waits for an approval, is allowed to continue, and completes.
func (h *harness) finish(sessionID, runID string) {
	h.Helper()
	h.wait(sessionID, runID, approvals("a"))
	h.do(&runs.ResolveApprovals{RunID: runID, Resolutions: allow("a"), Actor: person})
	h.do(&runs.Complete{RunID: runID, Fence: h.claim(runID)})
}

// TrimSession deletes finished rows of a session, which has some. Postgres skips a session that is locked, and the transaction
// of a refused command, such as the claim of another worker, ends after the reply to it.
func TrimSession(tb testing.TB, store runs.Store, sessionID string, beforeMs int64, limit int) (trimmed upkeep.Trimmed) {
	tb.Helper()
	var err error
	require.Eventually(tb, func() bool {
		trimmed, err = store.TrimSession(tb.Context(), sessionID, beforeMs, limit)
		return err != nil || trimmed != upkeep.Trimmed{}
	}, time.Minute, time.Millisecond, "nothing of %s was deleted", sessionID)
	require.NoError(tb, err)
	return trimmed
}

// trim deletes rows that are finished by now, limit events at a time, and checks the database
// after each step.
func (h *harness) trim(sessionID string, limit int) (total upkeep.Trimmed) {
	h.Helper()
	for {
		trimmed, err := h.store.TrimSession(h.ctx, sessionID, h.clock.NowMs(), limit)
		require.NoError(h, err)
		require.LessOrEqual(h, trimmed.Events, limit)
		RequireHealthy(h.ctx, h, h.store)
		total.Events += trimmed.Events
		total.Runs += trimmed.Runs
		total.Session = total.Session || trimmed.Session
		if !trimmed.More {
			return total
		}
	}
}

// ruleVersion returns the version of a session's rules, 0 without a row.
func (h *harness) ruleVersion(sessionID string) int64 {
	h.Helper()
	version, _, _, err := h.store.(runs.RuleReader).StandingRules(h.ctx, sessionID, 10, 1<<20)
	require.NoError(h, err)
	return version
}

func (h *harness) finished() []string {
	h.Helper()
	found, err := h.store.FinishedRuns(h.ctx, h.clock.NowMs(), upkeep.FinishedRun{}, 1000)
	require.NoError(h, err)
	ids := []string{}
	for i, run := range found {
		ids = append(ids, run.RunID)
		after, err := h.store.FinishedRuns(h.ctx, h.clock.NowMs(), run, 1000)
		require.NoError(h, err)
		require.Len(h, after, len(found)-i-1)
	}
	return ids
}

var retentionTests = map[string]func(*harness){
	"retention/old runs go with all they have, and the log goes on without a gap": func(h *harness) {
		for _, limit := range []int{1, 3, 100} {
			session := numbered("s", limit)
			old, young, waiting := numbered("old", limit), numbered("young", limit), numbered("wait", limit)
			h.finish(session, old)
			handle := h.run(old).Requests[0].Handle
			h.clock.Advance(1000)
			before := h.clock.NowMs()
			h.finish(session, young)
			h.wait(session, waiting, approvals("a"))
			all := h.events(session)
			oldEvents := slices.IndexFunc(all, func(e model.Event) bool { return e.RunID == young })

			require.Equal(h, old, h.finished()[len(h.finished())-1])
			total, err := h.store.TrimSession(h.ctx, session, before-1000, limit)
			require.NoError(h, err)
			require.Zero(h, total, "what was over at the moment itself stays")
			for more := true; more; {
				trimmed, err := h.store.TrimSession(h.ctx, session, before, limit)
				require.NoError(h, err)
				RequireHealthy(h.ctx, h, h.store)
				total.Events, total.Runs, more = total.Events+trimmed.Events, total.Runs+trimmed.Runs, trimmed.More
			}
			require.Equal(h, upkeep.Trimmed{Events: oldEvents, Runs: 1}, total)
			_, err = h.store.Run(h.ctx, old)
			requireCode(h, api.CodeRunNotFound, err)
			_, err = h.store.RequestByHandle(h.ctx, handle)
			requireCode(h, api.CodeRequestNotFound, err)
			require.Equal(h, all[oldEvents:], h.events(session))
			require.Equal(h, int64(oldEvents+1), h.session(session).Session.FirstKeptEventID)

			_, _, err = h.store.EventsWithin(h.ctx, reads.EventQuery{SessionID: session, After: 1, Limit: 10, MaxBytes: 1000})
			requireCode(h, api.CodeEventCursorReset, err)
			for _, q := range []reads.EventQuery{{SessionID: session}, {SessionID: session, After: int64(oldEvents)}, {RunID: young, After: 1}} {
				q.Limit, q.MaxBytes = 10, 1000
				_, _, err = h.store.EventsWithin(h.ctx, q)
				require.NoError(h, err, "%+v", q)
			}

			h.do(&runs.ResolveApprovals{RunID: waiting, Resolutions: allow("a"), Actor: person})
			h.do(&runs.Complete{RunID: waiting, Fence: h.claim(waiting)})
			events := h.events(session)
			for i := range events {
				require.Equal(h, int64(oldEvents+1+i), events[i].EventID)
			}
			h.clock.Advance(1)
			require.Equal(h, upkeep.Trimmed{Events: len(events), Runs: 2, Session: true}, h.trim(session, limit))
			_, err = h.store.Session(h.ctx, session)
			requireCode(h, api.CodeSessionNotFound, err)
			require.NotContains(h, h.finished(), old)

			h.finish(session, old) // the ids are free again
			require.Equal(h, int64(1), h.events(session)[0].EventID)
		}
	},
	"retention/a waiting run keeps later runs": func(h *harness) {
		h.wait("s", "waiting", approvals("a"))
		h.create("s", "next")
		h.do(&runs.CancelRun{RunID: "next"})
		h.clock.Advance(1)
		require.Zero(h, h.trim("s", 100))
		require.Zero(h, h.trim("nobody", 100))
		h.do(&runs.CancelRun{RunID: "waiting"})
		h.clock.Advance(1)
		require.Equal(h, 2, h.trim("s", 100).Runs)
	},
	"retention/a message, an effect, a child and a rule keep their run": func(h *harness) {
		fence := h.child("asks")
		h.ask("asks", fence, "q", false)
		h.do(&runs.Complete{RunID: "asks", Fence: fence})
		h.clock.Advance(1)
		require.Zero(h, h.trim("child", 100), "an effect is pending")
		h.carryOut()
		clarification := h.pendingQuestions("parent")[0]
		h.do(&runs.AnswerQuestion{RunID: clarification.Request.RunID, Resolution: answer("q", "left"), Actor: person})
		h.clock.Advance(1)
		require.Zero(h, h.trim("parent", 100), "the answer is not delivered yet")
		h.carryOut()
		h.clock.Advance(1)
		require.Zero(h, h.trim("child", 100), "the message is not acknowledged")
		h.trim("parent", 100)
		h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("q")})
		h.clock.Advance(1)
		require.Equal(h, 1, h.trim("child", 100).Runs)

		h.wait("s", "remembers", approvals("a"))
		decision := allow("a")
		decision[0].Remember = api.RememberSession
		h.do(&runs.ResolveApprovals{RunID: "remembers", Resolutions: decision, Actor: person})
		h.do(&runs.Complete{RunID: "remembers", Fence: h.claim("remembers")})
		h.clock.Advance(1)
		require.Zero(h, h.trim("s", 100), "a rule comes from it")
		h.do(&runs.EndSession{SessionID: "s"})
		h.clock.Advance(1)
		require.True(h, h.trim("s", 100).Session)

		h.finish("p", "father")
		h.do(&runs.CreateRun{SessionID: "c", SessionGiven: true, RunID: "son", ParentRunID: "father", Input: api.JSON(`1`)})
		h.clock.Advance(1)
		require.Zero(h, h.trim("p", 100), "its child is not over")
		h.do(&runs.CancelRun{RunID: "son"})
		require.True(h, h.trim("p", 100).Session)
	},
	"retention/an answer does not reach another run with the id": func(h *harness) {
		fence := h.child("asks")
		first := h.asked("asks", fence, "q", false)
		h.do(&runs.Complete{RunID: "asks", Fence: fence})
		h.clock.Advance(1)
		require.Equal(h, 1, h.trim("child", 100).Runs, "its question to the parent stays open")

		deliver := func(clarificationID, answered string) error {
			h.do(&runs.AnswerQuestion{RunID: clarificationID, Resolution: answer("q", answered), Actor: person})
			claimed := h.do(&runs.ClaimEffect{SessionID: "parent", EffectID: deliverID(clarificationID)})
			_, err := h.store.Do(h.ctx, commandOf(claimed.Effect))
			return err
		}
		fence = h.child("asks")
		require.Equal(h, api.CodeRunNotFound, refusal.CodeOf(deliver(first, "left")), "this run has asked nothing")
		second := h.asked("asks", fence, "q", true)
		claimed := h.do(&runs.RetryEffect{SessionID: "parent", EffectID: deliverID(first)})
		require.False(h, claimed.Existing)
		_, err := h.store.Do(h.ctx, commandOf(claimed.Effect))
		require.Equal(h, api.CodeRunNotFound, refusal.CodeOf(err), "this run has asked something else")
		require.Equal(h, api.StatusWaitingForUserQuestion, h.run("asks").Run.Status)

		require.NoError(h, deliver(second, "right"))
		require.Equal(h, api.StatusRunning, h.run("asks").Run.Status)
		settled := h.onlyRequest("asks")
		require.Equal(h, answer("q", "right").Answers, settled.Recorded().Answers)
	},
	"retention/a settled question is not asked again": func(h *harness) {
		fence := h.child("asks")
		ask := func() *runs.Asked {
			asked, err := runs.Ask(h.ctx, h.store, &runs.AskClarification{RunID: "asks", Fence: fence, Request: question("q")})
			require.NoError(h, err)
			return asked
		}
		first := ask().Clarification.Run
		h.do(&runs.AnswerQuestion{RunID: first.RunID, Resolution: answer("q", "left"), Actor: person})
		h.carryOut()
		settled := int64(1)
		h.do(&runs.Heartbeat{RunID: "asks", Fence: fence, Checkpoint: api.JSON(`1`), SettledAfter: &settled})
		before := ask().Clarification.View()
		h.clock.Advance(1)
		require.Equal(h, 1, h.trim("parent", 100).Runs)

		again := ask()
		require.True(h, again.Existing)
		after := again.Clarification.View()
		before.Outputs, before.OutputsCount = after.Outputs, after.OutputsCount
		require.Equal(h, before, after)
		_, err := h.store.Run(h.ctx, first.RunID)
		requireCode(h, api.CodeRunNotFound, err)
	},
	"retention/a session goes after its runs": func(h *harness) {
		h.finish("s", "r")
		h.clock.Advance(1)
		before := h.clock.NowMs()
		h.do(&runs.EndSession{SessionID: "s"})
		trimmed, err := h.store.TrimSession(h.ctx, "s", before, 100)
		require.NoError(h, err)
		require.Equal(h, 1, trimmed.Runs)
		require.False(h, trimmed.Session, "it ended later")
		list := h.summary("s").Session
		require.Greater(h, list.FirstKeptEventID, list.LastEventID)
		h.clock.Advance(1)
		require.Equal(h, upkeep.Trimmed{Session: true}, h.trim("s", 100))

		h.finish("parent", "asked")
		h.do(&runs.CreateSession{SessionID: "child", AgentID: "coder", ParentSessionID: "parent"})
		h.finish("child", "asks")
		h.clock.Advance(1)
		require.False(h, h.trim("parent", 100).Session, "it has a child")
		require.True(h, h.trim("child", 100).Session)
		require.Equal(h, upkeep.Trimmed{Session: true}, h.trim("parent", 100))
	},
	"retention/a session without a run goes after its last change": func(h *harness) {
		h.do(&runs.CreateSession{SessionID: "s"})
		require.Zero(h, h.trim("s", 100), "it is new")
		h.addRule("s", "l", anyInput)
		h.clock.Advance(1)
		require.Zero(h, h.trim("s", 100), "a rule is in force")
		h.do(&runs.RevokeRule{SessionID: "s", RuleID: "l"})
		h.clock.Advance(1)
		require.Positive(h, h.ruleVersion("s"))
		require.Equal(h, upkeep.Trimmed{Session: true}, h.trim("s", 100))
		require.Zero(h, h.ruleVersion("s"), "nothing of the session is left")
		h.finish("s", "r")
		require.Equal(h, int64(1), h.events("s")[0].EventID)
	},
	"retention/a session with many keys goes in parts": func(h *harness) {
		records := func() int { return len(h.database.Tables(h)["idempotency_records"]) }
		for n := range 3 {
			h.do(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: numbered("r", n), Input: api.JSON(`1`), Key: numbered("k", n)})
			h.do(&runs.CancelRun{RunID: numbered("r", n)})
		}
		h.addRule("s", "l", anyInput)
		h.clock.Advance(1)
		require.Equal(h, 3, h.trim("s", 100).Runs)
		require.Equal(h, 3, records(), "a session that stays keeps its keys")
		h.do(&runs.RevokeRule{SessionID: "s", RuleID: "l"})
		h.clock.Advance(1)
		for left := 3; left > 0; left-- {
			require.Equal(h, left, records())
			trimmed, err := h.store.TrimSession(h.ctx, "s", h.clock.NowMs(), 1)
			require.NoError(h, err)
			require.Equal(h, upkeep.Trimmed{More: true}, trimmed)
		}
		require.Equal(h, upkeep.Trimmed{Session: true}, h.trim("s", 1))
		require.Zero(h, records())
	},
	"retention/an expired rule keeps no session": func(h *harness) {
		h.finish("s", "r")
		h.do(&runs.AddRule{SessionID: "s", RuleID: "l", ToolName: "bash", Match: anyInput, ExpiresAtMs: new(h.clock.NowMs() + 1000), Actor: person})
		h.clock.Advance(999)
		require.Equal(h, 1, h.trim("s", 100).Runs)
		require.False(h, h.trim("s", 100).Session, "the rule is in force")
		h.clock.Advance(1)
		require.True(h, h.trim("s", 100).Session)
		require.Equal(h, []string{"l 0"}, h.rules(reads.RuleQuery{Limit: 10}), "it has its own horizon")
		require.Zero(h, h.ruleVersion("s"))
		h.finish("s", "r")
		require.Equal(h, int64(1), h.events("s")[0].EventID)
		h.addRule("s", "next", anyInput)
		require.Equal(h, "next", h.settledBy("s", "later", approval("a")))
	},
	"retention/a used-up rule keeps no session, and goes after the last request that it settled": func(h *harness) {
		h.do(&runs.AddRule{SessionID: "s", RuleID: "twice", ToolName: "bash", Match: anyInput, MaxUses: 2, Actor: person})
		sweep := func() int {
			swept, err := h.store.SweepRules(h.ctx, h.clock.NowMs(), 100)
			require.NoError(h, err)
			return swept
		}
		require.Equal(h, "twice", h.settledBy("s", "first", approval("a")))
		h.clock.Advance(1)
		require.False(h, h.trim("s", 100).Session, "the rule is in force")
		require.Zero(h, sweep())
		require.Equal(h, "twice", h.settledBy("s", "second", approval("a")))
		h.clock.Advance(1)
		require.Zero(h, sweep(), "a request names it")
		require.True(h, h.trim("s", 100).Session)
		require.Equal(h, 1, sweep())
		require.Empty(h, h.rules(reads.RuleQuery{Limit: 10}))
	},
	"retention/revoked and expired rules go when nothing names them": func(h *harness) {
		h.addRule("s", "used", anyInput)
		h.addRule("s", "idle", anyInput)
		h.addRule("s", "stays", digestOf(h, `{"other":true}`))
		require.NotEmpty(h, h.settledBy("s", "r", approval("a")))
		h.do(&runs.RevokeRule{RuleID: "used", SessionID: "s", Actor: person})
		h.do(&runs.RevokeRule{RuleID: "idle", SessionID: "s", Actor: person})
		sweep := func() int {
			swept, err := h.store.SweepRules(h.ctx, h.clock.NowMs(), 100)
			require.NoError(h, err)
			return swept
		}
		require.Zero(h, sweep())
		h.clock.Advance(1)
		require.Equal(h, 1, sweep())
		h.trim("s", 100)
		require.Equal(h, 1, sweep())
		require.Equal(h, []string{"stays 0"}, h.rules(reads.RuleQuery{Limit: 10}))
	},
	"retention/a churn of runs leaves the tables as large as what is kept": func(h *harness) {
		for round := range 20 {
			for n := range 5 {
				h.finish(numbered("s", n), numbered("r", 100*round+n))
			}
			h.clock.Advance(1000)
			before := h.clock.NowMs() - 1500
			found, err := h.store.FinishedRuns(h.ctx, before, upkeep.FinishedRun{}, 100)
			require.NoError(h, err)
			for _, run := range found {
				_, err := h.store.TrimSession(h.ctx, run.SessionID, before, 100)
				require.NoError(h, err)
			}
			walker, ok := h.store.(model.Walker)
			require.True(h, ok)
			summary, err := doctor.Examine(h.ctx, walker, func(doctor.Finding) {})
			require.NoError(h, err)
			require.Equal(h, doctor.Rows{Sessions: 5, Runs: 5, Requests: 5, Events: 5 * 7, IdempotencyRecords: 5}, summary.Rows, "round %d", round)
		}
	},
}
