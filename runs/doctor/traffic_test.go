package doctor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// traffic generates random commands of every kind over a few sessions, runs and requests, so
// that they collide. Rejections by the domain rules are a valid part of the test.
type traffic struct {
	*rand.Rand
	ctx   context.Context
	store runs.Store
}

const (
	trafficSessions = 16
	trafficRuns     = 300
)

func (g *traffic) chance(percent int) bool   { return g.IntN(100) < percent }
func (g *traffic) runID() string             { return fmt.Sprintf("r-%d", g.IntN(trafficRuns)) }
func (g *traffic) sessionID() string         { return fmt.Sprintf("s-%d", g.IntN(trafficSessions)) }
func (g *traffic) among(ids []string) string { return ids[g.IntN(len(ids))] }

// activeRun is the current active run of some session, or any run.
func (g *traffic) activeRun() *model.RunRecord {
	runID := g.runID()
	if session, err := g.store.Session(g.ctx, g.sessionID()); err == nil && session.Active != nil {
		runID = session.Active.Run.RunID
	}
	record, err := g.store.Run(g.ctx, runID)
	if err != nil {
		return &model.RunRecord{Run: model.Run{RunID: runID}}
	}
	return record
}

// open returns the id of an open request of a kind, or a missing one.
func open(record *model.RunRecord, kind model.RequestKind) string {
	for i := range record.Requests {
		if request := &record.Requests[i]; request.Open() && request.Kind == kind {
			return request.RequestID
		}
	}
	return "none"
}

func (g *traffic) suspension() api.Suspension {
	var s api.Suspension
	if g.chance(60) {
		s.Approvals = approvals(fmt.Sprintf("a-%d", g.IntN(1000)), fmt.Sprintf("b-%d", g.IntN(1000))).Approvals
	}
	if s.Approvals == nil || g.chance(30) {
		s.Questions = questions(fmt.Sprintf("q-%d", g.IntN(1000))).Questions
		if g.chance(30) {
			s.Questions[0].Questions = append(s.Questions[0].Questions, api.UserQuestion{ID: "why", Question: "Why?"})
		}
	}
	// Some are due now, some soon and some never.
	if after := int64(g.IntN(40)); g.chance(30) && len(s.Approvals) > 0 && after > 0 {
		s.Approvals[0].ExpiresAfterMs = &after
	}
	if past := int64(1); g.chance(10) && len(s.Questions) > 0 {
		s.Questions[0].ExpiresAtMs = &past
	}
	s.Hold = g.chance(40)
	if g.chance(30) {
		s.Checkpoint = api.JSON(`"here"`)
	}
	return s
}

// parentOf is the parent of a session: three of four have one.
func parentOf(n int) string {
	if n%4 == 0 {
		return ""
	}
	return fmt.Sprintf("s-%d", n-1)
}

// waiting is an open clarification in some session, or any run.
func (g *traffic) waiting() *model.RunRecord {
	list, err := g.store.Runs(g.ctx, reads.RunQuery{
		SessionID: g.sessionID(), Kind: api.KindParentClarification, Status: api.StatusWaitingForUserQuestion, Limit: 5,
	})
	if err != nil || len(list) == 0 {
		return g.activeRun()
	}
	return &list[g.IntN(len(list))]
}

// clarification returns a random command about clarifications.
func (g *traffic) clarification() runs.Command {
	actor := runs.Actor{Name: "alice", Via: api.ViaAPI}
	switch g.IntN(8) {
	case 0, 1, 2:
		record := g.activeRun()
		question := questions(fmt.Sprintf("c-%d", g.IntN(1000))).Questions[0]
		if after := int64(g.IntN(60)); g.chance(30) && after > 0 {
			question.ExpiresAfterMs = &after
		}
		return &runs.AskClarification{RunID: record.Run.RunID, Fence: record.Run.Fence, Request: question, Park: g.chance(50)}
	case 3, 4:
		record := g.waiting()
		return &runs.AnswerQuestion{RunID: record.Run.RunID, Actor: actor, Resolution: runs.QuestionAnswer{
			RequestID: open(record, model.KindQuestion), Answers: []api.UserQuestionAnswer{{QuestionID: "which", SelectedOptionIDs: []string{"y"}}},
		}}
	case 5:
		record := g.waiting()
		if g.chance(50) {
			return &runs.CancelRun{RunID: record.Run.RunID, Actor: actor}
		}
		return &runs.CancelQuestion{RunID: record.Run.RunID, RequestID: open(record, model.KindQuestion), Actor: actor}
	case 6:
		messageID := model.MessageIDOf(fmt.Sprintf("c-%d", g.IntN(1000)))
		if g.chance(50) {
			return &runs.AcknowledgeMessage{SessionID: g.sessionID(), MessageID: messageID}
		}
		return &runs.ReplayMessage{SessionID: g.sessionID(), MessageID: messageID}
	default:
		return &runs.ReadMailbox{SessionID: g.sessionID(), DeadLetters: g.chance(30)}
	}
}

