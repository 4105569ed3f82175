package watch

import (
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// others are the pending approvals of the same tool, read ones first, at most as many as the service tries
// rules on.
func (s *screen) others(of *item) []item {
	var read, unread []item
	for _, one := range s.items {
		switch {
		case one.approval == nil || one.handle() == of.handle() || one.approval.ToolName != of.approval.ToolName:
		case s.seen[one.key()]:
			read = append(read, one)
		default:
			unread = append(unread, one)
		}
	}
	all := slices.Concat(read, unread)
	return all[:min(len(all), api.MaxAlsoExplained)]
}

// also returns the requests that the chosen rule would have allowed, which this person has read, and the number
// of unread ones. They are the ones of the moment when the service was asked, with the same input, and still open.
func (s *screen) also(open *sheet) (read []item, unread int) {
	if open.loading || len(open.choices) == 0 {
		return nil, 0
	}
	choice := open.choices[open.chosen]
	for _, one := range open.others {
		open := slices.ContainsFunc(s.items, func(other item) bool { return other.key() == one.key() })
		switch {
		case !open || !slices.Contains(choice.also, one.handle()):
		case choice.scope == api.RememberSession && one.sessionID != s.sheet.one.sessionID:
		case s.seen[one.key()]:
			read = append(read, one)
		default:
			unread++
		}
	}
	return read, unread
}

// alsoLines say what the rule also allows.
func (s *screen) alsoLines(open *sheet) (lines []string) {
	read, unread := s.also(open)
	if n := len(read); n > 0 {
		mark, waits := "x", "wait"
		if open.alone {
			mark = " "
		}
		if n == 1 {
			waits = "waits"
		}
		lines = append(lines, fmt.Sprintf("[%s] Also allows %d that %s now (o changes this)", mark, n, waits))
	}
	switch {
	case unread == 1:
		lines = append(lines, "1 that waits now was not read and is left out")
	case unread > 1:
		lines = append(lines, fmt.Sprintf("%d that wait now were not read and are left out", unread))
	}
	return lines
}

// allowOthers allows requests, once the service has accepted the decision that wrote the rule. It returns what to
// say about them, and the first failure.
func (s *screen) allowOthers(list []item) (said string, failure error) {
	count := 0
	for i := range list {
		err := s.call(&list[i], api.ApprovalResolution{Behavior: api.BehaviorAllow})
		switch {
		case err == nil:
			count++
		case failure == nil:
			failure = err
		}
	}
	return fmt.Sprintf("; also allowed: %d of %s", count, console.Count(len(list), "request")), failure
}
