package runs_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
)

func TestErrorsAreToldByTheirCode(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("call: %w", runs.UnknownRun("r"))
	require.ErrorIs(t, wrapped, runs.NewError(runs.CodeRunNotFound, "another text"))
	require.NotErrorIs(t, wrapped, runs.UnknownSession("r"))
	require.NotErrorIs(t, wrapped, runs.ErrClosed)
	require.Equal(t, runs.CodeRunNotFound, runs.ErrorCode(wrapped))
	require.Empty(t, runs.ErrorCode(errors.New("disk full")))
	require.Empty(t, runs.ErrorCode(nil))
	require.Equal(t, "call: run_not_found: unknown run r", wrapped.Error())
	require.Equal(t, "/a: is bad", runs.Invalid(runs.Fault{Pointer: "/a", Detail: "is bad"}).Detail)
	require.Equal(t, "is bad", runs.Invalid(runs.Fault{Detail: "is bad"}).Detail)
	require.NotEmpty(t, runs.Invalid().Detail)
}

// Identifiers of the service are valid ones that sort in the order of their making.
func TestNewID(t *testing.T) {
	t.Parallel()
	made := make([]string, 1000)
	for i := range made {
		made[i] = runs.NewID(runs.PrefixRun)
		require.True(t, runs.ValidID(made[i]), made[i])
		require.Len(t, made[i], len("run_")+26)
	}
	require.True(t, slices.IsSorted(made))
	require.Len(t, slices.Compact(made), 1000)
}
