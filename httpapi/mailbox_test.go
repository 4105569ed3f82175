package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// eventually polls until done returns true. Effects in other sessions run after the reply.
func (a *rig) eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); !done(); <-ticker.C {
		require.True(t, time.Now().Before(deadline), what)
	}
}

// received reads a session's mailbox until there is something in it.
func (a *rig) received(t *testing.T, session string) *reply {
	t.Helper()
	var messages *reply
	a.eventually(t, "a message", func() bool {
		messages = a.get(t, "/v1/sessions/"+session+"/mailbox").want(http.StatusOK)
		return len(messages.list()) > 0
	})
	return messages
}

const messageOfQ1 = "parent-clarification-answer-q1"

func testMailbox(t *testing.T, a *rig) {
	parallel(t, "a call reads its mailbox", func(t *testing.T) {
		session := a.child(t, a.parent(t)).session
		a.post(t, "/v1/sessions/"+session+"/interrupt", "").want(http.StatusOK) // no run is active
		made := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"kind":"call","input":"go","claim":{"worker_id":"w1"},"suspend":{"hold":true,"approvals":[%s]}}`,
			session, approval("a1"))).want(http.StatusAccepted)
		call := wantedRun{session: session, run: made.textAt("run", "run_id"), fence: made.textAt("lease", "fence")}
		a.post(t, "/v1/runs/"+call.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		on := a.ask(t, call, question("q1"), `,"park":false`).want(http.StatusAccepted).textAt("clarification", "run_id")
		a.post(t, "/v1/runs/"+on+"/questions", answer("q1", `"answers":`+goodAnswers)).want(http.StatusAccepted)
		require.Len(t, a.received(t, session).list(), 1)
	})
	parallel(t, "a child that goes on reads its mailbox", func(t *testing.T) {
		parent := a.parent(t)
		child := a.child(t, parent)
		asked := a.ask(t, child, question("q1"), "").want(http.StatusAccepted)
		require.Equal(t, "running", asked.at("run", "status"))
		require.Equal(t, "w1", asked.at("run", "lease", "worker_id"))
		require.Nil(t, asked.at("run", "waiting_on"))
		mailbox := "/v1/sessions/" + child.session + "/mailbox"
		require.Equal(t, "[]", a.get(t, mailbox).want(http.StatusOK).text)
		shown := a.post(t, "/v1/sessions/"+parent+"/questions", answer("q1", `"answers":`+goodAnswers)).want(http.StatusOK)
		require.Equal(t, 0.0, shown.at("pending_count"))

		messages := a.received(t, child.session)
		require.Len(t, messages.list(), 1)
		require.Equal(t, []string{"created_at_ms", "delivery_attempts", "from_session_id", "message_id", "payload", "state", "subject"}, members(messages.at(0)))
		require.Equal(t, messageOfQ1, messages.at(0, "message_id"))
		require.Equal(t, "pending", messages.at(0, "state"))
		require.Equal(t, "clarification_answer", messages.at(0, "subject"))
		require.Equal(t, parent, messages.at(0, "from_session_id"))
		require.Equal(t, 1.0, messages.at(0, "delivery_attempts"))
		require.Equal(t, []string{"answers", "declined", "justification", "request_id", "summary", "type"}, members(messages.at(0, "payload")))
		require.Equal(t, "parent_clarification_answer", messages.at(0, "payload", "type"))
		require.Equal(t, "Which route?: A\nNotes?: fast", messages.at(0, "payload", "summary"))
		require.Nil(t, messages.at(0, "payload", "justification"))
		require.Equal(t, "[]", a.get(t, mailbox).want(http.StatusOK).text, "it is leased")
		require.Equal(t, "[]", a.get(t, mailbox+"/dead-letter").want(http.StatusOK).text)

		pending := a.post(t, mailbox+"/dead-letter/"+messageOfQ1+"/replay", "").want(http.StatusAccepted)
		require.Equal(t, messages.at(0), pending.body, "what is in the mailbox is not replayed")
		for range 2 {
			got := a.post(t, mailbox+"/"+messageOfQ1+"/ack", "").want(http.StatusOK)
			require.Equal(t, map[string]any{"acknowledged": true, "message_id": messageOfQ1}, got.body)
		}
		a.post(t, mailbox+"/dead-letter/"+messageOfQ1+"/replay", "{}").refused(api.CodeMessageNotFound)
		require.Nil(t, a.get(t, "/v1/runs/"+child.run).at("resume"), "it did not wait for it")
	})
	parallel(t, "a worker that waits in place is not told of it", func(t *testing.T) {
		child := a.child(t, a.parent(t))
		asked := a.ask(t, child, question("q1"), "").want(http.StatusAccepted)
		for _, id := range []string{"a1", "a2"} {
			a.post(t, "/v1/runs/"+child.run+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,"approvals":[%s]}`, child.fence, approval(id))).want(http.StatusOK)
		}
		resume := "/v1/runs/" + child.run + "/resume?fence=" + child.fence
		require.Equal(t, 2.0, a.get(t, resume).want(http.StatusOK).at("open"), "the two approvals")
		a.post(t, "/v1/runs/"+child.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		held := later(func() *reply { return a.get(t, resume+"&after=1", wait(60)) })
		a.post(t, asked.header.Get("Location")+"/questions", answer("q1", `"answers":`+goodAnswers)).want(http.StatusAccepted)
		a.eventually(t, "the answer is on record", func() bool {
			return slices.Contains(a.eventTypes(t, child.run), "user_question_resolved")
		})
		a.post(t, "/v1/runs/"+child.run+"/approvals", allow("a2")).want(http.StatusAccepted)
		told := soon(t, held).want(http.StatusOK)
		require.Len(t, told.list("settled"), 1)
		require.Equal(t, "a2", told.at("settled", 0, "request", "id"))
		all := a.get(t, resume+"&after=0").want(http.StatusOK)
		require.Equal(t, "3", all.at("after"))
		require.Equal(t, 0.0, all.at("open"))
		require.Equal(t, []any{"1", "3"}, []any{all.at("settled", 0, "settled_number"), all.at("settled", 1, "settled_number")})
	})
	parallel(t, "a child that is over has dead letters", func(t *testing.T) {
		parent := a.parent(t)
		child := a.child(t, parent)
		asked := a.ask(t, child, question("q1"), "").want(http.StatusAccepted)
		a.post(t, "/v1/runs/"+child.run+"/complete", fmt.Sprintf(`{"fence":%q}`, child.fence)).want(http.StatusOK)
		require.Equal(t, 1.0, a.get(t, "/v1/sessions/"+parent).at("pending_count"), "the question stays open for the parent")
		done := a.post(t, asked.header.Get("Location")+"/questions", answer("q1", `"answers":`+goodAnswers)).want(http.StatusAccepted)
		require.Equal(t, "completed", done.at("status"), "the parent's run completes all the same")

		mailbox := "/v1/sessions/" + child.session + "/mailbox"
		var letters *reply
		a.eventually(t, "a dead letter", func() bool {
			letters = a.get(t, mailbox+"/dead-letter").want(http.StatusOK)
			return len(letters.list()) > 0
		})
		const closed = "parent clarification answer could not be delivered because the child agent is closed"
		require.Equal(t, messageOfQ1, letters.at(0, "message_id"))
		require.Equal(t, "dead_letter", letters.at(0, "state"))
		require.Equal(t, closed, letters.at(0, "last_error"))
		require.Equal(t, 0.0, letters.at(0, "delivery_attempts"))
		require.Equal(t, letters.text, a.get(t, mailbox+"/dead-letter").want(http.StatusOK).text, "showing them leases nothing")
		require.Equal(t, "[]", a.get(t, mailbox).want(http.StatusOK).text)

		replay := mailbox + "/dead-letter/" + messageOfQ1 + "/replay"
		require.Equal(t, letters.at(0), a.post(t, replay, "").want(http.StatusAccepted).body, "nobody is there to take it")
		a.claimedIn(t, child.session)
		replayed := a.post(t, replay, "{}").want(http.StatusAccepted)
		require.Equal(t, "pending", replayed.at("state"))
		require.Nil(t, replayed.at("last_error"))
		require.Equal(t, messageOfQ1, a.received(t, child.session).at(0, "message_id"))
		a.post(t, "/v1/sessions/"+child.session+"/end", "").want(http.StatusOK)
		require.Equal(t, closed, a.get(t, mailbox+"/dead-letter").at(0, "last_error"), "the session has ended")
		require.Equal(t, "dead_letter", a.post(t, replay, "").want(http.StatusAccepted).at("state"))
		a.post(t, mailbox+"/"+messageOfQ1+"/ack", "").want(http.StatusOK)
		require.Equal(t, "[]", a.get(t, mailbox+"/dead-letter").want(http.StatusOK).text)
	})
	parallel(t, "what is not there", func(t *testing.T) {
		session := a.parent(t)
		for _, path := range []string{"/mailbox/m/ack", "/mailbox/dead-letter/m/replay"} {
			a.post(t, "/v1/sessions/"+session+path, "").refused(api.CodeMessageNotFound)
		}
		for _, path := range []string{"/mailbox/a%00b/ack", "/mailbox/dead-letter/%FF/replay"} {
			a.post(t, "/v1/sessions/"+session+path, "", unchecked()).refused(api.CodeMessageNotFound)
			a.post(t, "/v1/sessions/nobody"+path, "", unchecked()).refused(api.CodeSessionNotFound)
		}
		a.get(t, "/v1/sessions/a%00b/mailbox", unchecked()).refused(api.CodeSessionNotFound)
	})
	parallel(t, "a web page of another site cannot make the service read", func(t *testing.T) {
		mailbox := "/v1/sessions/" + a.parent(t) + "/mailbox"
		for _, site := range []string{"cross-site", "same-site"} {
			a.get(t, mailbox, header("Sec-Fetch-Site", site)).refused(wire.CodeOriginNotAllowed)
		}
		for _, site := range []string{"same-origin", "none"} {
			a.get(t, mailbox, header("Sec-Fetch-Site", site)).want(http.StatusOK)
		}
		a.get(t, mailbox, header("Sec-Fetch-Site", "same-site"), header("Origin", a.server.URL)).want(http.StatusOK)
	})
}

