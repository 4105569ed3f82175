package prompt

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// Kind is the form of a row's value.
type Kind uint8

// The kinds of rows.
const (
	// Text is one line. A line break in it is the agent's and is escaped.
	Text Kind = iota
	// Said is Text by which the agent explains its call.
	Said
	// List has one item per line, of the agent's side.
	List
	// Rules is a List that standing rules made.
	Rules
	// Title names the request. Faces with a list show it there.
	Title
	// Body is the request itself, over several lines.
	Body
	// Verbatim is a text of an input with the agent's own line breaks.
	Verbatim
	// Time has AtMs and no Value.
	Time
)

// Row is one fact about a request or its outcome. Values are the agent's text, not escaped.
type Row struct {
	Label string
	Kind  Kind
	Value string
	// AtMs is in milliseconds since the epoch.
	AtMs int64
	// Deciding is set when a person must have read the row before deciding. Faces where people decide
	// show these rows; a face that describes a request completely shows all.
	Deciding bool
}

// OfApproval returns what there is to read about an approval, in order, without its ids. A new member of
// the request becomes visible here.
func OfApproval(request *api.ApprovalRequest) []Row {
	excluded := ""
	if request.ExcludeRequester {
		excluded = "yes"
	}
	said, input := ofInput(request.Input)
	return present(slices.Concat([]Row{
		{Label: "tool", Kind: Title, Value: request.ToolName, Deciding: true},
		{Label: "action", Value: Action(request.Input), Deciding: true},
		{Label: "directory", Value: request.Directory, Deciding: true},
		{Label: "scope", Value: request.Scope},
		{Label: "reason", Kind: Said, Value: request.Reason, Deciding: true},
		{Label: "description", Kind: Said, Value: request.Description, Deciding: true},
	}, said, hintsOf(request.Hints), input, []Row{
		{Label: "input digest", Value: request.InputDigest},
		{Label: "pattern keys", Kind: List, Value: strings.Join(request.PatternKeys, "\n")},
		raised(request.CreatedAtMs),
		expires(DeadlineMs(request.ExpiresAtMs, request.Escalation)),
		editedTo(request.InputSchema),
		{Label: "metadata", Value: Compact(request.Metadata)},
		{Label: "someone else must allow it", Value: excluded, Deciding: true},
	}))
}

// editedTo says what an approver may change the input to.
func editedTo(schema api.JSON) Row {
	if text := Compact(schema); text != "false" {
		return Row{Label: "may be edited to", Value: text}
	}
	return Row{Label: "may be edited", Value: "no"}
}

// OfQuestion returns what there is to read about a question, in order, without its ids.
func OfQuestion(request *api.UserQuestionRequest) []Row {
	rows := append([]Row{{Label: "kind", Value: request.Kind}}, hintsOf(request.Hints)...)
	for i := range request.Questions {
		question := &request.Questions[i]
		rows = append(rows, Row{Label: "question " + question.ID, Kind: Body, Value: questionOf(question, i), Deciding: true})
	}
	return present(append(rows,
		Row{Label: "payload", Kind: Body, Value: Indented(request.Payload), Deciding: true},
		Row{Label: "the value must fit", Kind: Body, Value: Indented(request.ResponseSchema), Deciding: true},
		raised(request.CreatedAtMs),
		expires(DeadlineMs(request.ExpiresAtMs, request.Escalation)),
	))
}

// OfResolution returns what a decision says in addition to its outcome; nil for nil.
func OfResolution(given *api.Resolution) []Row {
	if given == nil {
		return nil
	}
	rows := []Row{
		{Label: "edited to", Value: Compact(given.UpdatedInput)},
		{Label: "said", Kind: Said, Value: given.Reason},
		{Label: "justification", Kind: Said, Value: given.Justification},
	}
	if given.Rule != nil {
		rows = append(rows, Row{Label: "rule", Value: given.Rule.RuleID + ": " + given.Rule.Text})
	}
	return present(rows)
}

