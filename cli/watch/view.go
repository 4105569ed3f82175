package watch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/cli/console"
)

const keysHelp = "up/down choose · a allow · d deny · enter whole input · space reads on · q leave"

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
	head := fmt.Sprintf("holdpoint · %s waiting · %s%s", console.Count(len(s.items), "request"), s.server, state)
	foot := []string{keysHelp}
	if s.note != "" {
		foot = append(foot, s.note)
	}
	details := s.details()
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

// rows returns the requests around the selected one, as many as fit.
func (s *screen) rows(room int) []string {
	if len(s.items) == 0 {
		return []string{"Nothing waits for you."}
	}
	at := s.place()
	from := min(max(at-room/2, 0), max(len(s.items)-room, 0))
	to := min(from+room, len(s.items))
	cells := make([][]string, 0, to-from)
	for i := from; i < to; i++ {
		one := &s.items[i]
		cells = append(cells, []string{one.requestID, one.session, console.Cut(one.about(), 200), console.Ago(one.createdAtMs, s.now())})
	}
	var out bytes.Buffer
	table := console.Console{Stdout: &out, Columns: max(s.width-2, 20)}
	if err := table.Table([]string{"REQUEST", "SESSION", "WHAT", "RAISED"}, cells); err != nil {
		return []string{err.Error()}
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for i := range lines {
		mark := "  "
		if i > 0 && from+i-1 == at {
			mark = "> "
		}
		lines[i] = mark + lines[i]
	}
	return lines
}

// lines returns all lines to be read before the selected request is allowed: who may not
// allow it, its reason, and the whole input.
func (s *screen) lines() []string {
	one := s.current()
	if one == nil || one.approval == nil {
		return nil
	}
	var lines []string
	add := func(text string, breaks bool) {
		lines = append(lines, console.Wrap(console.Printable(text, breaks), max(s.width-1, 10))...)
	}
	if reason := one.approval.Reason; reason != "" {
		add("reason: "+reason, false)
	}
	if description := one.approval.Description; description != "" {
		add("description: "+description, false)
	}
	if one.approval.ExcludeRequester {
		lines = append(lines, "The requester cannot allow it.")
	}
	add(console.Indented(one.approval.Input), true)
	return lines
}

// detailLines is the maximum number of lines below the list; page is the number of lines
// when one request fills the screen.
func (s *screen) detailLines() int { return max(s.height/2, 3) }
func (s *screen) page() int        { return max(s.height-9, 1) }
func (s *screen) long() bool       { return len(s.lines()) > s.detailLines() }

// details returns the lines below the list: the selected request's text as far as it fits,
// or the part that is being read. It records which lines were shown.
func (s *screen) details() []string {
	one, lines := s.current(), s.lines()
	if len(lines) == 0 {
		return nil
	}
	from, most := 0, s.detailLines()
	if s.whole && s.long() {
		s.scroll(0)
		from, most = s.from, s.page()
	}
	to := min(from+most, len(lines))
	if s.read == nil {
		s.read = map[string]int{}
	}
	if from <= s.read[one.key()] {
		s.read[one.key()] = max(s.read[one.key()], to)
	}
	shown := slices.Clone(lines[from:to])
	if more := len(lines) - to; more > 0 {
		shown = append(shown, fmt.Sprintf("… %s: enter shows them", console.Count(more, "more line")))
	}
	return append(shown, "")
}
