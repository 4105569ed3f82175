package cli

import (
	"io"
	"slices"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli/serve"
)

// A command line that begins with a command is read by that command's part of the program, which is the same there.
func TestACommandIsReadByItsOwnPart(t *testing.T) {
	t.Parallel()
	for _, whole := range parserOf(t).Model.Children {
		t.Run(whole.Name, func(t *testing.T) {
			t.Parallel()
			part, err := kong.New(grammar([]string{whole.Name, "--help"}), serve.Vars(), kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard))
			require.NoError(t, err)
			if slices.Contains(describesAll, whole.Name) {
				assert.Equal(t, namesOf(parserOf(t).Model.Children), namesOf(part.Model.Children))
				return
			}
			require.Equal(t, []string{whole.Name}, namesOf(part.Model.Children), "one command and not the whole program")
			own := part.Model.Children[0]
			assert.Equal(t, whole.Help, own.Help)
			assert.Equal(t, commandsOf(whole, nil), commandsOf(own, nil))
		})
	}
}

// What begins with no command is read by the whole program, which knows what it may have meant.
func TestOtherLinesAreReadByTheWholeProgram(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--help"}, {"--", "runs"}, {"run"}, {"RUNS"}, {"--json", "runs"}} {
		assert.IsType(t, &program{}, grammar(args), "%q", args)
	}
}

func namesOf(nodes []*kong.Node) []string {
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = node.Name
	}
	return names
}
