package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

var mailboxTests = map[string]func(*harness){
	"mailbox/a reading leases a message by the engine's clock": func(h *harness) {
		h.child("r")
		h.deliver("child", "r", "q")
		id := model.MessageIDOf("q")
		require.Equal(h, []string{id}, h.mailbox("child"))
		require.Empty(h, h.mailbox("child"))
		h.clock.Advance(model.MessageLeaseMs - 1)
		require.Empty(h, h.mailbox("child"))
		h.clock.Advance(1)
		again := h.do(&runs.ReadMailbox{SessionID: "child"}).Messages
		require.Len(h, again, 1)
		require.Equal(h, int64(2), again[0].DeliveryAttempts)
		require.Equal(h, h.clock.NowMs()+model.MessageLeaseMs, again[0].LeaseExpiresAtMs)
		require.Equal(h, int64(clockStart), again[0].CreatedAtMs)

		acknowledged := h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: id})
		require.False(h, acknowledged.Existing)
		require.Equal(h, h.clock.NowMs(), acknowledged.Messages[0].AcknowledgedAtMs)
		h.clock.Advance(model.MessageLeaseMs)
		require.Empty(h, h.mailbox("child"))
		again = h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: id}).Messages
		require.Equal(h, acknowledged.Messages, again, "acknowledging again changes nothing")
		require.True(h, h.do(delivery("child", "r", "q")).Existing, "it is not delivered a second time")
		require.Empty(h, h.mailbox("child"))
	},
	"mailbox/read by many at once, shown to one": func(h *harness) {
		h.child("r")
		h.deliver("child", "r", "q")
		shown := make([]int, 16)
		each(h, len(shown), func(n int) error {
			reply, err := h.store.Do(h.ctx, &runs.ReadMailbox{SessionID: "child"})
			shown[n] = len(reply.Messages)
			return err
		})
		total := 0
		for _, n := range shown {
			total += n
		}
		require.Equal(h, 1, total)
	},
	"mailbox/oldest first, and of equals by id, bytewise": func(h *harness) {
		h.child("r")
		h.deliver("child", "r", "late")
		h.clock.Advance(1)
		for _, id := range []string{"z", "Z", "y.1", "y-1"} {
			h.deliver("child", "r", id)
		}
		var want []string
		for _, id := range []string{"late", "Z", "y-1", "y.1", "z"} {
			want = append(want, model.MessageIDOf(id))
		}
		require.Equal(h, want, h.mailbox("child"))
	},
	"mailbox/one reading looks at the oldest thousand": func(h *harness) {
		h.child("r")
		h.childIn("other", "r-2")
		h.deliver("other", "r-2", "q")
		const rounds, more = 10, 3
		var want []string
		for round := range rounds {
			h.clock.Advance(1)
			each(h, model.MaxMailboxMessages/rounds, func(n int) error {
				_, err := h.store.Do(h.ctx, delivery("child", "r", numbered(numbered("q", round), n)))
				return err
			})
			for n := range model.MaxMailboxMessages / rounds {
				want = append(want, model.MessageIDOf(numbered(numbered("q", round), n)))
			}
		}
		h.clock.Advance(1)
		for n := range more {
			h.deliver("child", "r", numbered("more", n))
		}
		require.Equal(h, want, h.mailbox("child"))
		require.Empty(h, h.mailbox("child"), "the oldest thousand are leased")
		for n := range more {
			h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: want[n*7]})
		}
		require.Equal(h, []string{
			model.MessageIDOf("more-000"), model.MessageIDOf("more-001"), model.MessageIDOf("more-002"),
		}, h.mailbox("child"), "what is acknowledged makes room")
		require.Len(h, h.mailbox("other"), 1, "another session's mailbox is its own")
		require.Empty(h, h.deadLetters("other"))
	},
	"mailbox/read three times and never acknowledged": func(h *harness) {
		h.child("r")
		h.deliver("child", "r", "q")
		id := model.MessageIDOf("q")
		for range model.MaxDeliveryAttempts {
			require.Equal(h, []string{id}, h.mailbox("child"))
			h.clock.Advance(model.MessageLeaseMs - 1)
			require.Empty(h, h.deadLetters("child"), "the last reading still has it")
			h.clock.Advance(1)
		}
		require.Empty(h, h.mailbox("child"))
		dead := h.do(&runs.ReadMailbox{SessionID: "child", DeadLetters: true}).Messages
		require.Len(h, dead, 1)
		require.Equal(h, "was read 3 times and never acknowledged", dead[0].LastError)
		require.Equal(h, api.MessageDeadLetter, dead[0].State)
		require.Equal(h, []string{id}, h.deadLetters("child"), "dead letters are shown whenever they are asked for")

		replayed := h.do(&runs.ReplayMessage{SessionID: "child", MessageID: id})
		require.False(h, replayed.Existing)
		require.Zero(h, replayed.Messages[0].DeliveryAttempts)
		require.Empty(h, replayed.Messages[0].LastError)
		require.True(h, h.do(&runs.ReplayMessage{SessionID: "child", MessageID: id}).Existing)
		require.Empty(h, h.deadLetters("child"))
		require.Equal(h, []string{id}, h.mailbox("child"))
		h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: id})
		h.refuse(api.CodeMessageNotFound, &runs.ReplayMessage{SessionID: "child", MessageID: id})
	},
	"mailbox/nobody is there to read": func(h *harness) {
		fence := h.child("r")
		h.deliver("child", "r", "in-time")
		h.do(&runs.Complete{RunID: "r", Fence: fence})
		dead := h.deliver("child", "r", "late")
		require.Equal(h, api.MessageDeadLetter, dead.State)
		require.NotEmpty(h, dead.LastError)
		require.Equal(h, []string{dead.MessageID}, h.deadLetters("child"))
		replayed := h.do(&runs.ReplayMessage{SessionID: "child", MessageID: dead.MessageID})
		require.Equal(h, api.MessageDeadLetter, replayed.Messages[0].State, "still nobody")

		h.create("child", "next")
		h.claim("next")
		h.do(&runs.ReplayMessage{SessionID: "child", MessageID: dead.MessageID})
		require.Equal(h, []string{model.MessageIDOf("in-time"), dead.MessageID}, h.mailbox("child"))
		require.Equal(h, api.MessagePending, h.deliver("child", "r", "other").State, "the session has somebody again")
	},
	"mailbox/a call that asked is open behind many others": func(h *harness) {
		h.do(&runs.CreateSession{SessionID: "parent", AgentID: "lead"})
		h.do(&runs.CreateSession{SessionID: "child", AgentID: "coder", ParentSessionID: "parent"})
		call := func(n int) error {
			_, err := h.store.Do(h.ctx, &runs.CreateRun{
				SessionID: "child", SessionGiven: true, RunID: numbered("call", n), Kind: api.KindCall, Input: api.JSON(`1`), Suspend: new(approvals("a")),
			})
			return err
		}
		each(h, runs.DrainChunk+1, call)
		require.NoError(h, call(runs.DrainChunk+1), "the newest")
		asker := numbered("call", runs.DrainChunk+1)
		h.do(&runs.DecideRequests{RunID: asker, Approvals: allow("a"), Actor: person})
		clarificationID := h.asked(asker, h.claim(asker), "q", false)
		h.do(&runs.AnswerQuestion{RunID: clarificationID, Resolution: answer("q", "left"), Actor: person})
		h.carryOut()
		for range model.MaxDeliveryAttempts {
			require.Len(h, h.mailbox("child"), 1)
			h.clock.Advance(model.MessageLeaseMs)
		}
		require.Empty(h, h.mailbox("child"))
		replayed := h.do(&runs.ReplayMessage{SessionID: "child", MessageID: model.MessageIDOf("q")})
		require.Equal(h, api.MessagePending, replayed.Messages[0].State)
		require.Equal(h, []string{model.MessageIDOf("q")}, h.mailbox("child"))
	},
	"mailbox/a session that ends makes dead letters": func(h *harness) {
		h.child("r")
		h.deliver("child", "r", "q-1")
		h.deliver("child", "r", "q-2")
		h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("q-1")})
		h.do(&runs.EndSession{SessionID: "child"})
		require.Empty(h, h.mailbox("child"))
		require.Equal(h, []string{model.MessageIDOf("q-2")}, h.deadLetters("child"))
		require.Equal(h, api.MessageDeadLetter, h.deliver("child", "r", "q-3").State)
		replayed := h.do(&runs.ReplayMessage{SessionID: "child", MessageID: model.MessageIDOf("q-2")})
		require.Equal(h, api.MessageDeadLetter, replayed.Messages[0].State)
		h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("q-2")})
		require.Equal(h, []string{model.MessageIDOf("q-3")}, h.deadLetters("child"))
	},
	"mailbox/a claim acknowledges what it hands over and nothing else": func(h *harness) {
		fence := h.child("asker")
		unparked := h.asked("asker", fence, "q-1", false)
		parked := h.asked("asker", fence, "q-2", true)
		h.create("child", "other")
		h.deliver("child", "other", "q-3")
		for id, run := range map[string]string{"q-1": unparked, "q-2": parked} {
			h.do(&runs.AnswerQuestion{RunID: run, Resolution: answer(id, "left"), Actor: person})
		}
		h.carryOut()
		h.claim("asker")
		require.ElementsMatch(h, []string{model.MessageIDOf("q-1"), model.MessageIDOf("q-3")}, h.mailbox("child"))
	},
	"mailbox/unknown": func(h *harness) {
		h.child("r")
		h.deliver("child", "r", "q")
		id := model.MessageIDOf("q")
		require.Empty(h, h.mailbox("parent"))
		h.refuse(api.CodeSessionNotFound, &runs.ReadMailbox{SessionID: "nobody"})
		for _, test := range []struct {
			code          api.Code
			session, name string
		}{
			{api.CodeSessionNotFound, "nobody", id},
			{api.CodeMessageNotFound, "parent", id},
			{api.CodeMessageNotFound, "child", "other"},
			{api.CodeMessageNotFound, "child", ""},
			{api.CodeMessageNotFound, "child", "nul \x00 and \xff"},
		} {
			h.refuse(test.code, &runs.AcknowledgeMessage{SessionID: test.session, MessageID: test.name})
			h.refuse(test.code, &runs.ReplayMessage{SessionID: test.session, MessageID: test.name})
		}
	},
}
