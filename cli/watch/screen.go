package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// screen is the state of the display and its keys.
type screen struct {
	ctx    context.Context //nolint:containedctx // of the calls that keys make
	client *client.Client
	server string
	now    func() time.Time

	items []item
	// chosen is the handle of the selected request; "" for none. It never moves by itself:
	// a key pressed while the list changes must not act on another request.
	chosen string
	whole  bool
	// from is the first visible line of the full text.
	from int
	// read is the number of lines of a request's text that have been on the screen, from
	// the first on, by handle and digest. A request can be allowed once all lines have
	// been. A new width changes the lines.
	read map[string]int
	note string
	live bool

	width, height int
	// ended is why the stream ended.
	ended error
}

type (
	ticked  struct{}
	decided struct {
		what string
		err  error
	}
)

func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return ticked{} }) }

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd { return tick() }

// Update implements tea.Model.
func (s *screen) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height, s.read = message.Width, message.Height, nil
	case ticked:
		return s, tick()
	case streamEnded:
		if s.ctx.Err() == nil {
			s.ended = message.err
		}
		return s, tea.Quit
	case client.StreamEvent:
		s.take(&message)
	case decided:
		s.note = console.Printable(message.what, false)
		if message.err != nil {
			s.note = strings.Join(strings.Fields(console.Explain(message.err, s.now())), " ")
		}
	case tea.KeyPressMsg:
		return s, s.press(message.String())
	}
	return s, nil
}

// take applies an item of the stream.
func (s *screen) take(event *client.StreamEvent) {
	switch {
	case event.Inbox != nil:
		s.items, s.live = itemsOf(event.Inbox), true
		if s.place() < 0 {
			s.chosen = ""
		}
	case event.Event != nil:
		chosen := s.current()
		var settled []api.Resolution
		s.items, settled = apply(s.items, event.Event)
		if chosen == nil || s.place() >= 0 {
			return
		}
		s.chosen, s.whole, s.from = "", false, 0
		for _, resolution := range settled {
			if resolution.RequestID == chosen.requestID {
				s.note = console.Printable(fmt.Sprintf("%s was %s by %s, %s",
					chosen.requestID, resolution.Outcome, resolution.ResolvedBy, console.ByWhatWay(resolution.Via)), false)
			}
		}
	default:
		s.live = false // a snapshot follows
	}
}

func (s *screen) place() int {
	return slices.IndexFunc(s.items, func(one item) bool { return one.handle() == s.chosen })
}

// current returns a copy of the selected request, nil for none.
func (s *screen) current() *item {
	if at := s.place(); at >= 0 {
		one := s.items[at]
		return &one
	}
	return nil
}

// press handles a key.
func (s *screen) press(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "down", "j":
		s.down(1)
	case "up", "k":
		s.down(-1)
	case "pgdown":
		s.down(s.page())
	case "pgup":
		s.down(-s.page())
	case "space":
		if s.whole && s.long() {
			s.scroll(s.page())
		} else {
			s.whole = !s.whole
		}
	case "enter":
		s.whole = !s.whole
	case "a":
		return s.decide("allowed", api.BehaviorAllow)
	case "d":
		return s.decide("denied", api.BehaviorDeny)
	}
	return nil
}

// down moves down in the list, or in the full text if that fills the screen.
func (s *screen) down(by int) {
	if s.whole && s.long() {
		s.scroll(by)
		return
	}
	s.move(by)
}

func (s *screen) scroll(by int) { s.from = min(max(s.from+by, 0), max(len(s.lines())-s.page(), 0)) }

func (s *screen) move(by int) {
	if len(s.items) == 0 {
		return
	}
	at := s.place()
	switch {
	case at < 0 && by < 0:
		at = len(s.items) - 1
	case at < 0:
		at = 0
	default:
		at = min(max(at+by, 0), len(s.items)-1)
	}
	s.chosen, s.note, s.whole, s.from = s.items[at].handle(), "", false, 0
	s.details() // drawn right away
}

// decide sends a decision about exactly the selected request as shown.
func (s *screen) decide(what string, behavior api.Behavior) tea.Cmd {
	one := s.current()
	switch {
	case one == nil:
		s.note = "choose a request first: up and down"
		return nil
	case one.approval == nil:
		s.note = "answer it with: " + console.Program() + " questions answer " + one.handle() + " --interactive"
		return nil
	case behavior == api.BehaviorAllow && s.read[one.key()] < len(s.lines()):
		s.whole, s.note = true, "read it to the end to allow it: space or pgdown reads on"
		return nil
	}
	s.note = "sending…"
	return func() tea.Msg {
		_, err := s.client.ResolveRunApprovals(s.ctx, one.runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{
			RequestID: one.requestID, Handle: one.handle(), InputDigest: one.approval.InputDigest, Behavior: behavior,
		}}})
		return decided{what + " " + one.requestID + ": " + one.about(), err}
	}
}
