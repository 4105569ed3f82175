//go:build faults

package crash

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/test/rig"
)

// The program that users run has no points: neither a function of the package nor
// the name of a point nor the variable that would arm one. The same search finds all
// three in the program with points.
func TestNormalProgramHasNoPoints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		program string
		has     bool
	}{
		{rig.Program(t), false},
		{rig.Program(t, "failpoints"), true},
	} {
		symbols, err := exec.CommandContext(t.Context(), "go", "tool", "nm", test.program).Output()
		require.NoError(t, err)
		require.Contains(t, string(symbols), "main.main", "the symbols must be there to be searched")
		require.Equal(t, test.has, bytes.Contains(symbols, []byte("internal/failpoint.")))

		text, err := os.ReadFile(test.program)
		require.NoError(t, err)
		for _, trace := range []string{failpoint.Variable, "door.committed", "sqlite.before", "http.written"} {
			require.Equal(t, test.has, bytes.Contains(text, []byte(trace)), trace)
		}
	}
}