// carryOut performs a due effect, or abandons it halfway.
func (g *traffic) carryOut() error {
	due, err := g.store.DueEffects(g.ctx, 5)
	if err != nil || len(due) == 0 {
		return err
	}
	named := due[g.IntN(len(due))]
	claimed, err := g.store.Do(g.ctx, &runs.ClaimEffect{SessionID: named.SessionID, EffectID: named.EffectID})
	if err != nil || claimed.Effect == nil || g.chance(10) {
		return err
	}
	effect := claimed.Effect
	if model.CarriedOutWhere(effect.Kind) == model.CarriedOutInside {
		_, err = g.store.Do(g.ctx, commandOf(effect))
	}
	if instead := commandWhenRefused(effect, refusal.CodeOf(err), claimed.NowMs); err != nil && instead != nil {
		_, err = g.store.Do(g.ctx, instead)
	}
	finish := &runs.FinishEffect{SessionID: effect.SessionID, EffectID: effect.EffectID, Attempt: effect.Attempts}
	if err != nil {
		finish.Error = err.Error()
	}
	_, err = g.store.Do(g.ctx, finish)
	return err
}

func (g *traffic) command() runs.Command {
	if g.chance(25) {
		return g.clarification()
	}
	if g.chance(20) {
		return g.decision()
	}
	record := g.activeRun()
	runID, fence := record.Run.RunID, record.Run.Fence
	actor := runs.Actor{Name: "alice", Via: api.ViaAPI}
	switch g.IntN(20) {
	case 0, 1, 19:
		c := &runs.CreateRun{SessionID: g.sessionID(), SessionGiven: true, RunID: g.runID(), Input: api.JSON(`1`)}
		if g.chance(50) {
			c.Key = "key-" + c.RunID
		}
		if g.chance(30) {
			c.Claim = &api.ClaimOptions{WorkerID: "w"}
		}
		if s := g.suspension(); g.chance(30) && (c.Claim != nil || !s.Hold) {
			c.Suspend = &s
		}
		return c
	case 2, 3, 4:
		if list, err := g.store.Claimable(g.ctx, reads.ClaimableQuery{Limit: 10}); err == nil && len(list) > 0 {
			runID = list[g.IntN(len(list))].RunID
		}
		return &runs.ClaimRun{RunID: runID, WorkerID: g.among([]string{"w", "v"}), MaxAttempts: 2}
	case 5, 6, 7:
		return &runs.Suspend{RunID: runID, Fence: fence, Suspension: g.suspension()}
	case 8, 9:
		behavior := api.BehaviorAllow
		if g.chance(30) {
			behavior = api.BehaviorDeny
		}
		return &runs.ResolveApprovals{RunID: runID, Actor: actor, Key: "k-" + runID, Resolutions: []runs.ApprovalDecision{
			{RequestID: open(record, model.KindApproval), Behavior: behavior},
		}}
	case 10, 11:
		return &runs.AnswerQuestion{RunID: runID, Actor: actor, Resolution: runs.QuestionAnswer{
			RequestID: open(record, model.KindQuestion), Declined: g.chance(30),
			Answers: []api.UserQuestionAnswer{{QuestionID: "which", SelectedOptionIDs: []string{"x"}}},
		}}
	case 12:
		return &runs.Withdraw{RunID: runID, Fence: fence, RequestID: open(record, model.KindApproval)}
	case 13:
		return &runs.AppendEvents{RunID: runID, Fence: fence, Events: []api.JSON{
			api.JSON(`{"type":"note"}`), api.JSON(`{"type":"output","content":"so far"}`),
		}}
	case 14:
		return &runs.Heartbeat{RunID: runID, Fence: fence, Checkpoint: api.JSON(`1`)}
	case 15:
		return &runs.Complete{RunID: runID, Fence: fence, Output: api.JSON(`1`)}
	case 16:
		if g.chance(50) {
			return &runs.Fail{RunID: runID, Fence: fence, Error: "broken"}
		}
		return &runs.Release{RunID: runID, Fence: fence}
	case 17:
		return &runs.ExpireRequests{RunID: runID}
	default:
		switch g.IntN(10) {
		case 0:
			if g.chance(60) {
				return &runs.ExpireRequests{RunID: runID}
			}
			return &runs.EndSession{SessionID: g.sessionID(), Actor: actor}
		case 1, 2, 3:
			return &runs.InterruptSession{SessionID: g.sessionID(), Actor: actor}
		case 4, 5:
			return &runs.CancelQuestion{RunID: runID, RequestID: open(record, model.KindQuestion), Actor: actor}
		default:
			return &runs.CancelRun{RunID: runID, Actor: actor}
		}
	}
}

