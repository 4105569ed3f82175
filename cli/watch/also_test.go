package watch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// "Allow and …" also allows the read requests that the rule fits, once the service has taken the decision.
func TestARuleAlsoAllowsPendingRequests(t *testing.T) {
	t.Parallel()
	long := asked("long", `{"command":"npm test `+strings.Repeat(`x\n`, 3000)+`"}`)
	elsewhere, changed := asked("b3", `{"command":"npm test c"}`), asked("changed", `{"command":"npm test d"}`)
	other := asked("other", `{"n":1}`)
	other.ToolName = "deploy"
	s := screenOf(asked("a1", `{"command":"npm test"}`), asked("b2", `{"command":"npm test b"}`), elsewhere, long, changed, asked("late", `{"command":"npm test e"}`), asked("unlike", `{"command":"ls"}`), other)
	for i := range s.items {
		if s.items[i].requestID == "b3" {
			s.items[i].sessionID = "s2"
		}
	}
	s.height = 40
	service := serve(t, s)
	for range len(s.items) {
		s.press("j") // all but the long one fit
		reads(s)
	}
	s.press("g")
	load := s.press("r")
	does(t, s, load)
	require.NotContains(t, service.explains[0].Also, "h-other")
	require.Equal(t, "h-long", service.explains[0].Also[len(service.explains[0].Also)-1], "unread ones are asked about last")
	require.NotContains(t, s.text(), "Also allows", "the exact call is pending once")

	s.press("3")
	require.Contains(t, s.text(), `> 3  commands that start with "npm test", in this session`)
	require.Contains(t, s.text(), "[x] Also allows 3 that wait now")
	require.Contains(t, s.text(), "1 that waits now was not read and is left out")
	s.press("4")
	require.Contains(t, s.text(), "[x] Also allows 4 that wait now")

	// Another input of one of them was not read, and one that arrives now was not asked about.
	changed.InputDigest = "sha256:other"
	views := &api.InboxView{}
	for i := range s.items {
		request := *s.items[i].approval
		if request.ID == "changed" {
			request = changed
		}
		views.PendingApprovals = append(views.PendingApprovals, api.PendingApprovalView{SessionID: s.items[i].sessionID, RunID: "r", Request: request})
	}
	views.PendingApprovals = append(views.PendingApprovals, api.PendingApprovalView{SessionID: "s", RunID: "r", Request: asked("fresh", `{"command":"npm test f"}`)})
	s.take(&client.StreamEvent{Inbox: views})
	require.Contains(t, s.text(), "[x] Also allows 3 that wait now")

	reads(s)
	does(t, s, s.press("enter"))
	require.Len(t, service.decided, 3)
	require.Equal(t, api.RememberPrefix, service.decided[0].RememberAs)
	for i, id := range []string{"a1", "b2", "b3"} {
		require.Equal(t, id, service.decided[i].RequestID)
		require.Equal(t, api.BehaviorAllow, service.decided[i].Behavior)
		require.Equal(t, i == 0, service.decided[i].Remember != "", "the rule is written once")
	}
	require.Contains(t, s.note, "also allowed: 2 of 3 requests")
	require.Contains(t, s.note, "it is settled")
}

// Nothing else is allowed when the person says so, or when somebody else was first with the decision.
func TestARuleAlone(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("late", `{"command":"npm test"}`), asked("b2", `{"command":"npm test b"}`))
	service := serve(t, s)
	s.press("j")
	reads(s)
	s.press("j")
	reads(s)
	s.press("g")
	does(t, s, s.press("r"))
	s.press("4")
	require.Contains(t, s.text(), "[x] Also allows 1 that waits now")
	reads(s)
	does(t, s, s.press("enter"))
	require.Contains(t, s.note, "it is settled")
	require.Empty(t, service.decided, "the decision with the rule was refused")

	s = screenOf(asked("a1", `{"command":"npm test"}`), asked("b2", `{"command":"npm test b"}`))
	service = serve(t, s)
	s.press("j")
	reads(s)
	s.press("j")
	reads(s)
	s.press("g")
	does(t, s, s.press("r"))
	s.press("4")
	s.press("o")
	require.Contains(t, s.text(), "[ ] Also allows 1 that waits now")
	reads(s)
	does(t, s, s.press("enter"))
	require.Len(t, service.decided, 1)
}
