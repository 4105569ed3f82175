package watch

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

func screenOf(requests ...api.ApprovalRequest) *screen {
	s := &screen{now: func() time.Time { return time.UnixMilli(10_000) }, width: 80, height: 24}
	inbox := &api.InboxView{}
	for _, request := range requests {
		inbox.PendingApprovals = append(inbox.PendingApprovals, api.PendingApprovalView{SessionID: "s", RunID: "r", Request: request})
	}
	s.take(&client.StreamEvent{Inbox: inbox})
	return s
}

func asked(id, input string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: id, Handle: "h-" + id, ToolName: "bash", Input: api.JSON(input), CreatedAtMs: 7_000}
}

// A key acts on the selected request or on none, never on one that has taken its place.
func TestAKeyNeverActsOnAnotherRequest(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"ls"}`), asked("a2", `{"command":"rm -rf /"}`))
	require.Nil(t, s.press("a"), "nothing is chosen at first")
	s.press("j")
	require.Equal(t, "h-a1", s.chosen)
	require.NotNil(t, s.press("a"))

	s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "s", RunID: "r", Event: api.JSON(
		`{"type":"approval_resolved","resolutions":[{"request_id":"a1","outcome":"denied","resolved_by":"ada","via":"api:inbox"}]}`)}})
	require.Nil(t, s.press("a"))
	require.Empty(t, s.chosen)
	require.Len(t, s.items, 1)

	// A request inserted before the selected one does not move the selection, either.
	s.press("j")
	require.Equal(t, "h-a2", s.chosen)
	entry := &api.RunEventEntry{SessionID: "s", RunID: "r2", Event: api.JSON(
		`{"type":"waiting_for_approval","requests":[{"id":"a3","handle":"h-a3","tool_call_id":"c","tool_name":"bash","input":1}]}`)}
	s.take(&client.StreamEvent{Event: entry})
	s.take(&client.StreamEvent{Event: entry}) // an event may come twice
	require.Len(t, s.items, 2)
	require.Equal(t, "h-a2", s.chosen)

	// A snapshot without it clears the selection.
	s.take(&client.StreamEvent{Inbox: &api.InboxView{}})
	require.Empty(t, s.chosen)
	require.Contains(t, s.text(), "Nothing waits for you.")
}

func TestTheParentOfAChildIsShown(t *testing.T) {
	t.Parallel()
	s := screenOf()
	s.take(&client.StreamEvent{Inbox: &api.InboxView{PendingApprovals: []api.PendingApprovalView{
		{SessionID: "kid", ParentSessionID: "top", RunID: "r", Request: asked("a1", `{}`)},
	}}})
	require.Contains(t, s.text(), "kid (child of top)")
	s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "kid2", RunID: "r2", Event: api.JSON(
		`{"type":"waiting_for_approval","parent_session_id":"top","requests":[{"id":"a3","handle":"h-a3","tool_call_id":"c","tool_name":"bash","input":1}]}`)}})
	require.Contains(t, s.text(), "kid2 (child of top)")
}

// A request that does not fit on the screen can only be allowed after all of it was shown.
// It can be denied at once.
func TestWhatIsAllowedWasRead(t *testing.T) {
	t.Parallel()
	script := strings.Repeat("echo step\\n", 300) + strings.Repeat("x", 300) + "; rm -rf /srv"
	s := screenOf(asked("a1", `{"command":"`+script+`"}`), asked("a2", `{"command":"ls"}`))
	s.press("j")
	require.NotContains(t, s.text(), "rm -rf")
	require.Nil(t, s.press("a"), "it was not read")
	for pages := 0; !strings.Contains(s.text(), "rm -rf"); pages++ {
		require.Less(t, pages, 40)
		require.LessOrEqual(t, strings.Count(s.text(), "\n"), s.height)
		require.Nil(t, s.press("a"), "the end was not shown")
		s.press("space")
	}
	require.NotNil(t, s.press("a"))

	// Another width wraps it anew, so it has to be read again.
	s.Update(tea.WindowSizeMsg{Width: 60, Height: 20})
	s.text()
	require.Nil(t, s.press("a"))
	require.NotNil(t, s.press("d"), "a denial needs no reading")

	// A short request is fully visible as soon as it is selected.
	s.press("enter")
	s.press("j")
	require.Equal(t, "h-a2", s.chosen)
	require.NotNil(t, s.press("a"))
}

func TestScreenShowsWhatImitatesAsWhatItIs(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"ls\u001b[2J\u202e","then":1}`))
	s.press("down")
	s.press("enter")
	text := s.text()
	require.Contains(t, text, "> a1")
	require.Contains(t, text, "bash: ls⟨ESC⟩[2J⟨U+202E⟩ (and 1 more: then)")
	require.Contains(t, text, `"then": 1`)
	require.NotContains(t, text, "\x1b")
	require.LessOrEqual(t, strings.Count(text, "\n"), s.height)
}
