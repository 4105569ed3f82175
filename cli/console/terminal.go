package console

import (
	"cmp"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// New returns the console of a process. Lines are fitted to $COLUMNS, else to the terminal when
// stdout is one; colours are used on a terminal only, and not with $NO_COLOR or a dumb one.
func New(lookupEnv func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) *Console {
	c := &Console{Stdin: stdin, Stdout: stdout, Stderr: stderr, Now: time.Now, Env: lookupEnv}
	value := func(name string) string { text, _ := lookupEnv(name); return text }
	c.Editor = cmp.Or(value("VISUAL"), value("EDITOR"), "vi")
	if IsTerminal(stdout) {
		c.Color = value("NO_COLOR") == "" && value("TERM") != "dumb"
		if columns, _, err := term.GetSize(int(stdout.(*os.File).Fd())); err == nil {
			c.Columns = columns
		}
	}
	if columns, err := strconv.Atoi(value("COLUMNS")); err == nil && columns > 0 {
		c.Columns = columns
	}
	return c
}

// IsTerminal reports whether a person may be at the other end of a stream.
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
