package storetest

import (
	"context"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
)

// RequireHealthy walks all rows of a store, which must be a [model.Walker], and checks every
// invariant. The tests here deliver unrequested answers, so a message need not have its request.
func RequireHealthy(ctx context.Context, t require.TestingT, store runs.Store) {
	walker, ok := store.(model.Walker)
	require.True(t, ok, "the store %T cannot be walked", store)
	var findings []doctor.Finding
	_, err := doctor.Examine(ctx, walker, func(finding doctor.Finding) {
		unasked := finding.Code == doctor.MessageWithoutRun && strings.HasPrefix(finding.Detail, "the run has no request")
		if !unasked {
			findings = append(findings, finding)
		}
	})
	require.NoError(t, err)
	require.Empty(t, findings)
}
