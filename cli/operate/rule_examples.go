package operate

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/prompt"
)

// examplesText returns examples for the text of a rule: calls that it matches, and similar
// ones that it does not, one per line.
func examplesText(examples api.RuleExamples) string {
	if len(examples.Matching) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("\n  Matches, for example:")
	for _, example := range examples.Matching {
		text.WriteString("\n    " + exampleLine(example))
	}
	text.WriteString("\n  Does not match:")
	for _, example := range examples.NotMatching {
		text.WriteString("\n    " + exampleLine(example) + "   - " + console.Printable(example.WhyNot, false))
	}
	return text.String()
}

// exampleLine returns an example call on one line.
func exampleLine(example api.RuleExample) string {
	line := example.ToolName + " " + prompt.Compact(example.Input)
	if example.ToolCallID != "" {
		line += " as call " + example.ToolCallID
	}
	if len(example.PatternKeys) > 0 {
		line += " with the pattern keys " + strings.Join(example.PatternKeys, ", ")
	}
	if example.Directory != "" {
		line += " in " + example.Directory
	}
	return console.Printable(line, false)
}
