package httpapi_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// testKeys: a signature of one replica can be verified with /v1/keys of another one, with this
// library or without it.
func testKeys(t *testing.T, a *rig) {
	here, there := newSigning(t, a.store.(signing.Keeper)), newSigning(t, a.store.(signing.Keeper))
	other := serve(t, a.store, a.contract, func(o *httpapi.Options) { o.Signing = there })
	shown := func(r *rig) (set api.KeySet) {
		got := r.get(t, "/v1/keys").want(http.StatusOK)
		require.NoError(t, json.Unmarshal([]byte(got.text), &set))
		require.NotContains(t, got.text, `"d"`, "no private member of a JWK")
		return set
	}
	signed, err := here.Sign("test+jws", []byte(`{"a":1}`))
	require.NoError(t, err)
	public, err := signing.NewPublic(shown(other))
	require.NoError(t, err)
	payload, err := public.Verify("test+jws", signed)
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, string(payload))
	payload, err = there.Verify(t.Context(), "test+jws", signed)
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, string(payload))

	found := false
	for _, key := range shown(other).Keys {
		if key.Kid != here.KeyID() {
			continue
		}
		found = true
		x, err := base64.RawURLEncoding.DecodeString(key.X)
		require.NoError(t, err)
		cut := strings.LastIndexByte(signed, '.')
		signature, err := base64.RawURLEncoding.DecodeString(signed[cut+1:])
		require.NoError(t, err)
		require.True(t, ed25519.Verify(x, []byte(signed[:cut]), signature))
	}
	require.True(t, found)

	// A key that was never published is not trusted.
	stranger, err := signing.Generate()
	require.NoError(t, err)
	strangers, err := signing.New([]ed25519.PrivateKey{stranger}, nil, func() int64 { return 1 })
	require.NoError(t, err)
	forged, err := strangers.Sign("test+jws", []byte(`{"a":1}`))
	require.NoError(t, err)
	_, err = there.Verify(t.Context(), "test+jws", forged)
	require.ErrorIs(t, err, signing.ErrInvalid)

	none := serve(t, a.store, a.contract, func(o *httpapi.Options) { o.Signing = nil })
	none.get(t, "/v1/keys").refused(wire.CodeServiceUnavailable)
}
