package watch

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"
)

// timed returns a screen with a clock that the test moves.
func timed(s *screen) (later func(time.Duration)) {
	now := s.now()
	s.now = func() time.Time { return now }
	return func(by time.Duration) { now = now.Add(by) }
}

// A request can be allowed after all of it was on the screen, and its end for half a second. It can be denied at once.
func TestWhatIsAllowedWasRead(t *testing.T) {
	t.Parallel()
	script := strings.Repeat("echo step\\n", 300) + strings.Repeat("x", 300) + "; rm -rf /srv"
	s := screenOf(asked("a1", `{"command":"`+script+`"}`), asked("a2", `{"command":"ls"}`))
	later := timed(s)
	s.press("j")
	require.NotContains(t, s.text(), "rm -rf")
	require.Nil(t, s.press("a"), "it was not read")
	require.Contains(t, s.note, "read it to the end")
	for pages := 0; !strings.Contains(s.text(), "rm -rf"); pages++ {
		require.Less(t, pages, 40)
		require.LessOrEqual(t, strings.Count(s.text(), "\n"), s.height)
		later(drawnFor)
		require.Nil(t, s.press("a"), "the end was not shown")
		s.press("space")
	}
	later(endInView - 1)
	require.Nil(t, s.press("a"), "nobody reads it so fast")
	require.Contains(t, s.text(), tooEarly)
	later(1)
	s.Update(looked{})
	require.NotContains(t, s.text(), tooEarly)
	require.NotContains(t, s.text(), readToEnd)
	require.Contains(t, s.text(), mayAllow)
	require.NotNil(t, s.press("a"))

	// Another width wraps its lines differently, so it has to be read again.
	s.Update(tea.WindowSizeMsg{Width: 60, Height: 20})
	s.text()
	later(endInView)
	require.Nil(t, s.press("a"))
	require.NotNil(t, s.press("d"), "a denial needs no reading")

	// A short request is fully visible in the first frame, and not before it.
	s.press("enter")
	s.press("j")
	require.Equal(t, "h-a2", s.chosen)
	later(endInView)
	for _, key := range []string{"a", "e", "r"} {
		require.Nil(t, s.press(key), "it was on no screen")
		require.Equal(t, tooEarly, s.note)
	}
	require.NotContains(t, s.text(), mayAllow)
	require.Nil(t, s.press("a"))
	later(endInView - 1)
	require.Nil(t, s.press("a"))
	later(1)
	require.NotNil(t, s.press("a"))
}

// Keys that were typed ahead change the screen before it is drawn: the pages between were never to be seen.
func TestPagesThatWereNotDrawnAreNotRead(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"`+strings.Repeat("echo step\\n", 300)+`rm -rf /srv"}`))
	later := timed(s)
	s.press("j")
	s.text()
	later(drawnFor)
	s.press("space")
	for !strings.Contains(s.text(), "rm -rf") {
		s.press("space")
	}
	later(endInView)
	require.Nil(t, s.press("a"), "only its beginning and its end were drawn")
	require.NotContains(t, s.text(), "rm -rf", "it goes on where the person has read to")
	for !strings.Contains(s.text(), "rm -rf") {
		later(drawnFor)
		s.press("space")
	}
	require.Contains(t, s.text(), readToEnd)
	later(endInView)
	s.Update(looked{})
	require.NotContains(t, s.text(), readToEnd)
	require.Contains(t, s.text(), mayAllow)
	require.NotNil(t, s.press("a"))
}

// A request whose end was in view for a moment only is left out of a decision about several, and of a rule.
func TestAMomentIsNotEnoughForSeveral(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"npm test"}`), asked("b2", `{"command":"npm test b"}`), asked("b3", `{"command":"npm test c"}`))
	serve(t, s)
	later := timed(s)
	for _, key := range []string{"j", "x", "j", "x"} {
		s.press(key)
		s.text()
	}
	later(endInView - 1)
	require.Nil(t, s.press("a"))
	require.Nil(t, s.asking)
	require.Contains(t, s.text(), "none of them was read")
	later(1)
	s.press("a")
	require.Contains(t, s.text(), "Allow 1 request?")
	require.Contains(t, s.text(), "1 not read to the end: left out")
	s.press("esc")
	s.press("esc")
	does(t, s, s.press("r"))
	s.press("4")
	require.NotContains(t, s.text(), "[x] Also allows")
	require.Contains(t, s.text(), "1 that waits now was not read and is left out")
}

// A rule is written once its text has been on the screen for half a second: keys that were typed ahead, and a key that is
// held down, write none.
func TestARuleThatIsWrittenWasRead(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"npm test"}`), asked("b2", `{"command":"npm test b"}`))
	service := serve(t, s)
	later := timed(s)
	for _, key := range []string{"j", "j", "g"} {
		s.press(key)
		s.text()
		later(endInView)
	}
	does(t, s, s.press("r"))
	require.Nil(t, s.press("enter"), "it is held down while the rules load")
	require.Equal(t, tooEarly, s.note)
	s.text()
	later(endInView - 1)
	require.Nil(t, s.press("enter"), "nobody reads it so fast")
	require.Contains(t, s.text(), tooEarly)
	require.NotContains(t, s.text(), mayAllowAnd)
	later(1)
	require.Contains(t, s.text(), mayAllowAnd)
	require.NotContains(t, s.text(), tooEarly)
	for _, key := range []string{"j", "3", "4", "o"} {
		s.press(key)
		require.Nil(t, s.press("enter"), "%s was typed ahead", key)
		require.NotContains(t, s.text(), mayAllowAnd)
		later(endInView)
	}
	require.Contains(t, s.text(), mayAllowAnd)
	load := s.press("left")
	require.NotContains(t, s.text(), mayAllowAnd)
	later(endInView)
	does(t, s, load)
	require.Nil(t, s.press("enter"), "the rule of another lifetime was on no screen")

	// A screen that cuts the rule off does not count.
	s.height = 12
	require.NotContains(t, s.text(), mayAllowAnd)
	later(endInView)
	s.height = 24
	require.Nil(t, s.press("enter"), "a part of it was on no screen")
	require.NotContains(t, s.text(), mayAllowAnd)
	s.height = 12
	require.Nil(t, s.press("enter"))
	require.Contains(t, s.text(), tooSmall)
	s.height = 24
	s.text()

	// The same sheet, opened again, is shown before it counts.
	later(endInView)
	s.Update(looked{})
	require.NotContains(t, s.text(), tooSmall)
	require.Contains(t, s.text(), mayAllowAnd)
	s.press("esc")
	does(t, s, s.press("r"))
	s.press("4")
	require.Nil(t, s.press("enter"))
	require.Empty(t, service.decided)
	s.text()
	later(endInView)
	does(t, s, s.press("enter"))
	require.Len(t, service.decided, 2)
}
