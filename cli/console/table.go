package console

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/holdpoint/holdpoint/prompt"
)

// columnGap is the space between two columns.
const columnGap = 2

// Table prints aligned columns. An empty cell is shown as a dash. On a terminal the widest
// columns are cut until a line fits.
func (c *Console) Table(header []string, rows [][]string) error {
	lines := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{header}, rows...) {
		line := make([]string, len(row))
		for i, text := range row {
			if line[i] = Printable(text, false); text == "" {
				line[i] = "-"
			}
		}
		lines = append(lines, line)
	}
	widths := columnWidths(lines)
	if c.Columns > 0 {
		fit(widths, c.Columns, columnWidths(lines[:1]))
	}
	var out strings.Builder
	for i, line := range lines {
		var text strings.Builder
		for column, cell := range line {
			cell = Fit(cell, widths[column])
			text.WriteString(cell)
			if column < len(line)-1 {
				text.WriteString(strings.Repeat(" ", widths[column]-widthOf(cell)+columnGap))
			}
		}
		if i == 0 {
			out.WriteString(c.bold(text.String()) + "\n")
		} else {
			out.WriteString(text.String() + "\n")
		}
	}
	_, err := c.Stdout.Write([]byte(out.String()))
	return err
}

func columnWidths(lines [][]string) []int {
	var widths []int
	for _, line := range lines {
		for column, cell := range line {
			if column == len(widths) {
				widths = append(widths, 0)
			}
			widths[column] = max(widths[column], widthOf(cell))
		}
	}
	return widths
}

// fit narrows the widest columns until the line fits, but none below least. The first
// column keeps its width, because people copy it into the next command.
func fit(widths []int, columns int, least []int) {
	total := columnGap * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	for ; total > columns; total-- {
		widest := -1
		for column := 1; column < len(widths); column++ {
			if widths[column] > least[column] && (widest < 0 || widths[column] > widths[widest]) {
				widest = column
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// Pad is Fit, and fills up shorter texts with blanks.
func Pad(text string, columns int) string {
	text = Fit(text, columns)
	return text + strings.Repeat(" ", max(columns-widthOf(text), 0))
}

// Wrap breaks a printable text into lines of at most that many columns, without losing text. What continues a line begins
// with blanks or a dashed gutter, so that an agent cannot make it look like a line of its own.
func Wrap(text string, columns int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		end := fitting(line, columns)
		lines = append(lines, line[:end])
		if end == len(line) {
			continue
		}
		lead := leadAfter(line, columns)
		for rest := line[end:]; rest != ""; rest = rest[end:] {
			end = fitting(rest, columns-widthOf(lead))
			lines = append(lines, lead+rest[:end])
		}
	}
	return lines
}

// fitting returns how many bytes of a text fit into columns, at least one character.
func fitting(text string, columns int) int {
	used := 0
	for at, r := range text {
		if used += runeWidth(r); used > columns && at > 0 {
			return at
		}
	}
	return len(text)
}

// leadAfter returns what the continuation of a line begins with.
func leadAfter(line string, columns int) string {
	text := strings.TrimLeft(line, " ")
	lead := "  "
	if strings.HasPrefix(text, prompt.Gutter) {
		lead = dashed
	}
	if blanks := len(line) - len(text); blanks <= columns/2 {
		lead = line[:blanks] + lead
	}
	if columns < leastColumns {
		return ""
	}
	return lead
}

const (
	dashed       = "┆ "
	leastColumns = 8 // below that nobody reads
)

// Fit shortens a printable text to a number of terminal columns.
func Fit(text string, columns int) string {
	if widthOf(text) <= columns {
		return text
	}
	used := 1 // of the ellipsis
	for at, r := range text {
		if used += runeWidth(r); used > columns {
			return text[:at] + "…"
		}
	}
	return text
}

// widthOf returns the width of a printable text in terminal columns.
func widthOf(text string) int {
	total := 0
	for _, r := range text {
		total += runeWidth(r)
	}
	return total
}

func runeWidth(r rune) int {
	switch {
	case r < 0x80:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth || slices.ContainsFunc(emoji, func(block [2]rune) bool { return block[0] <= r && r <= block[1] }) {
		return 2
	}
	return 1
}

// emoji are blocks of characters that terminals show two columns wide.
var emoji = [][2]rune{{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}}
