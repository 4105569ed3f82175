package runs_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestErrorsAreToldByTheirCode(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("call: %w", refusal.UnknownRun("r"))
	require.ErrorIs(t, wrapped, refusal.New(api.CodeRunNotFound, "another text"))
	require.NotErrorIs(t, wrapped, refusal.UnknownSession("r"))
	require.NotErrorIs(t, wrapped, runs.ErrClosed)
	require.Equal(t, api.CodeRunNotFound, refusal.CodeOf(wrapped))
	require.Empty(t, refusal.CodeOf(errors.New("disk full")))
	require.Empty(t, refusal.CodeOf(nil))
	require.Equal(t, "call: run_not_found: unknown run r", wrapped.Error())
	require.Equal(t, "/a: is bad", refusal.Invalid(api.Fault{Pointer: "/a", Detail: "is bad"}).Detail)
	require.Equal(t, "is bad", refusal.Invalid(api.Fault{Detail: "is bad"}).Detail)
	require.NotEmpty(t, refusal.Invalid().Detail)
}

// Generated ids are valid and sort in the order of their creation.
func TestNewID(t *testing.T) {
	t.Parallel()
	made := make([]string, 1000)
	for i := range made {
		made[i] = runs.NewID(runs.PrefixRun)
		require.True(t, refusal.ValidID(made[i]), made[i])
		require.Len(t, made[i], len("run_")+26)
	}
	require.True(t, slices.IsSorted(made))
	require.Len(t, slices.Compact(made), 1000)
}
