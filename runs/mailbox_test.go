package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// answered creates a family whose run "r" asked these questions without parking. All are
// answered, one millisecond apart.
func (h *house) answered(ids ...string) {
	h.t.Helper()
	h.family()
	for _, id := range ids {
		runID := h.asked(ask(id))
		h.nowMs++
		h.must(answer(runID, id, "north"))
		h.carryOut()
	}
}

// Reading leases a message for 30 s. The third unacknowledged reading is the last.
func TestReadMailbox(t *testing.T) {
	h := parallelHouse(t)
	h.answered("z", "a")
	first, second := model.MessageIDOf("z"), model.MessageIDOf("a")
	require.Equal(t, []string{first, second}, h.read(false), "oldest first")
	require.Equal(t, int64(1), h.message("s", first).DeliveryAttempts)
	require.Equal(t, h.nowMs+model.MessageLeaseMs, h.message("s", first).LeaseExpiresAtMs)
	h.nowMs += model.MessageLeaseMs - 1
	_, change := h.decided(&runs.ReadMailbox{SessionID: "s"})
	require.True(t, change.Empty(), "a leased message was read again")

	h.nowMs++
	require.Equal(t, []string{first, second}, h.read(false))
	require.False(t, h.must(&runs.AcknowledgeMessage{SessionID: "s", MessageID: second}).Existing)
	h.nowMs += model.MessageLeaseMs
	require.Equal(t, []string{first}, h.read(false))
	require.Equal(t, api.MessagePending, h.message("s", first).State, "its third reading may still be acknowledged")
	require.Empty(t, h.read(true))
	h.nowMs += model.MessageLeaseMs
	require.Empty(t, h.read(false))
	message := h.message("s", first)
	require.Equal(t, api.MessageDeadLetter, message.State)
	require.Equal(t, "was read 3 times and never acknowledged", message.LastError)
	require.Zero(t, message.LeaseExpiresAtMs)
	requireJSON(t, `[{"message_id":"`+first+`","state":"dead_letter","subject":"clarification_answer","payload":`+string(message.Payload)+`,
		"from_session_id":"p","created_at_ms":1000001,"delivery_attempts":3,"last_error":"was read 3 times and never acknowledged"}]`,
		[]api.MessageView{message.View()})
	require.Equal(t, []string{first}, h.read(true))
	require.Equal(t, []string{first}, h.read(true), "dead letters are shown whenever they are asked for")

	empty := newHouse(t)
	empty.create("r")
	require.NotNil(t, empty.must(&runs.ReadMailbox{SessionID: "s"}).Messages)
}

// Reading the mailbox or ending the session turns messages that were read too often into dead letters.
func TestWhoeverLooksFirst(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(*house){
		"mailbox":      func(h *house) { require.Empty(h.t, h.read(false)) },
		"dead letters": func(h *house) { require.Equal(h.t, []string{messageOfQ}, h.read(true)) },
		"end":          func(h *house) { h.must(&runs.EndSession{SessionID: "s"}) },
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.answered("q")
			for range model.MaxDeliveryAttempts {
				require.NotEmpty(t, h.read(false))
				h.nowMs += model.MessageLeaseMs
			}
			look(h)
			require.Equal(t, api.MessageDeadLetter, h.message("s", messageOfQ).State)
		})
	}
}

func TestAcknowledgeMessage(t *testing.T) {
	t.Parallel()
	acknowledge := &runs.AcknowledgeMessage{SessionID: "s", MessageID: messageOfQ}
	h := newHouse(t)
	h.answered("q")
	require.Len(t, h.read(false), 1)
	h.nowMs += 5
	reply := h.must(acknowledge)
	require.Equal(t, api.MessageAcknowledged, reply.Messages[0].State)
	require.Equal(t, h.nowMs, reply.Messages[0].AcknowledgedAtMs)
	require.Zero(t, reply.Messages[0].LeaseExpiresAtMs)
	h.nowMs += 5
	h.requireUnchanged(acknowledge)
	h.nowMs += model.MessageLeaseMs
	require.Empty(t, h.read(false))
	require.Empty(t, h.read(true))
	refusal := h.refused(api.CodeMessageNotFound, &runs.ReplayMessage{SessionID: "s", MessageID: messageOfQ})
	require.Equal(t, "message "+messageOfQ+" was acknowledged and is not a dead letter", refusal.Detail)

	// Messages can be acknowledged unread, or as dead letters of an ended session.
	h = newHouse(t)
	h.answered("q")
	h.must(acknowledge)
	h = newHouse(t)
	h.answered("q")
	h.must(&runs.EndSession{SessionID: "s"})
	h.must(acknowledge)
	require.Empty(t, h.read(true))

	for _, command := range []runs.Command{
		&runs.AcknowledgeMessage{SessionID: "s", MessageID: "x"}, &runs.ReplayMessage{SessionID: "s", MessageID: "x"},
	} {
		require.Equal(t, "unknown message x in session s", h.refused(api.CodeMessageNotFound, command).Detail)
	}
	for _, command := range []runs.Command{
		&runs.ReadMailbox{SessionID: "x"}, &runs.AcknowledgeMessage{SessionID: "x", MessageID: messageOfQ}, &runs.ReplayMessage{SessionID: "x", MessageID: messageOfQ},
	} {
		h.refused(api.CodeSessionNotFound, command)
	}
	h.refused(api.CodeMessageNotFound, &runs.AcknowledgeMessage{SessionID: "p", MessageID: messageOfQ})
}

