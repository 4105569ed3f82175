package client_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
)

// What an intermediary answers, or leads to, does not say that a rule or a token was revoked.
func TestOnlyTheServiceSaysThatSomethingWasDeleted(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *client.Client) error{
		"RevokeRule":      func(ctx context.Context, c *client.Client) error { return c.RevokeRule(ctx, "r") },
		"RevokeToken":     func(ctx context.Context, c *client.Client) error { return c.RevokeToken(ctx, "t") },
		"RemoveWebhook":   func(ctx context.Context, c *client.Client) error { return c.RemoveWebhook(ctx, "w") },
		"RemoveAddress":   func(ctx context.Context, c *client.Client) error { return c.RemoveAddress(ctx, "a") },
		"ClearQuietHours": func(ctx context.Context, c *client.Client) error { return c.ClearQuietHours(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{http.StatusOK, http.StatusAccepted, http.StatusMovedPermanently, http.StatusTemporaryRedirect} {
				paths := []string{}
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					paths = append(paths, r.Method)
					if status >= 300 {
						w.Header().Set("Location", "/elsewhere")
					}
					w.WriteHeader(status)
					_, _ = w.Write([]byte("{}"))
				})
				err := call(t.Context(), connect(t, handler, client.WithRetry(client.RetryPolicy{MaxAttempts: 1})))
				require.Error(t, err, status)
				require.Equal(t, []string{http.MethodDelete}, paths, "no redirect is followed")
			}
			done := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
			require.NoError(t, call(t.Context(), done))
		})
	}
}
