package client_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
)

var update = flag.Bool("update", false, "write the vectors in docs/spec")

// grantVectors are the test vectors that every library that verifies grants must pass.
type grantVectors struct {
	Keys    api.KeySet     `json:"keys"`
	Grants  []grantVector  `json:"grants"`
	Digests []digestVector `json:"digests"`
}

// grantVector is a grant and the expected outcome: "ok" or an error code. Input is JSON
// text.
type grantVector struct {
	Name   string `json:"name"`
	Grant  string `json:"grant"`
	Tool   string `json:"tool"`
	Input  string `json:"input"`
	Result string `json:"result"`
}

type digestVector struct {
	Input  string `json:"input"`
	Digest string `json:"digest"`
}

// TestGrantVectors checks VerifyGrant with the same vectors as the other libraries
// (test/sdk).
func TestGrantVectors(t *testing.T) {
	t.Parallel()
	vectors := keptVectors(t, "../docs/spec/grant-vectors.json", makeGrantVectors(t))
	for _, vector := range vectors.Grants {
		claims, err := client.VerifyGrant(vectors.Keys, vector.Grant, vector.Tool, api.JSON(vector.Input))
		switch wanted := map[string]error{"invalid_grant": client.ErrGrantInvalid, "grant_mismatch": client.ErrGrantMismatch, "grant_expired": client.ErrGrantExpired}[vector.Result]; {
		case wanted != nil:
			require.ErrorIs(t, err, wanted, vector.Name)
		default:
			require.NoError(t, err, vector.Name)
			require.Equal(t, "request_1", claims.JTI)
		}
	}
	for _, vector := range vectors.Digests {
		digest, err := client.InputDigest(api.JSON(vector.Input))
		require.NoError(t, err)
		require.Equal(t, vector.Digest, digest, vector.Input)
	}
}

// keptVectors returns the vectors of a file, which must be these; with -update it writes them.
func keptVectors[V any](t *testing.T, file string, made *V) (kept V) {
	t.Helper()
	text, err := json.Marshal(made, jsontext.WithIndent("  "))
	require.NoError(t, err)
	text = append(text, '\n')
	if *update {
		require.NoError(t, os.WriteFile(file, text, 0o644))
	}
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Equal(text, stored), "run go test ./client -run Vectors -update")
	require.NoError(t, json.Unmarshal(stored, &kept))
	return kept
}

// seededKeys returns signing keys that are the same in each run, and their public part.
func seededKeys(t *testing.T, seed byte) (*signing.Keys, api.KeySet) {
	t.Helper()
	keys, err := signing.New([]ed25519.PrivateKey{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))}, nil, func() int64 { return 1 })
	require.NoError(t, err)
	set, err := keys.Public(t.Context())
	require.NoError(t, err)
	return keys, set
}