// A replayed dead letter becomes a new message if the session still has a run to read it.
func TestReplayMessage(t *testing.T) {
	t.Parallel()
	replay := &runs.ReplayMessage{SessionID: "s", MessageID: messageOfQ}
	h := newHouse(t)
	h.answered("q")
	h.requireUnchanged(replay)
	for range model.MaxDeliveryAttempts {
		h.read(false)
		h.nowMs += model.MessageLeaseMs
	}
	reply := h.must(replay)
	require.False(t, reply.Existing)
	message := reply.Messages[0]
	require.Equal(t, api.MessagePending, message.State)
	require.Zero(t, message.DeliveryAttempts)
	require.Empty(t, message.LastError)
	require.Equal(t, []string{messageOfQ}, h.read(false))
	require.Equal(t, int64(1), h.message("s", messageOfQ).DeliveryAttempts)
	h.requireUnchanged(replay)

	// The run that asked is finished, but another run can read the message.
	h.must(&runs.Complete{RunID: "r", Fence: 1})
	h.must(&runs.EndSession{SessionID: "s"})
	require.Equal(t, api.MessageDeadLetter, h.message("s", messageOfQ).State)
	require.Equal(t, api.MessageDeadLetter, h.must(replay).Messages[0].State)

	h = newHouse(t)
	h.answered()
	runID := h.asked(ask("q"))
	h.must(&runs.CancelRun{RunID: "r"})
	h.must(answer(runID, "q", "north"))
	h.carryOut()
	require.Equal(t, api.MessageDeadLetter, h.must(replay).Messages[0].State)
	h.start("next")
	require.Equal(t, api.MessagePending, h.must(replay).Messages[0].State)
	require.Equal(t, []string{messageOfQ}, h.read(false))
}

// Ending a session empties its mailbox.
func TestMailboxOfAnEndedSession(t *testing.T) {
	h := parallelHouse(t)
	h.answered("a", "b", "q")
	h.must(&runs.AcknowledgeMessage{SessionID: "s", MessageID: model.MessageIDOf("a")})
	require.Len(t, h.read(false), 2)
	h.must(&runs.EndSession{SessionID: "s"})
	require.Empty(t, h.read(false))
	require.Equal(t, []string{model.MessageIDOf("b"), messageOfQ}, h.read(true))
	require.Equal(t, api.MessageAcknowledged, h.message("s", model.MessageIDOf("a")).State)
}

// A claim acknowledges only the answers that it hands over, which the run was parked on.
func TestWhatAClaimAcknowledges(t *testing.T) {
	h := parallelHouse(t)
	h.answered("early")
	parked := h.asked(park("q"))
	h.must(answer(parked, "q", "north"))
	h.carryOut()
	require.Equal(t, []string{model.MessageIDOf("early"), messageOfQ}, h.read(false))
	h.claim("r")
	require.Equal(t, api.MessageAcknowledged, h.message("s", messageOfQ).State)
	require.Equal(t, api.MessagePending, h.message("s", model.MessageIDOf("early")).State)

	// It also acknowledges a dead letter.
	h = newHouse(t)
	runID := h.parked()
	h.must(answer(runID, "q", "north"))
	h.carryOut()
	for range model.MaxDeliveryAttempts + 1 {
		h.read(false)
		h.nowMs += model.MessageLeaseMs
	}
	require.Equal(t, api.MessageDeadLetter, h.message("s", messageOfQ).State)
	h.claim("r")
	require.Equal(t, api.MessageAcknowledged, h.message("s", messageOfQ).State)
}