// TestAMessageThatNobodyAcknowledges uses its own clock, which only the single-process engine
// accepts.
func TestAMessageThatNobodyAcknowledges(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	clock.Store(1_750_000_000_000)
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{NowMs: clock.Load})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	a := serve(t, store, newContract(t))
	parent := a.parent(t)
	child := a.child(t, parent)
	a.ask(t, child, question("q1"), "").want(http.StatusAccepted)
	a.post(t, "/v1/sessions/"+parent+"/questions", answer("q1", `"declined":true`)).want(http.StatusOK)
	_, err = loop.NewEffects(store, loop.EffectsOptions{Logger: slog.New(slog.DiscardHandler)}).RunOnce(t.Context())
	require.NoError(t, err)

	mailbox := "/v1/sessions/" + child.session + "/mailbox"
	for reading := range 3 {
		require.Equal(t, float64(reading+1), a.get(t, mailbox).want(http.StatusOK).at(0, "delivery_attempts"))
		clock.Add(29_999)
		require.Equal(t, "[]", a.get(t, mailbox).want(http.StatusOK).text, "for 30 seconds nobody else is shown it")
		require.Equal(t, "[]", a.get(t, mailbox+"/dead-letter").want(http.StatusOK).text)
		clock.Add(1)
	}
	require.Equal(t, "[]", a.get(t, mailbox).want(http.StatusOK).text)
	letters := a.get(t, mailbox+"/dead-letter").want(http.StatusOK)
	require.Equal(t, "was read 3 times and never acknowledged", letters.at(0, "last_error"))
	require.Equal(t, 3.0, letters.at(0, "delivery_attempts"))
	replayed := a.post(t, mailbox+"/dead-letter/"+messageOfQ1+"/replay", "").want(http.StatusAccepted)
	require.Equal(t, 0.0, replayed.at("delivery_attempts"))
	require.Equal(t, 1.0, a.get(t, mailbox).want(http.StatusOK).at(0, "delivery_attempts"))
}
