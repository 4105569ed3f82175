package notify_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/inprocess"
)

// The answer to the message that counts a flood was lost: the next attempt finds and changes that message.
func TestASlackMessageThatCountsAFloodIsShownOnce(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	const counts = "requests are open"
	lost := map[string]bool{} // by conversation
	s.slack.Set(func() {
		s.slack.After["chat.postMessage"] = func(w http.ResponseWriter) {
			posted := s.slack.Messages[len(s.slack.Messages)-1]
			if strings.Contains(posted.Blocks, counts) && !lost[posted.Channel] {
				lost[posted.Channel] = true
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = fmt.Fprintf(w, `{"ok":true,"channel":%q,"ts":%q}`, posted.Channel, posted.Timestamp) // the service has gone
		}
	})
	raise(t, s.people["maker"], "s", "a", "b", "c", "d", "e", "f", "g")
	s.retries(t, func() (both bool) {
		s.slack.Set(func() { both = len(lost) == 2 })
		return both
	})
	for _, user := range []string{slackAda, slackBen} {
		require.Len(t, s.slack.About(user, counts), 1)
	}
	s.healthy(t)
}
