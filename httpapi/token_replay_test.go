package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
)

// The same creation with its key is a replay, even after the expiry that it asked for.
func TestACreationIsReplayedAfterTheTokenHasExpired(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		var nowMs int64 = 1_750_000_000_000
		keyring := auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
		a := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring = keyring })
		admin := ofRole(t, keyring, api.RoleAdmin)
		body := func(name string) string {
			return fmt.Sprintf(`{"name":%q,"role":"observer","expires_at_ms":1750000001000}`, name)
		}
		made := a.post(t, "/v1/tokens", body("short"), bearer(admin), key("k")).want(http.StatusCreated)
		require.Empty(t, made.header.Get("Idempotency-Replayed"))

		nowMs += 2_000
		again := a.post(t, "/v1/tokens", body("short"), bearer(admin), key("k")).want(http.StatusCreated)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.Equal(t, true, again.at("secret_shown"))
		require.Nil(t, again.at("secret"))
		require.Equal(t, made.at("token", "token_id"), again.at("token", "token_id"))

		a.post(t, "/v1/tokens", body("short"), bearer(admin), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/expires_at_ms")
		a.post(t, "/v1/tokens", body("short"), bearer(admin), key("other"), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/expires_at_ms")
		a.post(t, "/v1/tokens", body("another"), bearer(admin), key("k"), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/expires_at_ms")
	})
}

// onceRead reads no token by its id once it has been rotated.
type onceRead struct {
	auth.Tokens
	rotated bool
	// bounded says that the read after the rotation has a deadline.
	bounded bool
}

func (o *onceRead) RotateToken(ctx context.Context, tokenID, hash, hint string, previousUntilMs, nowMs int64, entry *journal.Entry) (bool, error) {
	o.rotated = true
	return o.Tokens.RotateToken(ctx, tokenID, hash, hint, previousUntilMs, nowMs, entry)
}

func (o *onceRead) Token(ctx context.Context, tokenID string) (*auth.Token, error) {
	if o.rotated {
		_, o.bounded = ctx.Deadline()
		return nil, runs.ErrUnavailable
	}
	return o.Tokens.Token(ctx, tokenID)
}

// Only the reply to a rotation has the secret, so a read after the commit that fails or hangs does not keep it back.
func TestARotationIsAnsweredWithoutAnotherRead(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		tokens := &onceRead{Tokens: store.(auth.Tokens)}
		keyring := newKeyring(tokens, auth.Required)
		id, before := token(t, keyring, api.CreateTokenBody{Name: "once", Role: api.RoleAgent})
		rotated, err := keyring.Rotate(t.Context(), id, 60_000)
		require.NoError(t, err)
		require.Equal(t, auth.HintOf(rotated.Secret), rotated.Token.Hint)
		require.True(t, tokens.bounded)
		for _, secret := range []string{before, rotated.Secret} {
			who, err := keyring.Authenticate(t.Context(), secret)
			require.NoError(t, err)
			require.Equal(t, "agent:once", who.Principal)
		}
	})
}