// Decided says in one line what was decided, by whom, when and how. when is a time in a face's own
// words, or empty.
func Decided(outcome api.Outcome, by, via, when string) string {
	if when != "" {
		when += ", "
	}
	return string(outcome) + " by " + by + ", " + when + Way(via)
}

// ForDeciding returns the rows that a person must have read before deciding.
func ForDeciding(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(row Row) bool { return !row.Deciding })
}

// Gutter begins each line of a text with the agent's own line breaks, so that none of them looks like a row.
const Gutter = "│ "

// Lines returns the text to read before deciding, for a face that shows titles and times elsewhere:
// labelled lines, and below them the request itself. printable escapes the agent's text; breaks tells
// whether line breaks stay.
func Lines(rows []Row, printable func(text string, breaks bool) string) []string {
	var lines []string
	for _, row := range ForDeciding(rows) {
		switch row.Kind {
		case Title, Time, Body, Verbatim:
		case List, Rules:
			for item := range strings.SplitSeq(row.Value, "\n") {
				lines = append(lines, printable(row.Label+": "+item, false))
			}
		case Text, Said:
			lines = append(lines, printable(row.Label+": "+row.Value, false))
		}
	}
	return append(lines, RequestLines(rows, printable)...)
}

// RequestLines returns the request itself as Lines does.
func RequestLines(rows []Row, printable func(text string, breaks bool) string) (lines []string) {
	for _, row := range ForDeciding(rows) {
		switch {
		case row.Kind == Verbatim && strings.Contains(row.Value, "\n"):
			lines = append(lines, row.Label+":")
			for line := range strings.SplitSeq(printable(row.Value, true), "\n") {
				lines = append(lines, Gutter+line)
			}
		case row.Kind == Verbatim:
			lines = append(lines, row.Label+": "+printable(row.Value, true))
		case row.Kind == Body && len(lines) > 0:
			lines = append(lines, row.Label+":", printable(row.Value, true))
		case row.Kind == Body:
			lines = append(lines, printable(row.Value, true))
		}
	}
	return lines
}

func raised(atMs int64) Row { return Row{Label: "raised", Kind: Time, AtMs: atMs, Deciding: true} }

func expires(atMs int64) Row { return Row{Label: "expires", Kind: Time, AtMs: atMs, Deciding: true} }

// DeadlineMs returns when a request expires, by its expires_at_ms and its escalation; 0 for never. A request that
// stays open after its deadline does not expire.
func DeadlineMs(atMs *int64, e *api.Escalation) int64 {
	if atMs == nil || e != nil && e.AtDeadline == api.DeadlineKeep {
		return 0
	}
	return *atMs
}

// present omits rows without a value, and words in which there is nothing to see.
func present(rows []Row) []Row {
	return slices.DeleteFunc(rows, func(row Row) bool {
		return row.Value == "" && row.AtMs == 0 || row.Kind == Said && blank(row.Value)
	})
}

// hintsOf returns the rows of hints, which have one hint per line.
func hintsOf(hints []api.Hint) []Row {
	var ofRules, ofAgent []string
	for _, hint := range hints {
		line := string(hint.Level) + ": " + hint.Text
		if hint.RuleID != "" {
			ofRules = append(ofRules, line)
		} else {
			ofAgent = append(ofAgent, line)
		}
	}
	return []Row{
		{Label: "hints of rules", Kind: Rules, Value: strings.Join(ofRules, "\n"), Deciding: true},
		{Label: "hints", Kind: List, Value: strings.Join(ofAgent, "\n"), Deciding: true},
	}
}

// questionOf returns a question with its options, one per line.
func questionOf(question *api.UserQuestion, index int) string {
	var text strings.Builder
	text.WriteString(headed(question, index))
	for _, option := range question.Options {
		text.WriteString("\n- " + option.ID)
		if option.Label != option.ID {
			text.WriteString(": " + option.Label)
		}
		if option.Description != "" {
			text.WriteString(" (" + option.Description + ")")
		}
	}
	if question.MultiSelect {
		text.WriteString("\nseveral may be chosen")
	}
	if len(question.Options) > 0 && question.TakesFreeform() {
		text.WriteString("\nfree text is accepted too")
	}
	return text.String()
}
