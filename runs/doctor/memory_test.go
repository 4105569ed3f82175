package doctor_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// memory is an in-memory database: a door, and rows that a test may change.
type memory struct {
	states map[string]*runs.State
	events map[string][]*model.Event
	rules  map[string]*rules.Rule
	ids    int
	nowMs  int64
}

func newMemory() *memory {
	return &memory{states: map[string]*runs.State{}, events: map[string][]*model.Event{}, rules: map[string]*rules.Rule{}, nowMs: 1_000_000}
}

func (m *memory) Do(_ context.Context, command runs.Command) (runs.Reply, error) {
	if err := runs.Prepare(command, func(prefix string) string {
		m.ids++
		return fmt.Sprintf("%s_%03d", prefix, m.ids)
	}); err != nil {
		return runs.Reply{}, err
	}
	needs := command.Needs()
	sessionID := needs.SessionID
	for id, state := range m.states {
		if sessionID == "" && state.Runs[needs.RunID] != nil {
			sessionID = id
		}
	}
	state := m.states[sessionID]
	if state == nil {
		state = runs.NewState(sessionID)
		m.states[sessionID] = state
	}
	state.Rules = m.rules
	change, reply, err := runs.Decide(state, command, m.nowMs)
	state.Apply(change)
	m.events[sessionID] = append(m.events[sessionID], change.Events...)
	m.nowMs++
	return reply, err
}

// must sends a command that has to be accepted.
func (m *memory) must(command runs.Command) {
	if _, err := m.Do(context.Background(), command); err != nil {
		panic(err)
	}
}

// Walk implements model.Walker. It yields copies, so that only the test changes rows between two
// walks.
func (m *memory) Walk(ctx context.Context, visit func(*model.SessionRows) error) error {
	var sessions []model.Session
	var runRows []model.Run
	var requests []model.Request
	var events []model.Event
	var effects []model.Effect
	var records []model.IdempotencyRecord
	var messages []model.Message
	for _, sessionID := range slices.Sorted(maps.Keys(m.states)) {
		state := m.states[sessionID]
		if state.Session == nil {
			continue // a command for it was rejected, or wrote rules
		}
		sessions = append(sessions, *state.Session)
		runRows = appendAll(runRows, state.Runs)
		requests = appendAll(requests, state.Requests)
		for _, event := range m.events[sessionID] {
			events = append(events, *event)
		}
		effects = appendAll(effects, state.Effects)
		records = appendAll(records, state.Records)
		messages = appendAll(messages, state.Messages)
	}
	standing := appendAll(nil, m.rules)
	slices.SortFunc(standing, func(a, b rules.Rule) int { return strings.Compare(a.SessionID, b.SessionID) })
	return streamWalker{
		Rules:    each(standing),
		Sessions: each(sessions), Runs: each(runRows), Requests: each(requests), Events: each(events),
		Records: each(records), Effects: each(effects), Messages: each(messages),
	}.Walk(ctx, visit)
}

func appendAll[K comparable, R any](list []R, rows map[K]*R) []R {
	for _, row := range rows {
		list = append(list, *row)
	}
	return list
}

func (m *memory) run(runID string) *model.Run {
	for _, state := range m.states {
		if run := state.Runs[runID]; run != nil {
			return run
		}
	}
	panic("no run " + runID)
}

func (m *memory) request(runID, requestID string) *model.Request {
	return m.states[m.run(runID).SessionID].Requests[runs.RequestKey{RunID: runID, RequestID: requestID}]
}

// rule returns the only rule of a session.
func (m *memory) rule(sessionID string) *rules.Rule {
	for _, rule := range m.rules {
		if rule.SessionID == sessionID {
			return rule
		}
	}
	panic("no rule in " + sessionID)
}

// review is the effect that shows the approval of "reviewed".
func (m *memory) review() *model.Effect {
	return m.states["ruled"].Effects[string(api.EffectReviewApproval)+":"+m.request("reviewed", "shown").Handle]
}

func (m *memory) message(requestID string) *model.Message {
	return m.states["child"].Messages[model.MessageIDOf(requestID)]
}

// event returns the newest event of a run of that type.
func (m *memory) event(runID string, eventType api.EventType) *model.Event {
	for _, event := range slices.Backward(m.events[m.run(runID).SessionID]) {
		if event.RunID == runID && event.Type == eventType {
			return event
		}
	}
	panic("no event " + string(eventType))
}

// asked is the run that asks the child's question.
func (m *memory) asked(requestID string) string {
	for key, request := range m.states["child"].Requests {
		if key.RequestID == requestID && request.Kind == model.KindClarification {
			return request.Clarification().WaitingOn.RunID
		}
	}
	panic("nobody asked " + requestID)
}

