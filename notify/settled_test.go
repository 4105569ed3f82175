package notify_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// A person who lost their last credential, or the reach of it, after the message was sent reads that the request is not open
// any more, and neither its outcome nor who decided.
func TestTheOutcomeIsForPeopleWhoStillDecide(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		b := newBoard()
		s := withBoard(t, database, b)
		people := s.people(t)
		body := api.CreateTokenBody{Name: "cyd", Role: api.RoleOperator}
		left, cyd := s.as(t, body)
		body.Name = "dee"
		moved, dee := s.as(t, body)
		people["cyd"], people["dee"] = cyd, dee
		names := []string{"ada", "ben", "cyd", "dee"}
		for _, name := range names {
			s.verified(t, people[name], "board", name, b.codes)
		}
		runID := raise(t, people["maker"], "s", "a")
		eventually(t, "all are told", func() bool {
			told := 0
			for _, name := range names {
				told += len(b.of(name))
			}
			return told == len(names) && len(s.pendingNotices(t)) == 0
		})
		body.SessionPrefixes = []string{"elsewhere"}
		s.as(t, body)
		for _, tokenID := range []string{left, moved} {
			require.NoError(t, s.Keyring.Revoke(t.Context(), tokenID, true))
		}
		s.resolve(t, people["ben"], runID, api.BehaviorDeny, "a")
		eventually(t, "the withdrawal", func() bool { return len(s.pendingNotices(t)) == 0 })
		for name, want := range map[string]string{
			"ada": ": denied by user:ben", "ben": ": denied by user:ben", "cyd": " is not open any more.", "dee": " is not open any more.",
		} {
			texts := b.of(name)
			require.Len(t, texts, 1, name)
			require.Equal(t, "Approval of deploy  Bcc: eve@example. com"+want, strings.TrimSpace(texts[0]), name)
		}
		s.healthy(t)
	})
}
