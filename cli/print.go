package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// printable makes a text safe to show. Much of what is shown was written by agents,
// and a control character or a change of writing direction could hide from the
// person what they are about to allow.
func printable(text string, lineBreaks bool) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hides) {
		return text
	}
	var safe strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' && lineBreaks, r == '\t' && lineBreaks, !hides(r):
			safe.WriteRune(r)
		case r == '\n':
			safe.WriteString(`\n`)
		case r == '\t':
			safe.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&safe, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&safe, `\u%04x`, r)
		default:
			fmt.Fprintf(&safe, `\U%08x`, r)
		}
	}
	return safe.String()
}

func hides(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }

// cell is printable text for one line of a table, shortened to a width.
func cell(text string, width int) string {
	text = printable(text, false)
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// table prints aligned columns. An empty cell is shown as a dash.
func table(to io.Writer, header []string, rows [][]string) error {
	columns := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		line := make([]string, len(row))
		for i, text := range row {
			if line[i] = text; text == "" {
				line[i] = "-"
			}
		}
		fmt.Fprintln(columns, strings.Join(line, "\t"))
	}
	return columns.Flush()
}

// field is one line of a description.
type field struct{ name, text string }

// describe prints fields that are not empty, one a line; later lines of a text are
// set under its first.
func describe(to io.Writer, fields []field) error {
	width := 0
	for _, f := range fields {
		if f.text != "" {
			width = max(width, len(f.name))
		}
	}
	for _, f := range fields {
		if f.text == "" {
			continue
		}
		text := strings.ReplaceAll(printable(f.text, true), "\n", "\n"+strings.Repeat(" ", width+3))
		if _, err := fmt.Fprintf(to, "%-*s  %s\n", width+1, f.name+":", text); err != nil {
			return err
		}
	}
	return nil
}

// printJSON prints a value as indented JSON.
func printJSON(to io.Writer, value any) error {
	text, err := json.Marshal(value, jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = fmt.Fprintf(to, "%s\n", text)
	return err
}

// ago says how long before now a moment was, or how long after.
func ago(atMs int64, now time.Time) string {
	if atMs == 0 {
		return ""
	}
	passed := now.Sub(time.UnixMilli(atMs))
	if passed < 0 {
		return "in " + length(-passed)
	}
	return length(passed) + " ago"
}

// moment is a point in time with its distance from now.
func moment(atMs int64, now time.Time) string {
	if atMs == 0 {
		return ""
	}
	return time.UnixMilli(atMs).UTC().Format(time.RFC3339) + " (" + ago(atMs, now) + ")"
}

func length(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// commandOf returns what a tool call would do, in one text: the command when its
// input has one, else the input as compact JSON.
func commandOf(input api.JSON) string {
	var call struct {
		Command string `json:"command"`
	}
	if document.Kind(input) == '{' && json.Unmarshal(input, &call) == nil && call.Command != "" {
		return call.Command
	}
	return compact(input)
}

func compact(value api.JSON) string {
	text := jsontext.Value(slices.Clone(value))
	if text == nil || text.Compact() != nil {
		return string(value)
	}
	return string(text)
}

func indented(value api.JSON) string {
	text := jsontext.Value(slices.Clone(value))
	if text == nil || text.Indent(jsontext.WithIndent("  ")) != nil {
		return string(value)
	}
	return string(text)
}
