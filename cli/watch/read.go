package watch

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// drawnFor is how long a part of a text stands until it was certainly drawn: keys that were typed ahead change the
	// screen more often than the terminal gets a frame.
	drawnFor = 20 * time.Millisecond
	// endInView is how long the end of a request's text must stand on the screen before it can be allowed.
	endInView = 500 * time.Millisecond
)

const (
	mayAllow    = "Press a to allow it"
	mayAllowAnd = "Press enter to allow it"
	tooEarly    = "Not allowed yet. Read it, then press again."
	tooSmall    = "the terminal is too small to show the whole rule"
	readToEnd   = "read it to the end to allow it: space or pgdown reads on"
)

// part is the lines from and up to (without) to, of all lines of a request's text or a sheet, on the screen since a time.
// The zero value shows nothing.
type part struct {
	key           string
	from, to, all int
	since         time.Time
}

// look draws the screen again once the end of a text can count as read.
func look() tea.Cmd { return tea.Tick(endInView+drawnFor, func(time.Time) tea.Msg { return looked{} }) }

type looked struct{}

// drawn notes what a frame shows.
func (s *screen) drawn(shown part) {
	s.noteRead()
	if shown.since = s.frame.since; shown != s.frame {
		shown.since = s.now()
		s.frame = shown
	}
}

// noteRead counts the lines of the last frame as read, once they have stood long enough.
func (s *screen) noteRead() {
	shown, stood := s.frame, s.now().Sub(s.frame.since)
	ends := shown.to == shown.all
	switch {
	case shown.key == "" || shown.from > s.read[shown.key]: // lines before it were not read
		return
	case ends && stood < endInView || stood < drawnFor:
		return
	}
	if s.read == nil {
		s.read, s.seen = map[string]int{}, map[string]bool{}
	}
	s.read[shown.key] = max(s.read[shown.key], shown.to)
	if !ends {
		return
	}
	s.seen[shown.key] = true
	switch s.note {
	case tooEarly, readToEnd, tooSmall:
		s.note = ""
	}
}

// readOn shows the first part of the selected request that was not read, and says why it cannot be allowed yet.
func (s *screen) readOn(one *item) {
	shown, read := s.frame, s.read[one.key()]
	if !s.long() || shown.key == one.key() && shown.to == shown.all && shown.from <= read {
		s.note = tooEarly
		return
	}
	s.whole, s.from, s.note = true, min(s.from, read), readToEnd
}