func makeGrantVectors(t *testing.T) *grantVectors {
	t.Helper()
	keys, set := seededKeys(t, 1)
	stranger, _ := seededKeys(t, 2)
	_, other := seededKeys(t, 3)
	vectors := &grantVectors{Keys: api.KeySet{Keys: append(other.Keys, set.Keys...)}}
	const input = `{"command":"ls","n":1}`
	digest, err := client.InputDigest(api.JSON(input))
	require.NoError(t, err)
	claims := api.GrantClaims{
		Iss: "holdpoint", Aud: "coder", Sub: "run_1", RequestID: "a", ToolName: "bash", InputDigest: digest, Fence: "3",
		Iat: 1_750_000_000, Exp: 253_402_300_799, JTI: "request_1", ResolvedBy: "user:mara",
	}
	sign := func(by *signing.Keys, purpose string, claims any) string {
		payload, err := json.Marshal(claims)
		require.NoError(t, err)
		text, err := by.Sign(purpose, payload)
		require.NoError(t, err)
		return text
	}
	grant := sign(keys, api.GrantPurpose, claims)
	parts := strings.Split(grant, ".")
	add := func(name, grant, tool, input, result string) {
		vectors.Grants = append(vectors.Grants, grantVector{name, grant, tool, input, result})
	}
	add("as it was approved", grant, "bash", input, "ok")
	add("the same input, written otherwise", grant, "bash", ` {"n": 1.0, "command": "\u006cs"} `, "ok")
	ruled := claims
	ruled.RuleID = "rule_1"
	add("by a rule", sign(keys, api.GrantPurpose, ruled), "bash", input, "ok")
	add("another tool", grant, "rm", input, "grant_mismatch")
	add("another input", grant, "bash", `{"command":"ls /","n":1}`, "grant_mismatch")
	old := claims
	old.Exp = 1_750_000_060
	add("expired", sign(keys, api.GrantPurpose, old), "bash", input, "grant_expired")
	add("expired and for another tool", sign(keys, api.GrantPurpose, old), "rm", input, "grant_expired")
	add("by a key that is not given", sign(stranger, api.GrantPurpose, claims), "bash", input, "invalid_grant")
	add("another's signature", parts[0]+"."+parts[1]+"."+strings.Split(sign(stranger, api.GrantPurpose, claims), ".")[2], "bash", input, "invalid_grant")
	add("signed for another purpose", sign(keys, "holdpoint-checkpoint+jwt", claims), "bash", input, "invalid_grant")
	add("claims that are none", sign(keys, api.GrantPurpose, []int{1}), "bash", input, "invalid_grant")
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	kid, typ := `"kid":"`+set.Keys[0].Kid+`"`, `"typ":"`+api.GrantPurpose+`"`
	for _, one := range [][2]string{
		{"no algorithm", `{"alg":"none",` + kid + `,` + typ + `}`},
		{"a shared secret", `{"alg":"HS256",` + kid + `,` + typ + `}`},
		{"a key of its own", `{"alg":"EdDSA",` + kid + `,` + typ + `,"jwk":{}}`},
		{"an extension", `{"alg":"EdDSA",` + kid + `,` + typ + `,"crit":["b64"]}`},
	} {
		add(one[0], header(one[1])+"."+parts[1]+"."+parts[2], "bash", input, "invalid_grant")
	}
	changed := []byte(parts[1])
	changed[3] ^= 1
	add("a changed claim", parts[0]+"."+string(changed)+"."+parts[2], "bash", input, "invalid_grant")
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for _, one := range [][2]string{
		{"nothing", ""},
		{"padded", grant + "="},
		{"a line end", grant + "\n"},
		{"four parts", grant + ".x"},
		{"no signature", parts[0] + "." + parts[1] + "."},
		{"bits left over", parts[0] + "." + parts[1] + "." + parts[2][:85] + string(alphabet[strings.IndexByte(alphabet, parts[2][85])|1])},
		{"the other alphabet", strings.NewReplacer("-", "+", "_", "/").Replace(grant) + "+"},
	} {
		add(one[0], one[1], "bash", input, "invalid_grant")
	}

	for _, input := range []string{
		`null`, `true`, `""`, `[]`, `{}`, `-0`, `1.0`, `0.1`, `4.50`, `2e-3`, `1e-6`, `1e-7`, `1e16`, `1e20`, `1e21`, `123456789012345680000`, `1e-27`, `333333333.33333329`,
		`1.7976931348623157e308`, `5e-324`, `9007199254740991`, `-9007199254740991`, `-1.5e-9`,
		`{"b":[1,{"d":null,"c":false}],"a":"x"}`, `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
		`"\u0000\b\t\n\f\r\u001f\u007f\u0080\u2028 \"\\\/ é 😀 </script>"`, `{"__proto__":1,"constructor":2}`,
		`9007199254740993`, `-123456789012345678901234567890`, `9007199254740993.0`, `0.1234567890123456789`, `{"id": 1234567890123456789, "text": "hi", "ratio": 1.50}`,
	} {
		digest, err := client.InputDigest(api.JSON(input))
		require.NoError(t, err, input)
		vectors.Digests = append(vectors.Digests, digestVector{input, digest})
	}
	return vectors
}
