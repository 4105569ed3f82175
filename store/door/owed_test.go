package door_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/load"
)

// asker creates a session "child" of "parent" with a run that a worker holds with fence 1.
func asker(t *testing.T, c *door.Door, runID string) {
	t.Helper()
	for _, command := range []runs.Command{
		&runs.CreateSession{SessionID: "child", ParentSessionID: "parent"},
		create("child", runID),
		&runs.ClaimRun{RunID: runID, WorkerID: "w"},
	} {
		_, err := c.Do(t.Context(), command)
		require.NoError(t, err)
	}
}

// numbered returns ids whose first one of each kind ends with 1.
func numbered() runs.IDSource {
	made := map[string]int{}
	return func(prefix string) string {
		made[prefix]++
		return fmt.Sprintf("%s_%d", prefix, made[prefix])
	}
}

func ask(runID, requestID string) *runs.AskClarification {
	return &runs.AskClarification{RunID: runID, Fence: 1, Request: api.UserQuestionRequest{
		ID: requestID, ToolCallID: "call",
		Questions: []api.UserQuestion{{ID: "which", Question: "Which?", Options: []api.QuestionOption{{ID: "x"}, {ID: "y"}}}},
	}}
}

func TestTheNeedsOfClarificationsAreOneLoadASession(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		c := loading(m, door.Options{Lanes: 1, MaxBatch: 32})
		defer c.Close()
		asker(t, c, "r")
		_, err := c.Do(t.Context(), &runs.CreateSession{SessionID: "other"})
		require.NoError(t, err)
		release := held(m)
		calls := []<-chan result{do(t.Context(), c, &runs.EndSession{SessionID: "none"})}
		synctest.Wait()
		for _, command := range []runs.Command{
			&runs.DeliverAnswer{SessionID: "child", RunID: "r", RequestID: "q", Message: api.JSON(`{}`), Resolution: api.JSON(`{}`)},
			&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("q")},
			&runs.AcknowledgeMessage{SessionID: "child", MessageID: "m"},
			&runs.ReplayMessage{SessionID: "child", MessageID: "no id has a \x00"},
			&runs.ReadMailbox{SessionID: "child"},
			&runs.ClaimRun{RunID: "r", WorkerID: "w"},
			&runs.ClaimRun{RunID: "r", WorkerID: "w"},
			&runs.ClaimEffect{SessionID: "child", EffectID: "e-1"},
			&runs.FinishEffect{SessionID: "child", EffectID: "e-1", Attempt: 1},
			&runs.RetryEffect{SessionID: "child", EffectID: "e-2"},
			&runs.ClaimEffect{SessionID: "child", EffectID: "no id has a \x00"},
			&runs.InterruptSession{SessionID: "child"},
			&runs.AcknowledgeMessage{SessionID: "other", MessageID: "m"},
			&runs.Heartbeat{RunID: "r", Fence: 1},
		} {
			calls = append(calls, do(t.Context(), c, command))
			synctest.Wait()
		}
		release()
		for _, call := range calls {
			<-call
		}
		loads := m.batches[len(m.batches)-1]
		require.Len(t, loads, 2)
		require.Equal(t, []string{"child", "other"}, []string{loads[0].SessionID, loads[1].SessionID})
		require.Len(t, loads[0].Needs, 13)
		require.Len(t, loads[1].Needs, 1)
		asked := map[string]string{}
		require.NoError(t, load.New(loads).Ask(func(question string, lists []load.Keys, _ func(columns.Rows) error) error {
			keys, err := lists[len(lists)-1].JSON()
			asked[question] = keys
			return err
		}))
		answer := model.MessageIDOf("q")
		require.Equal(t, map[string]string{
			"sessions": `[["child"],["other"]]`,
			"runs":     `[["child","r"]]`, "requests": `[["child","r"]]`, "payloads": `[["child","r"]]`,
			"named requests":              `[["child","r","q"]]`,
			"unfinished runs":             `[["child","201","parent_clarification","4194304"],["child","201","call","4194304"]]`,
			"requests of unfinished runs": `[["child","201","parent_clarification","4194304"],["child","201","call","4194304"]]`,
			"mailboxes":                   `[["child","pending","1000","4194304"]]`, "mailbox sizes": `[["child"]]`, "messages of runs": `[["child","r"]]`,
			"messages": `[["child","` + answer + `"],["child","m"],["other","m"]]`,
			"effects":  `[["child","e-1"],["child","e-2"]]`,
		}, asked)
	})
}

