package relay_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/runs"
)

// Errors by precedence: each body also has all later errors.
func TestErrorsOfAnswers(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		for _, body := range []string{``, `{`, `nope`, `{"sessionId":"x","sessionId":"y"}`, `{"sessionId":"\udc00","response":1}`} {
			s.post(t, "/chat/relay/nobody", body).refused(http.StatusBadRequest, invalidJSON)
		}
		for _, body := range []string{
			`{}`, `null`, `[]`, `7`, `{"sessionId":"nobody"}`, `{"response":{"approved":true}}`, `{"sessionId":"","response":1}`, `{"sessionId":null,"response":1}`,
			`{"sessionId":0,"response":1}`, `{"sessionId":false,"response":1}`,
		} {
			s.post(t, "/chat/relay/nobody", body).refused(http.StatusBadRequest, relayIncomplete)
		}
		for _, session := range []string{`"nobody"`, `7`, `true`, `{}`, `["x"]`, `"\u0000"`, `"a b"`, `"*"`, `"` + strings.Repeat("x", 300) + `"`} {
			s.post(t, "/chat/relay/nobody", `{"sessionId":`+session+`,"response":null}`).refused(http.StatusNotFound, noSession)
		}
		c := s.chat(t)
		for _, id := range []string{"nobody", "%00", "%FF", "a%20b", "..", strings.Repeat("x", 300), "%2e%2e"} {
			s.answer(t, c.session, id, `{"approved":true}`).refused(http.StatusNotFound, noRelay)
		}

		handle := c.started().raisesOne("a", "ls")
		s.answer(t, c.session, handle, `{"approved":true}`).accepted()
		for _, again := range []string{`{"approved":true}`, `{"approved":false}`, `null`} {
			s.answer(t, c.session, handle, again).refused(http.StatusNotFound, noRelay)
		}
	})
}

func TestSessionsThatAreNoChats(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		c := s.chat(t)
		handle := c.started().raisesOne("a", "ls")
		other := s.chat(t)
		s.answer(t, other.session, handle, `{"approved":true}`).refused(http.StatusNotFound, noRelay)

		session := runs.NewID("session")
		var view api.RunView
		s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"suspend":{%s}}`, session, approvals(bash("a", "ls")))).Into(&view)
		s.answer(t, session, view.PendingApprovals[0].Handle, `{"approved":true}`).refused(http.StatusNotFound, noSession)
		for _, metadata := range []string{`{"relay":{}}`, `{"relay":7}`, `{"relay":null}`, `{"relay":{"run_id":"` + c.run + `","detached":"x"}}`} {
			forged := runs.NewID("session")
			s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"metadata":%s}`, forged, metadata)).Into(new(any))
			s.answer(t, forged, handle, `{"approved":true}`).refused(http.StatusNotFound, noSession)
		}
		forged := runs.NewID("session")
		s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"metadata":{"relay":{"run_id":%q}}}`, forged, c.run)).Into(new(any))
		s.answer(t, forged, handle, `{"approved":true}`).refused(http.StatusNotFound, noSession)
		require.Contains(t, c.open(), "a", "none of it decided anything")
	})
}

// Only true allows, and only true creates a rule. A truthy value other than true, such as "no", decides
// nothing: nobody can tell what was meant.
func TestOddResponses(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		c := s.chat(t)
		w := c.started()
		for i, response := range []string{
			`null`, `false`, `""`, `0`, `true`, `"approved"`, `[]`, `[{"approved":true}]`, `{}`, `{"approved":null}`, `{"approved":0}`, `{"approved":""}`,
			`{"Approved":true}`, `{"approved":false,"always":true}`, `{"approved":false,"reason":{"a":1}}`, `{"approved":false,"reason":""}`,
		} {
			id := fmt.Sprintf("denied-%d", i)
			handle := w.raisesOne(id, "ls")
			s.answer(t, c.session, handle, response).accepted()
			require.Equal(t, api.OutcomeDenied, c.settles("relay_resolved", handle).Outcome, response)
			c.denies(id, "")
		}
		handle := w.raisesOne("allowed", "ls")
		for _, approved := range []string{`1`, `"no"`, `"false"`, `"true"`, `{}`, `[]`, `-0.5`} {
			s.answer(t, c.session, handle, `{"approved":`+approved+`}`).refused(http.StatusBadRequest, "response.approved must be true or false")
		}
		for _, edit := range []string{"updated_input", "updatedInput", "override_input", "overrideInput", "update_input", "edited_args", "newCommand", "edit"} {
			s.answer(t, c.session, handle, `{"approved":true,"`+edit+`":{"command":"ls -l"}}`).
				refused(http.StatusBadRequest, edit+": this contract has no edit, so nothing was allowed; decide in the inbox or with /v1")
		}
		require.Contains(t, c.open(), "allowed")
		s.answer(t, c.session, handle, `{"approved":true,"always":"true","reason":"x"}`).accepted()
		got := c.settles("relay_resolved", handle)
		require.Equal(t, api.OutcomeAllowed, got.Outcome)
		require.Nil(t, got.Rule)
		for i, reason := range []string{"a\x00b\x7f", strings.Repeat("é", api.MaxTextLength)} {
			id := fmt.Sprintf("reason-%d", i)
			handle := w.raisesOne(id, "ls")
			quoted := strings.NewReplacer("\x00", `\u0000`).Replace(`"` + reason + `"`)
			s.answer(t, c.session, handle, `{"approved":false,"reason":`+quoted+`}`).accepted()
			kept := []string{"ab", strings.Repeat("é", api.MaxTextLength/2)}[i]
			require.Equal(t, kept, c.settles("relay_resolved", handle).Reason)
			c.denies(id, kept)
		}
	})
}

func TestWhoDecidesElsewhereWins(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		c := s.chat(t)
		w := c.started()
		open := w.raises(approvals(bash("a", "ls"), bash("b", "ls"), bash("c", "ls"), bash("d", "ls")))
		for _, id := range []string{"a", "b", "c", "d"} {
			c.relays(id, open[id], "ls")
		}
		s.post(t, "/v1/runs/"+c.run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","updated_input":{"command":"ls -l"}},{"request_id":"b","behavior":"deny","reason":"not now"}]}`).Into(new(any))
		require.JSONEq(t, `{"command":"ls -l"}`, string(c.settles("relay_resolved", open["a"]).UpdatedInput))
		c.settles("relay_resolved", open["b"])
		c.denies("b", "not now")
		for _, id := range []string{"a", "b"} {
			s.answer(t, c.session, open[id], `{"approved":true}`).refused(http.StatusNotFound, noRelay)
		}
		require.Equal(t, http.StatusOK, s.post(t, "/v1/runs/"+c.run+"/requests/c/withdraw", `{"fence":"`+w.fence+`"}`).Status)
		c.settles("relay_resolved", open["c"])
		c.denies("c", "cancelled")

		s.answer(t, c.session, open["d"], `{"approved":true}`).accepted()
		late := s.post(t, "/v1/runs/"+c.run+"/approvals", `{"resolutions":[{"request_id":"d","behavior":"deny"}]}`)
		require.Equal(t, http.StatusConflict, late.Status)
		require.Contains(t, late.Text, `"outcome":"allowed","resolved_by":"mara"`)
		require.Contains(t, late.Text, `"via":"relay"`)
	})
}

