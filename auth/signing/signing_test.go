package signing_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth/signing"
)

const purpose = "test+jws"

// shelf is a keeper in memory.
type shelf struct{ keys []signing.PublicKey }

func (s *shelf) AddSigningKeys(_ context.Context, keys []signing.PublicKey, _ []*journal.Entry) error {
	s.keys = append(keys, s.keys...)
	return nil
}

func (s *shelf) SigningKeys(context.Context, int) ([]signing.PublicKey, error) { return s.keys, nil }

func newKeys(t *testing.T, keeper signing.Keeper, nowMs func() int64, private ...ed25519.PrivateKey) *signing.Keys {
	t.Helper()
	if private == nil {
		key, err := signing.Generate()
		require.NoError(t, err)
		private = []ed25519.PrivateKey{key}
	}
	keys, err := signing.New(private, keeper, nowMs)
	require.NoError(t, err)
	require.NoError(t, keys.Publish(t.Context()))
	return keys
}

func TestWhatAnotherReplicaSignsIsKnownWithinASecond(t *testing.T) {
	t.Parallel()
	now := int64(1)
	shared := &shelf{}
	one := newKeys(t, shared, func() int64 { return now })
	_, err := one.Public(t.Context())
	require.NoError(t, err)
	two := newKeys(t, shared, func() int64 { return now })
	signed, err := two.Sign(purpose, []byte("x"))
	require.NoError(t, err)
	now += 1000
	payload, err := one.Verify(t.Context(), purpose, signed)
	require.NoError(t, err)
	require.Equal(t, "x", string(payload))
	set, err := one.Public(t.Context())
	require.NoError(t, err)
	require.Len(t, set.Keys, 2)
	require.Equal(t, two.KeyID(), set.Keys[0].Kid, "the newest first")
}

// TestASignatureIsThatOfTheLibrary: the hand-written encoding equals the output of a signer of
// package jose.
func TestASignatureIsThatOfTheLibrary(t *testing.T) {
	t.Parallel()
	private, err := signing.Generate()
	require.NoError(t, err)
	keys := newKeys(t, nil, func() int64 { return 1 }, private)
	for _, typ := range []string{purpose, api.GrantPurpose} {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: private, KeyID: keys.KeyID()}},
			(&jose.SignerOptions{}).WithType(jose.ContentType(typ)))
		require.NoError(t, err)
		for _, payload := range []string{"", "x", `{"jti":"ü"}`, strings.Repeat("long ", 1000)} {
			byLibrary, err := signer.Sign([]byte(payload))
			require.NoError(t, err)
			want, err := byLibrary.CompactSerialize()
			require.NoError(t, err)
			got, err := keys.Sign(typ, []byte(payload))
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	private, err := signing.Generate()
	require.NoError(b, err)
	keys, err := signing.New([]ed25519.PrivateKey{private}, nil, func() int64 { return 1 })
	require.NoError(b, err)
	payload := []byte(strings.Repeat("x", 400))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := keys.Sign(purpose, payload); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAKeyThatWasMadeJustNowIsKnown: a replica reads the keys again for an unknown key, without a
// delay.
func TestAKeyThatWasMadeJustNowIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nowMs := func() int64 { return time.Now().UnixMilli() }
		shared := &shelf{}
		one := newKeys(t, shared, nowMs)
		_, err := one.Public(t.Context())
		require.NoError(t, err)
		time.Sleep(300 * time.Millisecond)
		signed, err := newKeys(t, shared, nowMs).Sign(purpose, []byte("x"))
		require.NoError(t, err)
		began := time.Now()
		payload, err := one.Verify(t.Context(), purpose, signed)
		require.NoError(t, err)
		require.Equal(t, "x", string(payload))

		forged, err := newKeys(t, nil, nowMs).Sign(purpose, []byte("x"))
		require.NoError(t, err)
		_, err = one.Verify(t.Context(), purpose, forged)
		require.ErrorIs(t, err, signing.ErrInvalid)
		require.Zero(t, time.Since(began))
		gone, leave := context.WithCancel(t.Context())
		leave()
		_, err = one.Verify(gone, purpose, forged)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestASignatureHasOneSpelling changes a signature at every character, and in the ways that lenient
// readers let through.
func TestASignatureHasOneSpelling(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, nil, func() int64 { return 1 })
	signed, err := keys.Sign(purpose, []byte(`{"a":1}`))
	require.NoError(t, err)
	bad := []string{"", ".", "..", "...", signed + "=", " " + signed, signed + "\n", signed + ".", strings.Repeat("a", 2<<20)}
	for i := range signed {
		for _, c := range "AB_." {
			if byte(c) != signed[i] {
				bad = append(bad, signed[:i]+string(c)+signed[i+1:])
			}
		}
		bad = append(bad, signed[:i], signed[:i]+"\n"+signed[i:])
	}
	parts := strings.Split(signed, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"` + purpose + `","kid":"` + keys.KeyID() + `"}`))
	// The public key as the secret of a HMAC.
	hmac := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"` + purpose + `","kid":"` + keys.KeyID() + `"}`))
	bad = append(bad, none+"."+parts[1]+".", none+"."+parts[1]+"."+parts[2], hmac+"."+parts[1]+"."+parts[2])
	for _, text := range bad {
		_, err := keys.Verify(t.Context(), purpose, text)
		require.ErrorIs(t, err, signing.ErrInvalid, "%.300q", text)
	}
	_, err = keys.Verify(t.Context(), "another+jws", signed)
	require.ErrorIs(t, err, signing.ErrInvalid)
	require.ErrorContains(t, err, "it was made for")
	_, err = keys.Verify(t.Context(), purpose, signed)
	require.NoError(t, err)
}

func TestFileOfKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key.pem")
	made := make([]ed25519.PrivateKey, 8)
	var group errgroup.Group
	for i := range made {
		group.Go(func() error {
			keys, err := signing.Load(path)
			if err == nil {
				made[i] = keys[0]
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	for _, key := range made {
		require.Equal(t, made[0], key)
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")

	// The new key signs, the old one is still known.
	old := newKeys(t, nil, func() int64 { return 1 }, made[0])
	signed, err := old.Sign(purpose, []byte("x"))
	require.NoError(t, err)
	another := filepath.Join(t.TempDir(), "new.pem")
	_, err = signing.Load(another)
	require.NoError(t, err)
	first, err := os.ReadFile(another)
	require.NoError(t, err)
	second, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(another, append(first, second...), 0o600))
	both, err := signing.Load(another)
	require.NoError(t, err)
	require.Len(t, both, 2)
	keys := newKeys(t, nil, func() int64 { return 1 }, both...)
	require.NotEqual(t, old.KeyID(), keys.KeyID())
	_, err = keys.Verify(t.Context(), purpose, signed)
	require.NoError(t, err)

	for name, text := range map[string]string{
		"empty": "", "text": "hello", "public": "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
		"broken": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := signing.Load(path)
		require.ErrorContains(t, err, "signing key", name)
	}
	_, err = signing.Load(filepath.Dir(path))
	require.Error(t, err)
	_, err = signing.Load(filepath.Join(path, "nowhere"))
	require.Error(t, err)
}

func TestPublicKeysAreHeldToTheirIDs(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, nil, func() int64 { return 1 })
	set, err := keys.Public(t.Context())
	require.NoError(t, err)
	_, err = signing.NewPublic(set)
	require.NoError(t, err)
	// The key of RFC 8037, appendix A.3, has the thumbprint that is printed there.
	checked, err := signing.NewPublic(api.KeySet{Ephemeral: true, Keys: []api.PublicKey{
		{Kty: "EC", Crv: "P-256", Kid: "x; echo evil #"},
		{Kty: "OKP", Crv: "Ed25519", X: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", Kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"},
		{Kty: "EC", Crv: "P-256", Kid: "ignored"},
	}})
	require.NoError(t, err)
	require.Len(t, checked.Set().Keys, 1, "the id of an ignored key was not checked")
	require.Equal(t, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", checked.Set().Keys[0].Kid)
	require.True(t, checked.Set().Ephemeral)
	set.Keys[0].Kid = strings.Repeat("A", 43)
	_, err = signing.NewPublic(set)
	require.ErrorContains(t, err, "thumbprint")
	set.Keys[0].X = "short"
	_, err = signing.NewPublic(set)
	require.Error(t, err)
}
