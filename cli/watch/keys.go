package watch

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// holdAfter is how long keys that decide do nothing after the screen has selected the next request
// by itself: a key that is held down, or pressed twice, must not reach it.
const holdAfter = 600 * time.Millisecond

const (
	keysHelp   = "j k choose · a allow · d deny · 1-9 answer · enter whole text · / search · ? keys · q leave"
	searchHelp = "type to search · enter keeps it · escape ends it"
)

// allKeys is shown by "?".
var allKeys = []string{
	"j, k, up, down   next and previous request",
	"g, G             first and last request",
	"a                allow, once all of it was on the screen",
	"d                deny",
	"1-9, enter       choose an option of a question, and answer with it",
	"x                decline a question",
	"enter            show the whole text; space and the page keys read on",
	"/                search; escape shows all again",
	"q                leave",
}

// press handles a key.
func (s *screen) press(key string) tea.Cmd {
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
		s.filter, s.note, s.picked = "", "", nil
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
		return s.decide("allowed", api.BehaviorAllow)
	case "d":
		return s.decide("denied", api.BehaviorDeny)
	case "x":
		return s.decline()
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

// optionsOf returns the options of a question that one of them answers.
func optionsOf(one *item) []api.QuestionOption {
	if one.question == nil || len(one.question.Questions) != 1 || one.question.Questions[0].MultiSelect {
		return nil
	}
	return one.question.Questions[0].Options
}

// pick chooses an option; enter answers with it.
func (s *screen) pick(one *item, at int) {
	options := optionsOf(one)
	if at >= len(options) {
		s.note = s.elsewhere(one)
		return
	}
	s.picked = &options[at]
	s.note = console.Printable("enter answers: "+options[at].Label, false)
}

// elsewhere says how to answer a question that takes more than an option.
func (s *screen) elsewhere(one *item) string {
	return "answer it with: " + console.Program() + " questions answer " + one.handle() + " --interactive"
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

// answer sends the option that was picked.
func (s *screen) answer() tea.Cmd {
	one, picked := s.current(), s.picked
	if s.picked = nil; one == nil || s.held() {
		return nil
	}
	return s.resolve(one, "answered", api.UserQuestionResolution{RequestID: one.requestID, Answers: []api.UserQuestionAnswer{
		{QuestionID: one.question.Questions[0].ID, SelectedOptionIDs: []string{picked.ID}},
	}})
}

func (s *screen) decline() tea.Cmd {
	one := s.current()
	if one == nil || one.question == nil || s.held() {
		return nil
	}
	return s.resolve(one, "declined", api.UserQuestionResolution{RequestID: one.requestID, Declined: true})
}

func (s *screen) resolve(one *item, what string, resolution api.UserQuestionResolution) tea.Cmd {
	return s.send(one, what, func() error {
		_, err := s.client.AnswerRunQuestion(s.ctx, one.runID, client.AnswerQuestionParams{Resolution: resolution})
		return err
	})
}

// decide sends a decision about exactly the selected request as shown.
func (s *screen) decide(what string, behavior api.Behavior) tea.Cmd {
	one := s.current()
	switch {
	case one == nil:
		s.note = "choose a request first: up and down"
		return nil
	case s.held():
		return nil
	case one.approval == nil && len(optionsOf(one)) > 0:
		s.note = "choose an option by its number, then enter; x declines"
		return nil
	case one.approval == nil:
		s.note = s.elsewhere(one)
		return nil
	case behavior == api.BehaviorAllow && s.read[one.key()] < len(s.lines()):
		s.whole, s.note = true, "read it to the end to allow it: space or pgdown reads on"
		return nil
	}
	return s.send(one, what, func() error {
		_, err := s.client.ResolveRunApprovals(s.ctx, one.runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{
			RequestID: one.requestID, Handle: one.handle(), InputDigest: one.approval.InputDigest, Behavior: behavior,
		}}})
		return err
	})
}

// send makes the call. The next request is selected once this one is settled.
func (s *screen) send(one *item, what string, call func() error) tea.Cmd {
	s.note = "sending…"
	s.mine, s.taken = one.handle(), false
	return func() tea.Msg { return decided{one.handle(), fmt.Sprintf("%s: %s", what, one.about()), call()} }
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
