package client_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// A reply such as {} comes from an intermediary: the caller must not take the run for decided, or created.
func TestAReplyWithoutMembersDoesNotSayThatAnythingHappened(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *client.Client) (any, error){
		"ResolveRunApprovals": func(ctx context.Context, c *client.Client) (any, error) {
			return c.ResolveRunApprovals(ctx, "run", client.ResolveApprovalsParams{})
		},
		"ResolveActiveRunApprovals": func(ctx context.Context, c *client.Client) (any, error) {
			return c.ResolveActiveRunApprovals(ctx, "session", client.ResolveApprovalsParams{})
		},
		"ResolveSessionApprovals": func(ctx context.Context, c *client.Client) (any, error) {
			return c.ResolveSessionApprovals(ctx, "session", client.ResolveApprovalsParams{})
		},
		"AnswerRunQuestion": func(ctx context.Context, c *client.Client) (any, error) {
			return c.AnswerRunQuestion(ctx, "run", client.AnswerQuestionParams{})
		},
		"AnswerSessionQuestion": func(ctx context.Context, c *client.Client) (any, error) {
			return c.AnswerSessionQuestion(ctx, "session", client.AnswerQuestionParams{})
		},
		"CancelQuestion": func(ctx context.Context, c *client.Client) (any, error) {
			return c.CancelQuestion(ctx, "run", "question", client.CancelQuestionParams{})
		},
		"RetryRun": func(ctx context.Context, c *client.Client) (any, error) { return c.RetryRun(ctx, "run") },
		"SendInput": func(ctx context.Context, c *client.Client) (any, error) {
			return c.SendInput(ctx, "session", client.CreateRunParams{}, 0)
		},
		"InterruptSession": func(ctx context.Context, c *client.Client) (any, error) {
			return c.InterruptSession(ctx, "session", "")
		},
		"EndSession": func(ctx context.Context, c *client.Client) (any, error) { return c.EndSession(ctx, "session", "") },
		"AddRule": func(ctx context.Context, c *client.Client) (any, error) {
			return c.AddRule(ctx, client.AddRuleParams{Effect: api.RuleDeny})
		},
		"CreateRun": func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateRun(ctx, client.CreateRunParams{})
		},
		"CreateRun with a claim": func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateRun(ctx, client.CreateRunParams{Claim: &api.ClaimOptions{WorkerID: "w"}})
		},
		"CreateSessionRun": func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateSessionRun(ctx, "session", client.CreateRunParams{})
		},
		"CreateSession": func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateSession(ctx, client.CreateSessionParams{})
		},
		"CreateToken": func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateToken(ctx, api.CreateTokenBody{})
		},
		"RotateToken": func(ctx context.Context, c *client.Client) (any, error) { return c.RotateToken(ctx, "token", 0) },
		"CreateWebhook": func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateWebhook(ctx, api.WebhookBody{})
		},
		"RotateWebhook": func(ctx context.Context, c *client.Client) (any, error) {
			return c.RotateWebhook(ctx, "webhook", api.RotateWebhookBody{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{http.StatusOK, http.StatusNoContent} {
				c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(status)
					if status == http.StatusOK {
						_, _ = w.Write([]byte("{}"))
					}
				}), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
				result, err := call(t.Context(), c)
				require.ErrorIs(t, err, client.ErrUnavailable)
				require.ErrorContains(t, err, "the outcome is not known")
				require.Nil(t, result)
			}
		})
	}
}

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
