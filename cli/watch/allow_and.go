package watch

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// sheet is "Allow and …": the rules that allowing a request can write.
type sheet struct {
	one              *item
	choices          []ruleChoice
	chosen, lifetime int
	// forMs is the lifetime that the choices' texts say, from the time at. loading says that the texts are not those of
	// the chosen lifetime, and problem why there are none: the service may limit the lifetime.
	forMs   int64
	at      time.Time
	loading bool
	problem string
	// others are the requests on which the service tried the rules. alone says that the rule allows none of them.
	others []item
	alone  bool
}

// key identifies what the sheet shows: the rule, and whether it allows other requests. It is "" while there is no rule.
func (open *sheet) key() string {
	if open.loading || open.problem != "" {
		return ""
	}
	return fmt.Sprintf("sheet %s %d %d %d %t", open.one.key(), open.at.UnixNano(), open.lifetime, open.chosen, open.alone)
}

// ruleChoice is a rule with the text that the service gives it.
type ruleChoice struct {
	as         api.RememberAs
	scope      api.Remember
	what, text string
	// also are the handles of pending requests that the rule would have allowed.
	also []string
}

// explained are the choices for a lifetime of rules.
type explained struct {
	sheet    *sheet
	lifetime int
	forMs    int64
	at       time.Time
	choices  []ruleChoice
	others   []item
	err      error
}

// lifetimes are how long a rule may hold. The third one is chosen at first.
var lifetimes = []struct {
	name string
	ms   func(now time.Time) int64
}{
	{"1 hour", func(time.Time) int64 { return time.Hour.Milliseconds() }},
	{"today", func(now time.Time) int64 {
		year, month, day := now.Date()
		return max(time.Date(year, month, day+1, 0, 0, 0, 0, now.Location()).Sub(now), time.Minute).Milliseconds()
	}},
	{"30 days", func(time.Time) int64 { return (30 * 24 * time.Hour).Milliseconds() }},
	{"always", func(time.Time) int64 { return 0 }},
}

const sheetHelp = "number or j k chooses what · left right for how long · o also those that wait · enter allows · escape leaves"

// openSheet opens "Allow and …" for the selected request.
func (s *screen) openSheet() tea.Cmd {
	one := s.allowable()
	if one == nil {
		return nil
	}
	s.sheet, s.note = &sheet{one: one, lifetime: 2}, ""
	return s.explain()
}

// explain asks the service for the rules of the chosen lifetime.
func (s *screen) explain() tea.Cmd {
	open := s.sheet
	open.loading, open.problem = true, ""
	one, now := open.one, s.now()
	asked := explained{sheet: open, lifetime: open.lifetime, forMs: lifetimes[open.lifetime].ms(now), at: now, others: s.others(open.one)}
	handles := make([]string, len(asked.others))
	for i := range asked.others {
		handles[i] = asked.others[i].handle()
	}
	return func() tea.Msg {
		found, err := s.client.ExplainRules(s.ctx, api.ExplainRulesBody{
			SessionID: &one.sessionID, ToolName: one.approval.ToolName, ToolCallID: one.approval.ToolCallID,
			Input: one.approval.Input, PatternKeys: one.approval.PatternKeys, Directory: one.approval.Directory,
			SensitivePaths: one.approval.SensitivePaths, InputDigest: one.approval.InputDigest, RememberForMs: &asked.forMs, Also: handles,
		})
		if asked.err = err; err == nil {
			asked.choices = ruleChoices(one, found.Remember.Choices)
		}
		return asked
	}
}

// takeChoices shows the choices, unless the person has left the sheet or chosen another lifetime.
func (s *screen) takeChoices(answer explained) {
	open := s.sheet
	switch {
	case open == nil || open != answer.sheet || open.lifetime != answer.lifetime:
	case answer.err != nil:
		s.fail(answer.err)
		open.problem, s.note = s.note, ""
	case len(answer.choices) == 0:
		s.sheet, s.note = nil, "no rule can be written about this call"
	default:
		open.choices, open.others, open.forMs, open.at, open.loading = answer.choices, answer.others, answer.forMs, answer.at, false
		open.chosen = min(open.chosen, len(open.choices)-1)
	}
}

