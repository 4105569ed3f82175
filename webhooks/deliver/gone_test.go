package deliver_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
)

// leaving is a receiver whose answers of 410 are held until release is closed.
type leaving struct {
	URL           string
	came, release chan struct{}
}

func leave(t *testing.T) *leaving {
	t.Helper()
	l := &leaving{came: make(chan struct{}, 100), release: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.came <- struct{}{}
		select {
		case <-l.release:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusGone)
	}))
	t.Cleanup(server.Close)
	l.URL = server.URL + "/hook"
	return l
}

func (l *leaving) wait(t *testing.T) {
	t.Helper()
	select {
	case <-l.came:
	case <-rig.Soon(t).Done():
		require.Fail(t, "no call")
	}
}

// A 410 of an address that was replaced during the call disables nothing: the new address gets the event.
func TestGoneOfAFormerAddressDisablesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory)
	former, next := leave(t), listen(t)
	hook, _ := s.hook(t, former.URL, api.WebhookBody{Events: &[]api.EventType{api.EventWaitingForApproval}})
	s.approve(t, "s", api.ApprovalRequest{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{}`)})
	former.wait(t)
	_, err := s.client.ChangeWebhook(t.Context(), hook.WebhookID, api.WebhookBody{URL: &next.URL})
	require.NoError(t, err)
	close(former.release)

	failed := eventually(t, func() *api.EffectView {
		for _, delivery := range s.deliveries(t, hook.WebhookID, "") {
			if delivery.LastError != "" {
				return &delivery
			}
		}
		return nil
	})
	require.Equal(t, "status 410, and the webhook was changed meanwhile", failed.LastError)
	require.Equal(t, api.EffectPending, failed.State)
	now, err := s.client.GetWebhook(t.Context(), hook.WebhookID)
	require.NoError(t, err)
	require.True(t, now.Enabled)
	_, err = s.client.RetryEffect(t.Context(), failed.SessionID, failed.EffectID)
	require.NoError(t, err)
	next.wait(t, 1)
}
