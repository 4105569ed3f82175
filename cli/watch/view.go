package watch

import (
	"bytes"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/cli/console"
)

const keysHelp = "up/down choose · a allow · d deny · enter whole input · q leave"

// View implements tea.Model.
func (s *screen) View() tea.View {
	view := tea.NewView(s.text())
	view.AltScreen = true
	view.WindowTitle = fmt.Sprintf("holdpoint: %d waiting", len(s.items))
	return view
}

// text is the whole screen. All that agents wrote is made printable here.
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
	room := max(s.height-len(foot)-len(details)-4, 3)
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

// rows are the requests around the chosen one, as many as there is room for.
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
		cells = append(cells, []string{one.requestID, one.sessionID, console.Cut(one.about(), 200), console.Ago(one.createdAtMs, s.now())})
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

// details are what stands under the list: the reason of the chosen request and its input, whole when
// that was asked for, as far as the screen goes.
func (s *screen) details() []string {
	one := s.current()
	if one == nil || one.approval == nil {
		return nil
	}
	var lines []string
	if reason := one.approval.Reason; reason != "" {
		lines = append(lines, "reason: "+console.Printable(reason, false))
	}
	if one.approval.ExcludeRequester {
		lines = append(lines, "whoever asked cannot allow it")
	}
	most := 1
	text := console.Compact(one.approval.Input)
	if s.whole {
		text, most = console.Indented(one.approval.Input), max(s.height/2, 3)
	}
	input := strings.Split(console.Printable(text, true), "\n")
	if len(input) > most {
		input = append(input[:most], fmt.Sprintf("… %d more lines: %s approvals show %s", len(input)-most, console.Program(), one.handle()))
	}
	return append(append(lines, input...), "")
}
