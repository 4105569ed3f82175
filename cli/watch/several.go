package watch

import (
	"fmt"
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// asking is a decision about several requests that the person has to confirm. Requests that arrive
// meanwhile are not in it.
type asking struct {
	list     []item
	behavior api.Behavior
	unread   int
}

// mark adds the selected approval to the marked ones, or takes it out.
func (s *screen) mark() {
	one := s.current()
	switch {
	case one == nil:
		s.note = chooseFirst
	case one.approval == nil:
		s.note = "a question is answered alone"
	case s.marked[one.key()]:
		delete(s.marked, one.key())
	default:
		if s.marked == nil {
			s.marked = map[string]bool{}
		}
		s.marked[one.key()] = true
	}
}

// forget takes settled and changed requests out of the marked ones.
func (s *screen) forget() {
	open := map[string]bool{}
	for i := range s.items {
		open[s.items[i].key()] = true
	}
	maps.DeleteFunc(s.marked, func(key string, _ bool) bool { return !open[key] })
}

// askSeveral asks whether to decide the marked requests. Ones that the person has not read are not
// allowed.
func (s *screen) askSeveral(behavior api.Behavior) {
	asked := &asking{behavior: behavior}
	for _, one := range s.items {
		switch {
		case !s.marked[one.key()]:
		case behavior == api.BehaviorAllow && !s.seen[one.key()]:
			asked.unread++
		default:
			asked.list = append(asked.list, one)
		}
	}
	if len(asked.list) == 0 {
		s.note = "none of them was read to the end"
		return
	}
	s.asking = asked
}

// lines are the question and its requests.
func (a *asking) lines(room int) []string {
	verb := map[api.Behavior]string{api.BehaviorAllow: "Allow", api.BehaviorDeny: "Deny"}[a.behavior]
	lines := []string{fmt.Sprintf("%s %s? y: yes · any other key: no", verb, console.Count(len(a.list), "request"))}
	for i := range a.list {
		if len(lines) == room-2 && i < len(a.list)-1 {
			lines = append(lines, fmt.Sprintf("  … and %d more", len(a.list)-i))
			break
		}
		lines = append(lines, "  "+console.Printable(a.list[i].about()+" · "+a.list[i].where, false))
	}
	if a.unread > 0 {
		lines = append(lines, fmt.Sprintf("%d not read to the end: left out", a.unread))
	}
	return append(lines, "")
}

// confirm handles the key that answers the question.
func (s *screen) confirm(key string) tea.Cmd {
	asked := s.asking
	if s.asking = nil; key != "y" && key != "Y" {
		s.note = "nothing was decided"
		return nil
	}
	list := slices.DeleteFunc(asked.list, func(one item) bool { return !s.marked[one.key()] })
	if len(list) == 0 {
		s.note = "somebody else has decided all of them"
		return nil
	}
	s.marked, s.note, s.mine, s.taken = nil, "sending…", "", false
	if one := s.current(); one != nil && slices.ContainsFunc(list, func(other item) bool { return other.key() == one.key() }) {
		s.mine = one.handle()
	}
	what, mine := map[api.Behavior]string{api.BehaviorAllow: "allowed", api.BehaviorDeny: "denied"}[asked.behavior], s.mine
	return func() tea.Msg {
		result := decided{several: true}
		count := 0
		for i := range list {
			err := s.call(&list[i], api.ApprovalResolution{Behavior: asked.behavior})
			switch {
			case err == nil:
				count++
				if list[i].handle() == mine {
					result.handle = mine
				}
			case result.err == nil:
				result.err = err
			}
		}
		result.what = fmt.Sprintf("%s: %d of %s", what, count, console.Count(len(list), "request"))
		return result
	}
}
