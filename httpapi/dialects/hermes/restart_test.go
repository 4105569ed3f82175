package hermes_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

// TestRestart checks that pending requests survive, ids stay the same, streams begin with the open
// requests, and partial answers remain.
func TestRestart(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		store := database.Reopen(t)
		s := serve(t, store)
		made := s.waiting(t, approvals("a1", "a2")+","+questions(three))
		s.respond(t, made.SessionID, `"choice":"once"`).is(http.StatusOK, chose("once"))
		s.clarify(t, made.SessionID, `"response":"A"`).is(http.StatusOK, took("A"))
		shown := s.pendingClarification(t, made.SessionID).Text
		stream := s.follow(t, "/api/approval/stream", made.SessionID)
		stream.shows("initial", made.handle(t, "a2"), 1)
		s.Stop()
		require.NoError(t, store.Close())
		stream.Ends()

		store = database.Open(t)
		s = serve(t, store)
		stream = s.follow(t, "/api/approval/stream", made.SessionID)
		stream.shows("initial", made.handle(t, "a2"), 1)
		s.follow(t, "/api/clarify/stream", made.SessionID).shows("initial", made.handle(t, "q1")+":two:x", 2)
		s.pendingClarification(t, made.SessionID).is(http.StatusOK, shown)
		s.respond(t, made.SessionID, `"choice":"once","approval_id":"`+made.handle(t, "a1")+`"`).is(http.StatusOK, other("once"))
		s.respond(t, made.SessionID, `"choice":"once","approval_id":"`+made.handle(t, "a2")+`"`).is(http.StatusOK, chose("once"))
		stream.shows("approval", "", 0)
		for _, response := range []string{"B", "words"} {
			s.clarify(t, made.SessionID, `"response":"`+response+`"`).is(http.StatusOK, took(response))
		}
		require.Equal(t, "First?: A\nSecond?: B\nThird?: words", s.now(t, made).Resume.Questions[0].Resolution.Summary)
	})
}