func (m *memory) effect(kind api.EffectKind, requestID string) *model.Effect {
	for _, state := range m.states {
		if effect := state.Effects[string(kind)+":"+m.asked(requestID)]; effect != nil {
			return effect
		}
	}
	panic("no effect " + requestID)
}

// family creates, through the door, a session "parent" and its child, whose runs have asked in
// every way. "asks" asked "open" and continues, with the answer to "told" in its mailbox;
// "parks" waits for "wait". The questions of "done" were answered, declined, cancelled,
// abandoned and withdrawn.
func family(t *testing.T, door runs.Door) {
	t.Helper()
	do := func(command runs.Command) runs.Reply {
		t.Helper()
		reply, err := door.Do(t.Context(), command)
		require.NoError(t, err, "%T", command)
		return reply
	}
	create := func(sessionID, runID string) {
		t.Helper()
		do(&runs.CreateSession{SessionID: sessionID, ParentSessionID: "parent"})
		do(&runs.CreateRun{SessionID: sessionID, SessionGiven: true, RunID: runID, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w", LeaseMs: api.MaxLeaseMs}})
	}
	carryOut := func(sessionID, effectID string) {
		t.Helper()
		effect := do(&runs.ClaimEffect{SessionID: sessionID, EffectID: effectID}).Effect
		do(commandOf(effect))
		do(&runs.FinishEffect{SessionID: sessionID, EffectID: effectID, Attempt: effect.Attempts})
	}
	ask := func(runID string, fence int64, requestID string, park bool) string {
		t.Helper()
		reply := do(&runs.AskClarification{RunID: runID, Fence: fence, Request: questions(requestID).Questions[0], Park: park})
		carryOut(reply.Run.Run.SessionID, "open_clarification:"+reply.Clarification.RunID)
		return reply.Clarification.RunID
	}
	settle := func(runID string, command runs.Command) {
		t.Helper()
		do(command)
		carryOut("parent", "deliver_answer:"+runID)
	}
	answer := func(runID, requestID string) runs.Command {
		return &runs.AnswerQuestion{RunID: runID, Resolution: runs.QuestionAnswer{
			RequestID: requestID, Answers: []api.UserQuestionAnswer{{QuestionID: "which", SelectedOptionIDs: []string{"x"}}},
		}}
	}

	do(&runs.CreateSession{SessionID: "parent"})
	create("child", "done")
	do(&runs.Suspend{RunID: "done", Fence: 1, Suspension: api.Suspension{Approvals: approvals("a").Approvals, Hold: true}})
	parked := ask("done", 1, "parked", true)
	settle(parked, answer(parked, "parked"))
	do(&runs.ResolveApprovals{RunID: "done", Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorAllow}}})
	do(&runs.ClaimRun{RunID: "done", WorkerID: "w"})
	declined := ask("done", 2, "declined", false)
	settle(declined, &runs.AnswerQuestion{RunID: declined, Resolution: runs.QuestionAnswer{RequestID: "declined", Declined: true}})
	cancelled := ask("done", 2, "cancelled", true)
	settle(cancelled, &runs.CancelRun{RunID: cancelled})
	do(&runs.ClaimRun{RunID: "done", WorkerID: "w"})
	late := ask("done", 3, "late", false)
	do(&runs.Withdraw{RunID: "done", RequestID: "late", Fence: 3})
	ask("done", 3, "left", false)
	do(&runs.Complete{RunID: "done", Fence: 3})
	settle(late, answer(late, "late"))
	do(&runs.ReadMailbox{SessionID: "child"})

	create("child", "asks")
	told := ask("asks", 1, "told", false)
	settle(told, answer(told, "told"))
	do(&runs.ReadMailbox{SessionID: "child"})
	past := int64(1)
	overdue := questions("overdue").Questions[0]
	overdue.ExpiresAtMs = &past
	expired := do(&runs.AskClarification{RunID: "asks", Fence: 1, Request: overdue}).Clarification.RunID
	carryOut("child", "open_clarification:"+expired)
	carryOut("parent", "deliver_answer:"+expired)
	ask("asks", 1, "open", false)

	create("second", "parks")
	ask("parks", 1, "wait", true)
	create("third", "stopped")
	ask("stopped", 1, "stop", true)
	do(&runs.CancelRun{RunID: "stopped"})

	// The fourth session's parent was never asked: one effect is pending, and one has failed.
	create("fourth", "pends")
	do(&runs.AskClarification{RunID: "pends", Fence: 1, Request: questions("owed").Questions[0]})
	given := do(&runs.AskClarification{RunID: "pends", Fence: 1, Request: questions("given").Questions[0]}).Clarification
	do(&runs.ClaimEffect{SessionID: "fourth", EffectID: "open_clarification:" + given.RunID})
	do(&runs.FinishEffect{SessionID: "fourth", EffectID: "open_clarification:" + given.RunID, Attempt: 1, Error: "refused", Permanent: true})
}
