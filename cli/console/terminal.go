package console

import (
	"cmp"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// New returns the console of a process. The width is $COLUMNS, or else the width of the terminal.
// Colors are used only on a terminal, and not if $NO_COLOR is set or the terminal is dumb.
func New(lookupEnv func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) *Console {
	c := &Console{Stdin: stdin, Stdout: stdout, Stderr: stderr, Now: time.Now, Env: lookupEnv}
	value := func(name string) string { text, _ := lookupEnv(name); return text }
	c.Editor = cmp.Or(value("VISUAL"), value("EDITOR"), "vi")
	if IsTerminal(stdout) {
		c.Color = value("NO_COLOR") == "" && value("TERM") != "dumb"
		if columns, rows, err := term.GetSize(int(stdout.(*os.File).Fd())); err == nil {
			c.Columns, c.Rows = columns, rows
		}
	}
	if columns, err := strconv.Atoi(value("COLUMNS")); err == nil && columns > 0 {
		c.Columns = columns
	}
	return c
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func (c *Console) bold(text string) string {
	if !c.Color {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}
