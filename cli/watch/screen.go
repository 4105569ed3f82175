package watch

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// screen is the state of the display and its keys.
type screen struct {
	ctx    context.Context //nolint:containedctx // of the calls that keys make
	client *client.Client
	server string
	now    func() time.Time

	items []item
	// chosen is the handle of the selected request; "" for none. It moves by itself only after a
	// decision of this person, and keys that decide wait then (heldUntil): a key pressed while the
	// list changes must not act on another request.
	chosen    string
	heldUntil time.Time
	// at is the place of the selected request, or where it was.
	at int
	// mine is the handle of the request about which this person has sent a decision last. taken says that
	// the service has recorded it: somebody else may be first.
	mine  string
	taken bool
	whole bool
	// from is the first visible line of the full text.
	from int
	// frame is the part of a request's text that the last frame showed.
	frame part
	// read is the number of lines of a request's text that have been on the screen, from
	// the first on, by handle and digest. A request can be allowed once all lines have
	// been. A new width changes the lines.
	read map[string]int
	// seen are the requests and sheets whose whole text has been on the screen, by key, and its end for endInView. marked are the
	// approvals that the person has marked, and asking is the question about them.
	seen, marked map[string]bool
	asking       *asking
	// sheet is "Allow and …", nil while it is closed.
	sheet *sheet
	// editInput opens an input in the person's editor.
	editInput func(context.Context, api.JSON) (api.JSON, error)
	// askAnswer asks for the answers to a question at the terminal.
	askAnswer func(*api.UserQuestionRequest) (api.UserQuestionResolution, error)
	// picked is the option that enter answers with.
	picked             *api.QuestionOption
	searching, helping bool
	filter             string
	note               string
	live               bool
	rest               rest
	notes              noted
	notesDue           time.Time

	width, height int
	// ended is why the stream ended.
	ended error
}

type (
	ticked  struct{}
	decided struct {
		handle, what string
		err          error
		// several says that what happened is true even if one of the calls failed.
		several bool
	}
)

func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return ticked{} }) }

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd { return tick() }

// Update implements tea.Model.
func (s *screen) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height, s.frame, s.read, s.seen = message.Width, message.Height, part{}, nil, nil
	case ticked:
		s.noteRead()
		return s, tea.Batch(tick(), s.readNotes(), s.readRest())
	case looked:
		s.noteRead()
	case noted:
		s.notes = message
	case streamEnded:
		if s.ctx.Err() == nil {
			s.ended = message.err
		}
		return s, tea.Quit
	case client.StreamEvent:
		s.take(&message)
		return s, s.readRest()
	case restRead:
		s.takeRest(message)
	case decided:
		s.note = console.Printable(message.what, false)
		switch {
		case message.err != nil && message.several:
			what := s.note
			s.fail(message.err)
			s.note = what + ": " + s.note
		case message.err != nil:
			s.fail(message.err)
		}
		switch {
		case message.err != nil && !message.several, message.handle == "", message.handle != s.mine:
		case s.chosen == "": // the stream was faster
			s.next()
		default:
			s.taken = true
		}
	case edited:
		return s, s.allowEdited(message)
	case answered:
		return s, s.sendAnswer(message)
	case explained:
		s.takeChoices(message)
		return s, look()
	case tea.KeyPressMsg:
		return s, tea.Batch(s.press(message.String()), look())
	}
	return s, nil
}

// fail shows why a call failed, in one line.
func (s *screen) fail(err error) {
	s.note = strings.Join(strings.Fields(console.Explain(err, s.now())), " ")
}

// take applies an item of the stream.
func (s *screen) take(event *client.StreamEvent) {
	chosen := s.current()
	var settled []api.Resolution
	switch {
	case event.Inbox != nil:
		s.items, s.live = itemsOf(event.Inbox), true
		s.rest = rest{cut: event.Inbox.More, below: math.MaxInt, snapshots: s.rest.snapshots + 1}
	case event.Event != nil:
		s.items, settled = apply(s.items, event.Event)
		if s.rest.reading {
			s.rest.since = append(s.rest.since, event.Event)
		}
	default:
		s.live = false // a snapshot follows
	}
	s.forget()
	if s.moved() || chosen == nil {
		return
	}
	if chosen.handle() == s.mine && s.taken {
		s.next()
		return
	}
	s.leave()
	for _, resolution := range settled {
		if resolution.RequestID == chosen.requestID {
			s.note = console.Printable(prompt.Decided(resolution.Outcome, resolution.ResolvedBy, resolution.Via, "")+": "+chosen.about(), false)
		}
	}
}

// moved finds the place of the selected request in a list that has changed, if it is still in it.
func (s *screen) moved() bool {
	at := s.place()
	if at >= 0 {
		s.at = at
	}
	return at >= 0
}

// leave selects nothing. The place is kept for the next key that moves.
func (s *screen) leave() { s.chosen, s.whole, s.from, s.picked, s.sheet = "", false, 0, nil, nil }

// next selects the request that has taken the place of one that this person has decided.
func (s *screen) next() {
	s.leave()
	list := s.shown()
	if len(list) == 0 {
		return
	}
	s.at = min(s.at, len(list)-1)
	s.chosen, s.heldUntil = list[s.at].handle(), s.now().Add(holdAfter)
}

// shown are the requests that fit the search.
func (s *screen) shown() []item {
	if s.filter == "" {
		return s.items
	}
	list := slices.Clone(s.items)
	return slices.DeleteFunc(list, func(one item) bool { return !s.fits(&one) })
}

func (s *screen) place() int {
	return slices.IndexFunc(s.shown(), func(one item) bool { return one.handle() == s.chosen })
}

// current returns a copy of the selected request, nil for none.
func (s *screen) current() *item {
	if at := s.place(); at >= 0 {
		one := s.shown()[at]
		return &one
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
	list := s.shown()
	if len(list) == 0 {
		return
	}
	at := s.place()
	switch {
	case at < 0 && s.at == 0 && by < 0:
		at = len(list) - 1
	case at < 0:
		at = min(s.at, len(list)-1)
	default:
		at = min(max(at+by, 0), len(list)-1)
	}
	s.leave()
	s.chosen, s.at, s.note = list[at].handle(), at, ""
}
