package console

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/internal/visible"
	"github.com/holdpoint/holdpoint/prompt"
)

// Printable makes a text safe to show. It replaces characters that hide or move text by
// their names between ⟨ and ⟩, also line breaks and tabs unless lineBreaks is set, and adds
// the name to letters that imitate others, as in ⟨а U+0430⟩pple.com. A ⟨ in the text is
// replaced, too, so a name cannot be faked. Agents write much of the text, and a control
// character or a change of writing direction could hide what a person is about to allow.
// Do not apply it twice.
func Printable(text string, lineBreaks bool) string {
	likes := visible.LookAlikes(text)
	if likes == nil && utf8.ValidString(text) && !strings.ContainsFunc(text, named) {
		return text
	}
	var safe strings.Builder
	for at, r := range text {
		switch {
		case likes[at]:
			fmt.Fprintf(&safe, "⟨%c U+%04X⟩", r, r)
		case r == '\n' && lineBreaks, r == '\t' && lineBreaks, !named(r):
			safe.WriteRune(r)
		case nameOf[r] != "":
			safe.WriteString("⟨" + nameOf[r] + "⟩")
		default:
			fmt.Fprintf(&safe, "⟨U+%04X⟩", r)
		}
	}
	return safe.String()
}

var nameOf = map[rune]string{'\n': "LF", '\r': "CR", '\t': "TAB", 0x1b: "ESC", 0: "NUL", 0x7f: "DEL", 0x85: "NEL"}

func named(r rune) bool { return r == '⟨' || visible.Hides(r) }

// Cut shortens a text to a number of characters.
func Cut(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length-1]) + "…"
}

// Field is a name and its text.
type Field [2]string

// FieldsOf returns the rows of a request as fields.
func FieldsOf(rows []prompt.Row, now time.Time) []Field {
	fields := make([]Field, len(rows))
	for i, row := range rows {
		fields[i] = Field{row.Label, row.Value}
		if row.Kind == prompt.Time {
			fields[i][1] = Moment(row.AtMs, now)
		}
	}
	return fields
}

// Describe prints the fields that have a text, one per line. Further lines of a text are
// indented.
func (c *Console) Describe(fields []Field) error { return describe(c.Stdout, fields, c.bold) }

// Pages returns the fields as Describe prints them, in parts as of PagesOf.
func (c *Console) Pages(fields []Field) []string {
	var whole, plain strings.Builder
	_ = Describe(&plain, fields) // a builder takes everything
	if pages := c.PagesOf(plain.String()); len(pages) > 1 {
		return pages
	}
	_ = describe(&whole, fields, c.bold)
	return []string{whole.String()}
}

// PagesOf returns a printable text that ends with a line break, in parts that fit on the screen with two lines below.
// There is one part if nobody reads at a terminal.
func (c *Console) PagesOf(text string) []string {
	lines, room := Wrap(strings.TrimSuffix(text, "\n"), max(c.Columns, 1)), max(c.Rows-2, 1)
	if c.Rows == 0 || !IsTerminal(c.Stdin) || len(lines) <= room {
		return []string{text}
	}
	var pages []string
	for page := range slices.Chunk(lines, room) {
		pages = append(pages, strings.Join(page, "\n")+"\n")
	}
	return pages
}

// Describe prints fields to any writer, without styles.
func Describe(to io.Writer, fields []Field) error {
	return describe(to, fields, func(text string) string { return text })
}

// PrintSecret prints only the secret on stdout, and its fields with advice on stderr; as JSON, the whole document.
func (c *Console) PrintSecret(asJSON bool, document any, fields []Field, secret, advice string) error {
	if asJSON {
		return PrintJSON(c.Stdout, document)
	}
	if err := Describe(c.Stderr, fields); err != nil {
		return err
	}
	c.Say("save this secret, it is not shown again. %s", advice)
	fmt.Fprintln(c.Stdout, secret)
	return nil
}

func describe(to io.Writer, fields []Field, bold func(string) string) error {
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
		if _, err := fmt.Fprintf(to, "%s%s  %s\n", bold(f[0]+":"), strings.Repeat(" ", width-len(f[0])), text); err != nil {
			return err
		}
	}
	return nil
}

// PrintJSON prints a value as indented JSON. Characters that hide or move text are escaped.
func PrintJSON(to io.Writer, value any) error {
	text, err := json.Marshal(value, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = fmt.Fprintf(to, "%s\n", escaped(text))
	return err
}

// PrintJSONLine prints a value as JSON on one line, escaped like PrintJSON.
func PrintJSONLine(to io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = fmt.Fprintf(to, "%s\n", escaped(text))
	return err
}

// escaped escapes such characters, which only occur in strings, without changing the JSON
// value.
func escaped(text []byte) []byte {
	if !bytes.ContainsFunc(text, func(r rune) bool { return r != '\n' && visible.Hides(r) }) {
		return text
	}
	var safe []byte
	for _, r := range string(text) {
		switch {
		case r == '\n' || !visible.Hides(r):
			safe = utf8.AppendRune(safe, r)
		case r <= 0xffff:
			safe = fmt.Appendf(safe, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, high, low)
		}
	}
	return safe
}

// Count returns a number with its noun.
func Count(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}

// Ago returns the distance of a moment from now, such as "5 min ago" or "in 2 h"; "" for 0.
func Ago(atMs int64, now time.Time) string {
	if atMs == 0 {
		return ""
	}
	passedMs := now.UnixMilli() - atMs // a Duration ends after 292 years
	if passedMs < 0 {
		return "in " + Span(-passedMs)
	}
	return Span(passedMs) + " ago"
}

// Span returns a number of milliseconds in one unit: "56s", "4m", "2h", "3d"; "0s" for less.
func Span(ms int64) string {
	switch seconds := max(ms, 0) / 1000; {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%dh", seconds/3600)
	default:
		return fmt.Sprintf("%dd", seconds/86400)
	}
}

// Moment returns a time with its distance from now; "" for 0.
func Moment(atMs int64, now time.Time) string {
	if atMs == 0 {
		return ""
	}
	return time.UnixMilli(atMs).UTC().Format(time.RFC3339) + " (" + Ago(atMs, now) + ")"
}