func TestExpiredRelays(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		c := s.chat(t)
		w := c.started()
		var late string
		w.raises(approvals(bash("late", "ls", `"expires_at_ms":1`), bash("open", "ls")))
		shown := c.Frame()
		require.Equal(t, "relay", shown.Event)
		_, after, _ := strings.Cut(shown.Data, `"id":"`)
		late, _, _ = strings.Cut(after, `"`)
		c.relays("open", c.open()["open"], "ls")
		require.Equal(t, api.OutcomeExpired, c.settles("relay_resolved", late).Outcome)
		c.denies("late", "expired")
		s.answer(t, c.session, late, `{"approved":true}`).refused(http.StatusNotFound, noRelay)
		require.Equal(t, api.OutcomeExpired, w.settled("late").Outcome)
	})
}

// All answer concurrently, and one succeeds.
func TestOneAnswerWins(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		c := s.chat(t)
		w := c.started()
		handle := w.raisesOne("a", "ls")
		const callers = 24
		replies := make([]*reply, callers)
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				replies[i] = s.answer(t, c.session, handle, fmt.Sprintf(`{"approved":%t,"reason":"caller %d"}`, i%2 == 0, i))
			})
		}
		group.Wait()
		won := -1
		for i, got := range replies {
			if got.Status == http.StatusOK {
				require.Equal(t, -1, won, "two answers won")
				won = i
				got.accepted()
				continue
			}
			got.refused(http.StatusNotFound, noRelay)
		}
		require.GreaterOrEqual(t, won, 0)
		recorded := w.settled("a")
		require.Equal(t, won%2 == 0, recorded.Outcome == api.OutcomeAllowed)
		if won%2 != 0 {
			require.Equal(t, fmt.Sprintf("caller %d", won), recorded.Reason)
		}
	})
}

func TestADatabaseThatIsGone(t *testing.T) {
	t.Parallel()
	store := &closable{Store: dialecttest.SQLite(t)}
	s := serve(t, store, relay.Options{})
	c := s.chat(t)
	handle := c.started().raisesOne("a", "ls")
	store.gone.Store(true)
	for _, got := range []*reply{s.answer(t, c.session, handle, `{"approved":true}`), s.post(t, "/chat", `{`+hello+`}`)} {
		got.refused(http.StatusServiceUnavailable, "the database did not answer; the call may or may not have taken effect")
		require.Equal(t, "1", got.Header.Get("Retry-After"))
	}
	store.gone.Store(false)
	s.answer(t, c.session, handle, `{"approved":true}`).accepted()
}