// ruleChoices names the choices of the service.
func ruleChoices(one *item, choices []api.RememberChoice) (all []ruleChoice) {
	for _, choice := range choices {
		what, known := map[api.RememberAs]string{
			api.RememberExact:   "this exact call",
			api.RememberCommand: "this command, whatever its description",
			api.RememberPrefix:  fmt.Sprintf("commands that start with %q", choice.About),
			api.RememberFolder:  fmt.Sprintf("calls of %s in %s", one.approval.ToolName, choice.About),
			api.RememberTool:    "every call of " + one.approval.ToolName,
		}[choice.As]
		if !known {
			continue // of a newer service
		}
		if choice.Session != "" {
			all = append(all, ruleChoice{choice.As, api.RememberSession, what + ", in this session", choice.Session, choice.Also})
		}
		if choice.Always != "" {
			all = append(all, ruleChoice{choice.As, api.RememberAlways, what + ", in all sessions", choice.Always, choice.Also})
		}
	}
	return all
}

// pressSheet handles a key while the sheet is open.
func (s *screen) pressSheet(key string) tea.Cmd {
	open := s.sheet
	switch {
	case key == "esc" || key == "q":
		s.sheet, s.note = nil, "nothing was decided"
	case key == "enter":
		return s.allowAnd()
	case key == "left" && open.lifetime > 0:
		open.lifetime--
		return s.explain()
	case key == "right" && open.lifetime < len(lifetimes)-1:
		open.lifetime++
		return s.explain()
	case key == "up" || key == "k":
		open.chosen = max(open.chosen-1, 0)
	case key == "down" || key == "j":
		open.chosen = min(open.chosen+1, max(len(open.choices)-1, 0))
	case key == "o":
		open.alone = !open.alone
	case len(key) == 1 && key >= "1" && int(key[0]-'1') < len(open.choices):
		open.chosen = int(key[0] - '1')
	}
	return nil
}

// allowAnd allows the request and writes the chosen rule, whose whole text has been on the screen.
func (s *screen) allowAnd() tea.Cmd {
	open := s.sheet
	if open.loading {
		return nil
	}
	if len(s.sheetLines()) > s.sheetRoom() {
		s.note = tooSmall
		return nil
	}
	if !s.seen[open.key()] { // enter was typed ahead, or is held down
		s.note = tooEarly
		return nil
	}
	choice := open.choices[open.chosen]
	others, _ := s.also(open)
	if open.alone {
		others = nil
	}
	s.sheet = nil
	forMs := open.forMs
	if forMs > 0 { // the rule ends when the text says, however long the sheet was open
		forMs = max(forMs-s.now().Sub(open.at).Milliseconds(), 1)
	}
	own := s.sendDecision(open.one, "allowed with a rule", api.ApprovalResolution{
		Behavior: api.BehaviorAllow, Remember: choice.scope, RememberAs: choice.as, RememberForMs: &forMs,
	})
	if len(others) == 0 {
		return own
	}
	return func() tea.Msg {
		result, ok := own().(decided)
		if !ok || result.err != nil {
			return result
		}
		said, err := s.allowOthers(others)
		result.what += said
		result.err, result.several = err, true
		return result
	}
}

// sheetRoom is how many lines a sheet can have next to the head, one request, and the keys.
func (s *screen) sheetRoom() int { return max(s.height-8, 1) }

// sheetBelow returns the sheet as far as it fits. Only a frame with all of it counts as read.
func (s *screen) sheetBelow() []string {
	lines, room, shown := s.sheetLines(), s.sheetRoom(), part{}
	if len(lines) <= room {
		shown = part{key: s.sheet.key(), to: 1, all: 1}
	}
	s.drawn(shown)
	if shown.key != "" && s.seen[shown.key] {
		lines[len(lines)-1] = mayAllowAnd
	}
	return lines[:min(len(lines), room)]
}

func (s *screen) sheetLines() []string {
	open := s.sheet
	columns := max(s.width-1, 10)
	lines := []string{"Allow it, and from now on without asking:"}
	for i, choice := range open.choices {
		mark := "  "
		if i == open.chosen {
			mark = "> "
		}
		lines = append(lines, console.Wrap(console.Printable(fmt.Sprintf("%s%d  %s", mark, i+1, choice.what), false), columns)...)
	}
	names := make([]string, len(lifetimes))
	for i, one := range lifetimes {
		if names[i] = one.name; i == open.lifetime {
			names[i] = "[" + one.name + "]"
		}
	}
	lines = append(lines, "For: "+strings.Join(names, " · "))
	for _, line := range s.alsoLines(open) {
		lines = append(lines, console.Wrap(line, columns)...)
	}
	text := "Loading…"
	switch {
	case open.problem != "":
		text = open.problem
	case !open.loading:
		text = "Rule: " + open.choices[open.chosen].text
	}
	return append(append(lines, console.Wrap(console.Printable(text, false), columns)...), "")
}
