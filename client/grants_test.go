package client_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
)

// signer returns keys and a function that signs with them for a purpose.
func signer(t *testing.T) (api.KeySet, func(purpose string, claims any) string) {
	t.Helper()
	private, err := signing.Generate()
	require.NoError(t, err)
	keys, err := signing.New([]ed25519.PrivateKey{private}, nil, func() int64 { return 1 })
	require.NoError(t, err)
	set, err := keys.Public(t.Context())
	require.NoError(t, err)
	return set, func(purpose string, claims any) string {
		payload, err := json.Marshal(claims)
		require.NoError(t, err)
		text, err := keys.Sign(purpose, payload)
		require.NoError(t, err)
		return text
	}
}

func TestVerifyGrant(t *testing.T) {
	t.Parallel()
	input := map[string]any{"command": "ls", "n": 1.0, "a": []int{1}}
	digest, err := client.InputDigest(input)
	require.NoError(t, err)
	same, err := client.InputDigest(api.JSON(` {"n": 1e0, "a":[1.0], "command":"\u006cs"}`))
	require.NoError(t, err)
	require.Equal(t, digest, same)
	_, err = client.InputDigest(api.JSON(`{`))
	require.ErrorIs(t, err, client.ErrInvalid)

	keys, sign := signer(t)
	strangers, forge := signer(t)
	claims := api.GrantClaims{Aud: "coder", Sub: "r", RequestID: "a", ToolName: "bash", InputDigest: digest, Fence: "3", Exp: time.Now().Unix() + 60, JTI: "request_1"}
	grant := sign(api.GrantPurpose, claims)
	got, err := client.VerifyGrant(keys, grant, "bash", input)
	require.NoError(t, err)
	require.Equal(t, claims, *got)
	both := api.KeySet{Keys: append(append([]api.PublicKey{{Kty: "EC", Kid: "x"}}, strangers.Keys...), keys.Keys...)}
	_, err = client.VerifyGrant(both, grant, "bash", input)
	require.NoError(t, err)

	_, err = client.VerifyGrant(keys, grant, "rm", input)
	require.ErrorIs(t, err, client.ErrGrantMismatch)
	_, err = client.VerifyGrant(keys, grant, "bash", map[string]any{"command": "ls -a", "n": 1, "a": []int{1}})
	require.ErrorIs(t, err, client.ErrGrantMismatch)
	old := claims
	old.Exp = time.Now().Unix()
	_, err = client.VerifyGrant(keys, sign(api.GrantPurpose, old), "bash", input)
	require.ErrorIs(t, err, client.ErrGrantExpired)

	parts := strings.Split(grant, ".")
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	kid, typ := `"kid":"`+keys.Keys[0].Kid+`"`, `"typ":"`+api.GrantPurpose+`"`
	swapped := keys
	swapped.Keys = []api.PublicKey{keys.Keys[0]}
	swapped.Keys[0].X = strangers.Keys[0].X
	_, err = client.VerifyGrant(swapped, grant, "bash", input)
	require.ErrorIs(t, err, client.ErrGrantInvalid, "another key under this id")
	for name, text := range map[string]string{
		"nothing": "", "no algorithm": header(`{"alg":"none",`+kid+`,`+typ+`}`) + "." + parts[1] + ".",
		"a shared secret":  header(`{"alg":"HS256",`+kid+`,`+typ+`}`) + "." + parts[1] + "." + parts[2],
		"a key of its own": header(`{"alg":"EdDSA",`+kid+`,`+typ+`,"jwk":{}}`) + "." + parts[1] + "." + parts[2],
		"critical":         header(`{"alg":"EdDSA",`+kid+`,`+typ+`,"crit":["b64"]}`) + "." + parts[1] + "." + parts[2],
		"twice":            header(`{"alg":"EdDSA","alg":"EdDSA",`+kid+`,`+typ+`}`) + "." + parts[1] + "." + parts[2],
		"another purpose":  sign("holdpoint-checkpoint+jwt", claims), "a stranger's": forge(api.GrantPurpose, claims),
		"no claims": sign(api.GrantPurpose, []int{1}), "padded": grant + "=", "a line end": grant + "\n", "four parts": grant + ".x",
		"huge": grant + strings.Repeat("A", api.MaxGrantBytes), "another's signature": parts[0] + "." + parts[1] + "." + strings.Split(forge(api.GrantPurpose, claims), ".")[2],
	} {
		_, err := client.VerifyGrant(keys, text, "bash", input)
		require.ErrorIs(t, err, client.ErrGrantInvalid, name)
	}
}

// TestTaskRedeemsOnce: a handler that starts again after a crash learns that the action was begun.
func TestTaskRedeemsOnce(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	input := api.JSON(`{"command":"ls"}`)
	ask := func(id string) api.ApprovalRequest {
		return api.ApprovalRequest{ID: id, ToolCallID: id, ToolName: "bash", Input: input}
	}
	made := must(c.CreateRun(t.Context(), client.CreateRunParams{Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{ask("a"), ask("b")}}}))(t)
	must(c.ResolveRunApprovals(t.Context(), made.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
		{RequestID: "a", Behavior: api.BehaviorAllow}, {RequestID: "b", Behavior: api.BehaviorAllow},
	}}))(t)
	keys := must(c.Keys(t.Context()))(t)

	// The worker that redeemed the grant is lost.
	claim := must(c.ClaimRun(t.Context(), made.RunID, api.ClaimOptions{WorkerID: "w"}))(t)
	first := claim.Resume.Approvals[0].Resolution
	must(client.VerifyGrant(*keys, first.Grant.JWS, "bash", input))(t)
	redemption := must(c.RedeemGrant(t.Context(), client.RedeemGrantParams{Grant: first.Grant.JWS, Input: input}))(t)
	must(c.ReleaseRun(t.Context(), made.RunID, claim.Lease.Fence, nil))(t)

	tasks, next := make(chan *client.Task), make(chan error)
	work(t, c, func(_ context.Context, task *client.Task) error {
		tasks <- task
		return <-next
	})
	task := <-tasks
	before := must(task.Approve(t.Context(), ask("a")))(t)
	require.Equal(t, redemption.RedeemedAtMs, before.Grant.RedeemedAtMs)
	_, err := task.RedeemGrant(t.Context(), before, input)
	require.ErrorIs(t, err, client.ErrGrantRedeemed)
	_, err = c.RedeemGrant(t.Context(), client.RedeemGrantParams{Grant: first.Grant.JWS, Input: input})
	require.ErrorIs(t, err, client.ErrLeaseLost)
	_, err = task.RedeemGrant(t.Context(), api.Resolution{RequestID: "a", Outcome: api.OutcomeDenied}, input)
	require.ErrorIs(t, err, client.ErrGrantInvalid)

	other := must(task.Approve(t.Context(), ask("b")))(t)
	_, err = task.RedeemGrant(t.Context(), other, api.JSON(`{"command":"ls /"}`))
	require.ErrorIs(t, err, client.ErrGrantMismatch)
	redemption = must(task.RedeemGrant(t.Context(), other, input))(t)
	require.Equal(t, task.Fence(), redemption.Fence)
	_, err = task.RedeemGrant(t.Context(), other, input)
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, client.ErrGrantRedeemed)
	require.Equal(t, redemption, refused.Redemption)
	next <- nil
}
