package watch

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/prompt"
)

// View implements tea.Model.
func (s *screen) View() tea.View {
	view := tea.NewView(s.text())
	view.AltScreen = true
	view.WindowTitle = fmt.Sprintf("holdpoint: %d waiting", len(s.items))
	return view
}

// text returns the whole screen. Text from agents is made printable here.
func (s *screen) text() string {
	state := ""
	if !s.live {
		state = " · connecting…"
	}
	head := fmt.Sprintf("holdpoint · %s · %s%s", s.count(), s.server, state)
	foot := []string{keysHelp}
	if s.sheet != nil {
		foot[0] = sheetHelp
	}
	switch {
	case s.searching:
		foot = []string{searchHelp, "/" + console.Printable(s.filter, false)}
	case s.note != "":
		foot = append(foot, s.note)
	}
	if note := s.notes.text(s.current()); note != "" {
		foot = append([]string{console.Printable(note, false)}, foot...)
	}
	if s.helping {
		s.drawn(part{})
		return strings.Join(append([]string{console.Fit(head, s.width), ""}, allKeys...), "\n")
	}
	details := s.below()
	room := max(s.height-len(foot)-len(details)-4, 1)
	var out strings.Builder
	out.WriteString(console.Fit(head, s.width) + "\n\n")
	for _, line := range s.rows(room) {
		out.WriteString(line + "\n")
	}
	out.WriteString("\n")
	for _, line := range append(details, foot...) {
		out.WriteString(console.Fit(line, s.width) + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// count says how many there are and which of them is selected: "12 of 57 requests".
func (s *screen) count() string {
	list := s.shown()
	text := console.Count(len(list), "request")
	if s.rest.cut {
		text += " and more"
	}
	if at := s.place(); at >= 0 {
		text = fmt.Sprintf("%d of %s", at+1, text)
	}
	if len(s.marked) > 0 {
		text += fmt.Sprintf(", %d marked", len(s.marked))
	}
	if s.filter != "" {
		text += fmt.Sprintf(" with %q", console.Printable(s.filter, false))
	}
	return text
}

// Columns of the list. What is asked has the room that the others leave.
const (
	agentColumns, whereColumns, leftColumns, ageColumns = 14, 20, 5, 5
	leastColumns                                        = 20
)

// row lays out one line of the list, within the width.
func (s *screen) row(what, agent, where, left, age string) string {
	columns := max(s.width-2-agentColumns-whereColumns-leftColumns-ageColumns-4, leastColumns)
	return console.Fit(strings.TrimRight(strings.Join([]string{
		console.Pad(what, columns), console.Pad(agent, agentColumns), console.Pad(where, whereColumns), console.Pad(left, leftColumns), age,
	}, " "), " "), max(s.width-2, leastColumns))
}

// rows returns the requests around the selected one, as many as fit.
func (s *screen) rows(room int) []string {
	list := s.shown()
	switch {
	case len(s.items) == 0 && s.rest.cut:
		return []string{"Loading…"}
	case len(s.items) == 0:
		return []string{"Nothing waits for you."}
	case len(list) == 0:
		return []string{"No matching requests. Escape shows all."}
	}
	at := s.place()
	from := min(max(max(at, s.at)-room/2, 0), max(len(list)-room, 0))
	to := min(from+room, len(list))
	lines := []string{"  " + s.row("WHAT", "AGENT", "WHERE", "LEFT", "AGE")}
	for i := from; i < to; i++ {
		one, mark := &list[i], " "
		if i == at {
			mark = ">"
		}
		if s.marked[one.key()] {
			mark += "*"
		} else {
			mark += " "
		}
		left := ""
		if one.dueMs > 0 {
			left = console.Span(one.dueMs - s.now().UnixMilli())
		}
		lines = append(lines, mark+s.row(s.notes.mark(one.handle())+console.Printable(one.about(), false), console.Printable(one.agent, false), console.Printable(one.where, false), left, console.Span(s.now().UnixMilli()-one.createdAtMs)))
	}
	return lines
}

// lines returns all lines to be read before the selected request is allowed: who may not
// allow it, what the agent says about it, and the whole input.
func (s *screen) lines() []string {
	one := s.current()
	if one == nil {
		return nil
	}
	var lines []string
	add := func(text string, breaks bool) {
		lines = append(lines, console.Wrap(console.Printable(text, breaks), max(s.width-1, 10))...)
	}
	if one.question != nil {
		add(prompt.QuestionText(one.question), true)
		options := choices(one)
		for i := range options {
			add(fmt.Sprintf("%d  %s", i+1, toldApart(options, i)), false)
		}
	}
	for _, line := range prompt.Lines(one.rows(), console.Printable) {
		lines = append(lines, console.Wrap(line, max(s.width-1, 10))...)
	}
	return lines
}

// toldApart is an option in words, with its id if others have the same words.
func toldApart(options []api.QuestionOption, at int) string {
	words := func(option api.QuestionOption) string {
		if option.Description == "" {
			return option.Label
		}
		return option.Label + " — " + option.Description
	}
	text := words(options[at])
	same := func(other api.QuestionOption) bool { return other.ID != options[at].ID && words(other) == text }
	if slices.ContainsFunc(options, same) {
		return text + " (" + options[at].ID + ")"
	}
	return text
}

// detailLines is the maximum number of lines below the list; page is the number of lines
// when one request fills the screen.
func (s *screen) detailLines() int { return min(max(s.height/2, 3), s.page()) }
func (s *screen) page() int        { return max(s.height-9, 1) }
func (s *screen) long() bool       { return len(s.lines()) > s.detailLines() }

// below returns what stands below the list: a question, "Allow and …", or the selected request.
func (s *screen) below() []string {
	switch {
	case s.asking != nil:
		s.drawn(part{})
		return s.asking.lines(s.sheetRoom())
	case s.sheet != nil:
		return s.sheetBelow()
	}
	return s.details()
}

// details returns the lines below the list: the selected request's text as far as it fits,
// or the part that is being read. It notes which lines the frame shows.
func (s *screen) details() []string {
	one, lines := s.current(), s.lines()
	if len(lines) == 0 {
		s.drawn(part{})
		return nil
	}
	from, most := 0, s.detailLines()
	if s.whole && s.long() {
		s.scroll(0)
		from, most = s.from, s.page()
	}
	to := min(from+most, len(lines))
	s.drawn(part{key: one.key(), from: from, to: to, all: len(lines)})
	shown := slices.Clone(lines[from:to])
	if more := len(lines) - to; more > 0 {
		shown = append(shown, fmt.Sprintf("… %s: enter shows them", console.Count(more, "more line")))
	}
	if one.approval != nil && s.seen[one.key()] && len(s.marked) == 0 && !s.now().Before(s.heldUntil) {
		return append(shown, mayAllow)
	}
	return append(shown, "")
}
