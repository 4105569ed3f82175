package console

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Printable makes a text safe to show: what hides or moves text is escaped, and so are
// line breaks and tabs unless lineBreaks is set. Much of what is shown was written by agents,
// and a control character or a change of writing direction could hide from the
// person what they are about to allow.
func Printable(text string, lineBreaks bool) string {
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

// Cell returns printable text for one line of a table, shortened to a width.
func Cell(text string, width int) string {
	text = Printable(text, false)
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// Table prints aligned columns. An empty cell is shown as a dash.
func Table(to io.Writer, header []string, rows [][]string) error {
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

// Field is one line of a description: its name and its text.
type Field [2]string

// Describe prints the fields whose text is not empty, one a line; later lines of a text
// are set under its first.
func Describe(to io.Writer, fields []Field) error {
	width := 0
	for _, f := range fields {
		if f[1] != "" {
			width = max(width, len(f[0]))
		}
	}
	for _, f := range fields {
		if f[1] == "" {
			continue
		}
		text := strings.ReplaceAll(Printable(f[1], true), "\n", "\n"+strings.Repeat(" ", width+3))
		if _, err := fmt.Fprintf(to, "%-*s  %s\n", width+1, f[0]+":", text); err != nil {
			return err
		}
	}
	return nil
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(to io.Writer, value any) error {
	text, err := json.Marshal(value, jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = fmt.Fprintf(to, "%s\n", text)
	return err
}

// Ago says how long before now a moment was, or how long after; "" for 0.
func Ago(atMs int64, now time.Time) string {
	if atMs == 0 {
		return ""
	}
	passed := now.Sub(time.UnixMilli(atMs))
	if passed < 0 {
		return "in " + length(-passed)
	}
	return length(passed) + " ago"
}

// Moment is a point in time with its distance from now; "" for 0.
func Moment(atMs int64, now time.Time) string {
	if atMs == 0 {
		return ""
	}
	return time.UnixMilli(atMs).UTC().Format(time.RFC3339) + " (" + Ago(atMs, now) + ")"
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
