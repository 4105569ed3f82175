package watch

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// holdAfter is how long keys that decide do nothing after the screen has selected the next request
// by itself: a key that is held down, or pressed twice, must not reach it.
const holdAfter = 600 * time.Millisecond

const (
	keysHelp    = "j k choose · a allow · d deny · e edit · r allow and … · x mark · ? keys · q leave"
	chooseFirst = "choose a request first: up and down"
	searchHelp  = "type to search · enter keeps it · escape ends it"
)

// allKeys is shown by "?".
var allKeys = []string{
	"j, k, up, down   next and previous request",
	"g, G             first and last request",
	"a                allow, once all of it was on the screen, its end for half a second;",
	"                 answer a question",
	"d                deny; decline a question",
	"e                edit the input, and allow it",
	"r                allow and write a rule: what, and for how long; it also allows",
	"                 read requests that it fits, unless you press o",
	"x                mark; a and d then decide all marked ones, after a question",
	"1-9, enter       choose an option of a question, and answer with it",
	"enter            show the whole text; space and the page keys read on",
	"/                search; escape shows all again and takes the marks back",
	"q                leave",
}

// press handles a key.
func (s *screen) press(key string) tea.Cmd {
	s.noteRead()
	if key == "ctrl+c" {
		return tea.Quit
	}
	if s.searching {
		s.search(key)
		return nil
	}
	if s.helping {
		s.helping = false
		return nil
	}
	switch {
	case s.asking != nil:
		return s.confirm(key)
	case s.sheet != nil:
		return s.pressSheet(key)
	}
	if one := s.current(); one != nil && one.question != nil && len(key) == 1 && key >= "1" && key <= "9" {
		s.pick(one, int(key[0]-'1'))
		return nil
	}
	switch key {
	case "q":
		return tea.Quit
	case "?":
		s.helping = true
	case "/":
		s.searching, s.note = true, ""
	case "esc":
		s.filter, s.note, s.picked, s.marked = "", "", nil, nil
	case "down", "j":
		s.down(1)
	case "up", "k":
		s.down(-1)
	case "g", "home":
		s.move(-len(s.items))
	case "G", "end":
		s.move(len(s.items))
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
		if s.picked != nil {
			return s.answer()
		}
		s.whole = !s.whole
	case "a":
		return s.allow()
	case "d":
		return s.deny()
	case "e":
		return s.edit()
	case "r":
		return s.openSheet()
	case "x":
		s.mark()
	}
	return nil
}

// search handles a key while words are typed.
func (s *screen) search(key string) {
	switch key {
	case "enter":
		s.searching = false
	case "esc":
		s.searching, s.filter = false, ""
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(s.filter)
		s.filter = s.filter[:len(s.filter)-size]
	case "space":
		s.filter += " "
	default:
		if utf8.RuneCountInString(key) == 1 {
			s.filter += key
		}
	}
	if s.place() < 0 {
		s.leave()
	}
}

// held reports whether the screen has just selected another request by itself. A key that is held down
// repeats, and each repetition starts the pause again.
func (s *screen) held() bool {
	if !s.now().Before(s.heldUntil) {
		return false
	}
	s.heldUntil = s.now().Add(holdAfter)
	return true
}

// allowable returns the selected approval if it can be allowed now. Otherwise the note says why not.
func (s *screen) allowable() *item {
	one := s.current()
	switch {
	case one == nil:
		s.note = chooseFirst
	case s.held():
		s.note = tooEarly
	case one.approval == nil:
		s.note = howToAnswer(one)
	case !s.seen[one.key()]:
		s.readOn(one)
	default:
		return one
	}
	return nil
}

func (s *screen) allow() tea.Cmd {
	if len(s.marked) > 0 {
		s.askSeveral(api.BehaviorAllow)
		return nil
	}
	if one := s.current(); one != nil && one.question != nil {
		if s.held() {
			return nil
		}
		return s.write(one)
	}
	if one := s.allowable(); one != nil {
		return s.sendDecision(one, "allowed", api.ApprovalResolution{Behavior: api.BehaviorAllow})
	}
	return nil
}

// deny also declines a question.
func (s *screen) deny() tea.Cmd {
	if len(s.marked) > 0 {
		s.askSeveral(api.BehaviorDeny)
		return nil
	}
	one := s.current()
	switch {
	case one == nil:
		s.note = chooseFirst
		return nil
	case s.held():
		return nil
	case one.question != nil:
		return s.resolve(one, "declined", api.UserQuestionResolution{RequestID: one.requestID, Declined: true})
	}
	return s.sendDecision(one, "denied", api.ApprovalResolution{Behavior: api.BehaviorDeny})
}

func (s *screen) sendDecision(one *item, what string, resolution api.ApprovalResolution) tea.Cmd {
	return s.send(one, what, func() error { return s.call(one, resolution) })
}

// call decides exactly the request as shown.
func (s *screen) call(one *item, resolution api.ApprovalResolution) error {
	resolution.RequestID, resolution.Handle, resolution.InputDigest = one.requestID, one.handle(), one.approval.InputDigest
	_, err := s.client.ResolveRunApprovals(s.ctx, one.runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{resolution}})
	return err
}

// send makes the call. The next request is selected once this one is settled.
func (s *screen) send(one *item, what string, call func() error) tea.Cmd {
	s.note = "sending…"
	s.mine, s.taken = one.handle(), false
	return func() tea.Msg {
		return decided{handle: one.handle(), what: fmt.Sprintf("%s: %s", what, one.about()), err: call()}
	}
}

// fits reports whether a request has all words that were searched.
func (s *screen) fits(one *item) bool {
	text := strings.ToLower(one.text)
	for word := range strings.FieldsSeq(strings.ToLower(s.filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