// give sends some commands and returns the number of accepted ones.
func (g *traffic) give(count int) (accepted int, err error) {
	for range count {
		if g.chance(25) {
			if err := g.carryOut(); err != nil {
				return accepted, fmt.Errorf("carry out: %w", err)
			}
		}
		command := g.command()
		switch _, err := g.store.Do(g.ctx, command); {
		case err == nil:
			accepted++
		case refusal.CodeOf(err) == "":
			return accepted, fmt.Errorf("%T: %w", command, err)
		}
	}
	return accepted, nil
}

// TestABusyDatabaseIsHealthy examines a database repeatedly while others write to it, and once
// more when they are done.
func TestABusyDatabaseIsHealthy(t *testing.T) {
	t.Parallel()
	const writers, commands = 4, 250
	for name, openEngine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openEngine(t)
			for n := range trafficSessions {
				_, err := d.store.Do(t.Context(), &runs.CreateSession{SessionID: fmt.Sprintf("s-%d", n), ParentSessionID: parentOf(n)})
				require.NoError(t, err)
			}
			var group sync.WaitGroup
			accepted, failures := make([]int, writers), make([]error, writers)
			for n := range writers {
				g := &traffic{Rand: rand.New(rand.NewPCG(uint64(n), 7)), ctx: t.Context(), store: d.store}
				group.Go(func() { accepted[n], failures[n] = g.give(commands) })
			}
			done := make(chan struct{})
			go func() { defer close(done); group.Wait() }()

			var walked []doctor.Rows
			for writing := true; writing; {
				select {
				case <-done:
					writing = false
				default:
				}
				found, summary := examine(t, d.inspector)
				require.Empty(t, found)
				walked = append(walked, summary.Rows)
			}
			given := 0
			for n := range writers {
				require.NoError(t, failures[n])
				given += accepted[n]
			}
			require.Greater(t, given, writers*commands/5, "the traffic was mostly refused")
			last := walked[len(walked)-1]
			require.Equal(t, int64(trafficSessions), last.Sessions)
			require.Greater(t, last.Requests, int64(20))
			require.Greater(t, last.Effects, int64(5), "nobody asked his parent")
			require.Positive(t, last.Messages, "no answer came")
			require.Positive(t, last.Rules, "nobody wrote a rule")
			require.Less(t, walked[0].Events, last.Events, "nothing was written while it was looked at")

			// The store is a walker too, next to one that reads separately.
			found, summary := examine(t, d.store.(model.Walker))
			require.Empty(t, found)
			require.Equal(t, last, summary.Rows)
		})
	}
}

// commandOf returns the command of an effect, whose payload must be readable.
func commandOf(effect *model.Effect) runs.Command {
	command, err := runs.CommandOf(effect)
	if err != nil {
		panic(err)
	}
	return command
}

// commandWhenRefused is commandOf for the replacement after a rejection.
func commandWhenRefused(effect *model.Effect, code api.Code, nowMs int64) runs.Command {
	command, err := runs.CommandWhenRefused(effect, code, nowMs)
	if err != nil {
		panic(err)
	}
	return command
}
