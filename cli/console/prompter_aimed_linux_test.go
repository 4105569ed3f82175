package console

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A line that was typed before the request was shown decides nothing, however slowly it is read.
func TestALineTypedBeforeDecidesNothing(t *testing.T) {
	t.Parallel()
	person, program := terminal(t)
	defer func() { _ = program.Close() }()
	defer func() { _ = person.Close() }()
	_, err := person.WriteString("a\n")
	require.NoError(t, err)
	for !lineWaits(program) { // until the terminal has it
	}
	now := time.UnixMilli(0)
	refused := &onceSaid{text: "does nothing", do: func() { _, _ = person.WriteString("d\n") }}
	prompter := NewPrompter(&Console{Stdin: program, Stderr: refused, Now: func() time.Time {
		now = now.Add(time.Minute)
		return now
	}})
	defer prompter.Close()
	word, err := prompter.Aimed("[a]llow [d]eny ")
	require.NoError(t, err)
	require.Equal(t, "d", word)
	require.Contains(t, refused.String(), `"a" was typed before you could read this: it does nothing`)
}

// onceSaid calls do when a text is written.
type onceSaid struct {
	bytes.Buffer
	text string
	do   func()
}

func (o *onceSaid) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(o.text)) {
		o.do()
	}
	return o.Buffer.Write(b)
}
