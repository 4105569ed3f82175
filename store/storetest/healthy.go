package storetest

import (
	"context"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
)

// RequireHealthy walks all rows of a store, which must be a [runs.Walker], and
// expects that every invariant holds but for those of the excepted codes.
func RequireHealthy(ctx context.Context, t require.TestingT, store runs.Store, except ...doctor.Code) {
	walker, ok := store.(model.Walker)
	require.True(t, ok, "the store %T cannot be walked", store)
	var findings []doctor.Finding
	_, err := doctor.Examine(ctx, walker, func(finding doctor.Finding) {
		if !slices.Contains(except, finding.Code) {
			findings = append(findings, finding)
		}
	})
	require.NoError(t, err)
	require.Empty(t, findings)
}
