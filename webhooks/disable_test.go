package webhooks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// oneEndpoint is a store with at most one endpoint, which counts the changes.
type oneEndpoint struct {
	Store
	is      []Endpoint
	changes int
}

func (o *oneEndpoint) Webhooks(context.Context) ([]Endpoint, error) {
	return append([]Endpoint(nil), o.is...), nil
}

func (o *oneEndpoint) ChangeWebhook(_ context.Context, e *Endpoint, beforeMs int64, _ *journal.Entry) (bool, error) {
	if len(o.is) == 0 || o.is[0].UpdatedAtMs != beforeMs {
		return false, nil
	}
	o.is[0] = *e
	o.changes++
	return true, nil
}

// An endpoint is disabled as it was called, once. What it became since stays.
func TestDisableComparesTheEndpointThatWasCalled(t *testing.T) {
	t.Parallel()
	called := Endpoint{WebhookID: "w", UpdatedAtMs: 5}
	store := &oneEndpoint{is: []Endpoint{called}}
	manager := NewManager(Options{Store: store, NowMs: func() int64 { return 7 }})
	for range 2 {
		disabled, err := manager.Disable(t.Context(), &called, ReasonGone)
		require.NoError(t, err)
		require.True(t, disabled, "by this call, or by one at the same time")
	}
	require.Equal(t, 1, store.changes)
	require.Equal(t, []Endpoint{{WebhookID: "w", UpdatedAtMs: 7, DisabledAtMs: 7, DisabledReason: ReasonGone}}, store.is)
	require.Equal(t, Endpoint{WebhookID: "w", UpdatedAtMs: 5}, called, "callers share it")

	store.is[0] = Endpoint{WebhookID: "w", UpdatedAtMs: 8, Settings: Settings{URL: "https://new.example"}}
	disabled, err := manager.Disable(t.Context(), &called, ReasonGone)
	require.NoError(t, err)
	require.False(t, disabled)
	require.Zero(t, store.is[0].DisabledAtMs)

	store.is = nil
	_, err = manager.Disable(t.Context(), &called, ReasonGone)
	require.Equal(t, api.CodeWebhookNotFound, refusal.CodeOf(err))
}