func TestCommandsOfOneBatchSeeWhatTheyOwe(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		c := loading(m, door.Options{Lanes: 1})
		defer c.Close()
		asker(t, c, "r")
		release := held(m)
		first := do(t.Context(), c, &runs.EndSession{SessionID: "none"})
		synctest.Wait()
		delivered := do(t.Context(), c, &runs.DeliverAnswer{
			SessionID: "child", RunID: "r", RequestID: "q", Message: api.JSON(`{}`), Resolution: api.JSON(`{}`),
		})
		synctest.Wait()
		read := do(t.Context(), c, &runs.ReadMailbox{SessionID: "child"})
		synctest.Wait()
		acknowledged := do(t.Context(), c, &runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("q")})
		synctest.Wait()
		release()
		<-first
		require.NoError(t, (<-delivered).err)
		require.Len(t, (<-read).reply.Messages, 1)
		require.False(t, (<-acknowledged).reply.Existing)
		require.Equal(t, api.MessageAcknowledged, m.states["child"].Messages[model.MessageIDOf("q")].State)
		require.EqualValues(t, 1, m.states["child"].Messages[model.MessageIDOf("q")].DeliveryAttempts)
	})
}

// TestWhatIsOwedIsToldAfterTheCommit shows which effects a notice lists, and when.
func TestWhatIsOwedIsToldAfterTheCommit(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		notices := make(chan reads.Notice, 16)
		c := loading(m, door.Options{
			Lanes: 1, NewID: numbered(), Announce: func(n reads.Notice) { notices <- n },
		})
		defer c.Close()
		asker(t, c, "r")
		synctest.Wait()
		for len(notices) > 0 {
			require.Empty(t, (<-notices).Owed)
		}
		gate := make(chan struct{})
		m.onCommit = func(runs.Writes) error { <-gate; return nil }
		asked := do(t.Context(), c, ask("r", "q"))
		synctest.Wait()
		require.Empty(t, notices, "the decision waits for its commit")
		close(gate)
		reply := <-asked
		require.NoError(t, reply.err)
		effectID := "open_clarification:" + reply.reply.Clarification.RunID
		owed := []reads.DueEffect{{SessionID: "child", EffectID: effectID}}
		require.Equal(t, owed, (<-notices).Owed)

		for _, step := range []struct {
			command runs.Command
			owed    []reads.DueEffect
		}{
			{&runs.ClaimEffect{SessionID: "child", EffectID: effectID}, nil},
			{&runs.FinishEffect{SessionID: "child", EffectID: effectID, Attempt: 1, Error: "busy"}, nil},
			{&runs.RetryEffect{SessionID: "child", EffectID: effectID}, owed},
			{&runs.FinishEffect{SessionID: "child", EffectID: effectID, Attempt: 1}, nil},
		} {
			require.NoError(t, (<-do(t.Context(), c, step.command)).err)
			require.Equal(t, step.owed, (<-notices).Owed, "%T", step.command)
		}

		// An effect that its own batch has begun is not announced.
		release := held(m)
		first := do(t.Context(), c, &runs.EndSession{SessionID: "none"})
		synctest.Wait()
		second := do(t.Context(), c, ask("r", "q-2"))
		synctest.Wait()
		claimed := do(t.Context(), c, &runs.ClaimEffect{SessionID: "child", EffectID: "open_clarification:run_3"})
		synctest.Wait()
		release()
		<-first
		require.Equal(t, "run_3", (<-second).reply.Clarification.RunID)
		require.NotNil(t, (<-claimed).reply.Effect)
		require.Empty(t, (<-notices).Owed)
	})
}

func TestARefusedBatchTellsOfNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		notices := make(chan reads.Notice, 16)
		c := loading(m, door.Options{Retries: 1, Announce: func(n reads.Notice) { notices <- n }})
		asker(t, c, "r")
		synctest.Wait()
		for len(notices) > 0 {
			<-notices
		}
		m.onCommit = func(runs.Writes) error { return door.ErrRefused }
		_, err := c.Do(t.Context(), ask("r", "q"))
		require.ErrorIs(t, err, runs.ErrUnavailable)
		c.Close()
		require.Empty(t, notices)
		require.Empty(t, m.states["child"].Effects)
	})
}
