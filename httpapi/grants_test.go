package httpapi_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs/document"
)

// granted creates an attached run with one approval "a" and allows it.
func (a *rig) granted(t *testing.T, approval string) wantedRun {
	t.Helper()
	held := a.attached(t, `"approvals":[`+approval+`]`)
	a.post(t, "/v1/runs/"+held.run+"/approvals", allow("a")).want(http.StatusAccepted)
	return held
}

// grantOf returns the grant that the holder of the fence reads.
func (a *rig) grantOf(t *testing.T, held wantedRun) string {
	t.Helper()
	return a.get(t, "/v1/runs/"+held.run+"/resume?fence="+held.fence).want(http.StatusOK).textAt("settled", 0, "resolution", "grant")
}

func redeeming(grant, digest string) string {
	return fmt.Sprintf(`{"grant":%q,"input_digest":%q}`, grant, digest)
}

func digestOf(t *testing.T, input string) string {
	t.Helper()
	digest, err := document.Digest(api.JSON(input))
	require.NoError(t, err)
	return digest
}

// payloadOf reads a JWS without verifying it.
func payloadOf(t *testing.T, grant string) (claims api.GrantClaims) {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(grant, ".")[1])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &claims, json.RejectUnknownMembers(true)))
	return claims
}

const (
	rmInput   = `{"command":"rm -rf build"}`
	redeemURL = "/v1/grants/redeem"
)

func testGrants(t *testing.T, a *rig) {
	var keys *signing.Keys
	replica := serve(t, a.store, a.contract, func(o *httpapi.Options) { keys, o.Issuer = o.Signing, "https://holdpoint.example/" })
	parallel(t, "what was approved is what runs, once", func(t *testing.T) {
		held := replica.attached(t, `"approvals":[`+approval("a")+`,`+approval("b")+`]`)
		a.post(t, "/v1/runs/"+held.run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","updated_input":{"command":"ls"}},{"request_id":"b","behavior":"deny"}]}`).want(http.StatusAccepted)
		grant := replica.grantOf(t, held)
		claims := payloadOf(t, grant)
		view := a.get(t, "/v1/runs/"+held.run).want(http.StatusOK)
		handle := view.textAt("resume", "approvals", 0, "request", "handle")
		require.InDelta(t, time.Now().Unix(), claims.Iat, 30)
		exp := int64(view.at("lease", "expires_at_ms").(float64)) / 1000
		require.Equal(t, api.GrantClaims{
			Iss: "https://holdpoint.example", Aud: "default", Sub: held.run, RequestID: "a", ToolName: "bash", InputDigest: digestOf(t, `{"command":"ls"}`),
			Fence: held.fence, Iat: claims.Iat, Exp: exp, JTI: handle, ResolvedBy: "user:local",
		}, claims)
		require.Nil(t, view.at("resume", "approvals", 1, "resolution", "grant"), "what was denied")
		for path, at := range map[string][]any{
			"/v1/runs/" + held.run:                     {"resume", "approvals", 0, "resolution"},
			"/v1/requests/" + handle:                   {"resolution"},
			"/v1/decisions?session_id=" + held.session: {"decisions", 0, "resolution"},
		} {
			shown := a.get(t, path).want(http.StatusOK)
			require.NotContains(t, shown.text, grant, path)
			if path != "/v1/decisions?session_id="+held.session {
				require.Equal(t, map[string]any{"jti": handle, "exp": float64(exp)}, shown.at(append(at, "grant")...), path)
			}
		}
		require.NotContains(t, a.get(t, "/v1/runs/"+held.run+"/events").text, `"grant"`)

		a.post(t, redeemURL, redeeming(grant, digestOf(t, rmInput))).refused(api.CodeGrantMismatch)
		a.post(t, redeemURL, redeeming(grant, "sha256:"+strings.Repeat("A", 64))).refused(api.CodeInvalidRequest).pointer("/input_digest")
		a.post(t, redeemURL, redeeming(grant, "hmac-"+claims.InputDigest)).refused(api.CodeInvalidRequest).pointer("/input_digest")
		a.post(t, redeemURL, redeeming(grant, "")).refused(api.CodeInvalidRequest).pointer("/input_digest")
		a.post(t, redeemURL, `{"grant":"`+grant+`"}`).refused(api.CodeInvalidRequest).pointer("/input_digest")
		first := a.post(t, redeemURL, redeeming(grant, strings.TrimPrefix(claims.InputDigest, "sha256:")), key("k-"+held.run)).want(http.StatusOK)
		require.Equal(t, handle, first.at("jti"))
		require.Equal(t, held.fence, first.at("fence"))
		again := replica.post(t, redeemURL, redeeming(grant, claims.InputDigest), key("k-"+held.run)).want(http.StatusOK)
		require.Equal(t, first.text, again.text)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.Equal(t, first.body, replica.post(t, redeemURL, redeeming(grant, claims.InputDigest)).refused(api.CodeGrantRedeemed).at("redemption"))
		events := a.get(t, "/v1/runs/"+held.run+"/events").want(http.StatusOK)
		require.Equal(t, 1, strings.Count(events.text, `"grant_redeemed"`))

		// Its worker dies; the next one sees that it had begun, and gets nothing to begin with.
		a.post(t, "/v1/runs/"+held.run+"/release", `{"fence":"`+held.fence+`"}`).want(http.StatusOK)
		claim := a.post(t, "/v1/runs/"+held.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
		shown := claim.at("resume", "approvals", 0, "resolution", "grant").(map[string]any)
		require.Equal(t, first.at("redeemed_at_ms"), shown["redeemed_at_ms"])
		require.Equal(t, held.fence, shown["fence"])
		a.post(t, redeemURL, redeeming(grant, claims.InputDigest)).refused(api.CodeLeaseLost)
	})
	parallel(t, "one key redeems one grant", func(t *testing.T) {
		held := a.attached(t, `"approvals":[`+approval("a")+`,`+approval("b")+`]`)
		a.post(t, "/v1/runs/"+held.run+"/approvals", allow("a", "b")).want(http.StatusAccepted)
		settled := a.get(t, "/v1/runs/"+held.run+"/resume?fence="+held.fence).want(http.StatusOK)
		digest, one := digestOf(t, rmInput), key("k-"+held.run)
		first := redeeming(settled.textAt("settled", 0, "resolution", "grant"), digest)
		second := redeeming(settled.textAt("settled", 1, "resolution", "grant"), digest)
		a.post(t, redeemURL, first, one).want(http.StatusOK)
		a.post(t, redeemURL, second, one).refused(api.CodeIdempotencyConflict)
		require.Equal(t, "true", a.post(t, redeemURL, first, one).want(http.StatusOK).header.Get("Idempotency-Replayed"))
		a.post(t, redeemURL, second).want(http.StatusOK)
		a.post(t, redeemURL, second, one).refused(api.CodeIdempotencyConflict)
		require.Equal(t, 2, strings.Count(a.get(t, "/v1/runs/"+held.run+"/events").text, `"type":"grant_redeemed"`))
	})
	parallel(t, "of many who redeem at once one may", func(t *testing.T) {
		held := a.granted(t, approval("a"))
		grant := a.grantOf(t, held)
		codes := make([]any, 8)
		var group errgroup.Group
		for i := range codes {
			from := []*rig{a, replica}[i%2]
			group.Go(func() error {
				codes[i] = from.post(t, redeemURL, redeeming(grant, digestOf(t, rmInput))).at("code")
				return nil
			})
		}
		require.NoError(t, group.Wait())
		took := 0
		for _, code := range codes {
			if code == nil {
				took++
			} else {
				require.Equal(t, string(api.CodeGrantRedeemed), code)
			}
		}
		require.Equal(t, 1, took)
	})
	parallel(t, "a claim has it under its own fence", func(t *testing.T) {
		waiting := a.waiting(t, `"approvals":[`+approval("a")+`]`)
		a.post(t, "/v1/runs/"+waiting.run+"/approvals", allow("a")).want(http.StatusAccepted)
		claim := a.post(t, "/v1/runs/"+waiting.run+"/claim", `{"worker_id":"w1"}`).want(http.StatusOK)
		grant := claim.textAt("resume", "approvals", 0, "resolution", "grant")
		require.Equal(t, claim.at("lease", "fence"), payloadOf(t, grant).Fence)
		require.Equal(t, payloadOf(t, grant).JTI, claim.at("run", "resume", "approvals", 0, "resolution", "grant", "jti"))
		a.post(t, "/v1/runs/"+waiting.run+"/release", `{"fence":"`+claim.textAt("lease", "fence")+`"}`).want(http.StatusOK)
		next := a.post(t, "/v1/runs/"+waiting.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
		// The grant of the lease before is signed as well as any, and of no use.
		a.post(t, redeemURL, redeeming(grant, digestOf(t, rmInput))).refused(api.CodeLeaseLost)
		grant = next.textAt("resume", "approvals", 0, "resolution", "grant")
		a.post(t, redeemURL, redeeming(grant, digestOf(t, rmInput))).want(http.StatusOK)
		a.post(t, "/v1/runs/"+waiting.run+"/complete", `{"fence":"`+next.textAt("lease", "fence")+`"}`).want(http.StatusOK)
		a.post(t, redeemURL, redeeming(grant, digestOf(t, rmInput))).refused(api.CodeRunStateConflict)
	})
	parallel(t, "a rule allows at once", func(t *testing.T) {
		held := a.claimed(t)
		rule := a.post(t, "/v1/rules", `{"session_id":"`+held.session+`","tool_name":"bash","match":{"any_input":true}}`).want(http.StatusCreated)
		raise := `{"fence":"` + held.fence + `","suspension_id":"s","approvals":[` + approval("a") + `]}`
		claims := payloadOf(t, a.post(t, "/v1/runs/"+held.run+"/suspend", raise).want(http.StatusOK).textAt("resume", "approvals", 0, "resolution", "grant"))
		require.Equal(t, rule.at("rule_id"), claims.RuleID)
		require.Equal(t, held.fence, claims.Fence)
	})
	parallel(t, "a repeated creation has none of a later claim", func(t *testing.T) {
		body := fmt.Sprintf(`{"session_id":%q,"input":1,"claim":{"worker_id":"w1"},"suspend":{"hold":true,"approvals":[%s]}}`, a.name("session"), approval("a"))
		name := a.name("made")
		made := a.post(t, "/v1/runs", body, key(name)).want(http.StatusAccepted)
		run := "/v1/runs/" + made.textAt("run", "run_id")
		a.post(t, run+"/approvals", allow("a")).want(http.StatusAccepted)
		require.NotEmpty(t, a.post(t, "/v1/runs", body, key(name)).want(http.StatusAccepted).textAt("resume", "approvals", 0, "resolution", "grant"))
		a.post(t, run+"/release", `{"fence":"`+made.textAt("lease", "fence")+`"}`).want(http.StatusOK)
		a.post(t, run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
		require.IsType(t, map[string]any{}, a.post(t, "/v1/runs", body, key(name)).want(http.StatusAccepted).at("resume", "approvals", 0, "resolution", "grant"))
	})
	parallel(t, "the digest of sensitive values is the holder's alone", func(t *testing.T) {
		input := `{"sql":"select 1","password":"` + secret + `"}`
		held := a.granted(t, `{"id":"a","tool_call_id":"c","tool_name":"psql","input":`+input+`,"sensitive_paths":["/password"]}`)
		grant := a.grantOf(t, held)
		require.Equal(t, digestOf(t, input), payloadOf(t, grant).InputDigest)
		a.post(t, redeemURL, redeeming(grant, digestOf(t, input))).want(http.StatusOK)
		a.requireHidden(t, held.session, held.run)
		for _, path := range []string{"/v1/runs/" + held.run, "/v1/runs/" + held.run + "/events"} {
			require.NotContains(t, a.get(t, path).text, digestOf(t, input), "a caller who guesses the value could tell by it")
		}
	})
	parallel(t, "what was forged", func(t *testing.T) {
		held := replica.granted(t, approval("a"))
		grant := replica.grantOf(t, held)
		parts := strings.Split(grant, ".")
		encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		require.NoError(t, err)
		sign := func(purpose, payload string) string {
			signed, err := keys.Sign(purpose, []byte(payload))
			require.NoError(t, err)
			return signed
		}
		stranger := newSigning(t, nil)
		swapped, err := stranger.Sign(api.GrantPurpose, payload)
		require.NoError(t, err)
		header := func(alg, kid string) string {
			return encode(`{"alg":"` + alg + `","typ":"` + api.GrantPurpose + `","kid":"` + kid + `"}`)
		}
		digest := digestOf(t, rmInput)
		for name, text := range map[string]string{
			"nothing": "", "text": "x", "no signature": parts[0] + "." + parts[1] + ".", "two parts": parts[0] + "." + parts[1],
			"no algorithm": header("none", keys.KeyID()) + "." + parts[1] + ".", "the public key as a secret": header("HS256", keys.KeyID()) + "." + parts[1] + "." + parts[2],
			"other claims":    parts[0] + "." + encode(strings.Replace(string(payload), `"bash"`, `"rm"`, 1)) + "." + parts[2],
			"a stranger's":    swapped,
			"another's key":   header("EdDSA", stranger.KeyID()) + "." + parts[1] + "." + parts[2],
			"another purpose": sign("checkpoint+jws", string(payload)),
			"padded":          grant + "=", "huge": grant + strings.Repeat("A", 40<<10),
			"no claims": sign(api.GrantPurpose, `[]`), "no fence": sign(api.GrantPurpose, strings.Replace(string(payload), `"fence":"`+held.fence+`"`, `"fence":"x"`, 1)),
			// It is signed, so only the rows tell.
			"the handle of another": sign(api.GrantPurpose, strings.Replace(string(payload), `"jti":"`, `"jti":"x`, 1)),
		} {
			refused := a.post(t, redeemURL, redeeming(text, digest))
			require.Equal(t, string(api.CodeInvalidGrant), refused.at("code"), "%s: %s", name, refused.text)
		}
		a.post(t, redeemURL, redeeming(sign(api.GrantPurpose, strings.Replace(string(payload), held.run, "run_nobody", 1)), digest)).refused(api.CodeRunNotFound)
		a.post(t, redeemURL, redeeming(sign(api.GrantPurpose, strings.Replace(string(payload), `"request_id":"a"`, `"request_id":"x"`, 1)), digest)).refused(api.CodeRequestNotFound)
		require.NotContains(t, a.get(t, "/v1/runs/"+held.run+"/events").text, "grant_redeemed")
		a.post(t, redeemURL, redeeming(grant, digest)).want(http.StatusOK)
	})
	parallel(t, "the lease has run out", func(t *testing.T) {
		made := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","claim":{"worker_id":"w1","lease_ms":1000},"suspend":{"hold":true,"approvals":[%s]}}`, a.name("session"), approval("a"))).want(http.StatusAccepted)
		run, fence := made.textAt("run", "run_id"), made.textAt("lease", "fence")
		ends := made.at("lease", "expires_at_ms").(float64)
		a.post(t, "/v1/runs/"+run+"/approvals", allow("a")).want(http.StatusAccepted)
		grant := a.grantOf(t, wantedRun{run: run, fence: fence})
		require.Eventually(t, func() bool {
			return a.get(t, "/v1/workers").at("now_ms").(float64) >= ends
		}, patience, patienceStep)
		a.post(t, redeemURL, redeeming(grant, digestOf(t, rmInput))).refused(api.CodeGrantExpired)
		// The current lease counts, not the one at the time of signing.
		a.post(t, "/v1/runs/"+run+"/heartbeat", `{"fence":"`+fence+`","lease_ms":60000}`).want(http.StatusOK)
		a.post(t, redeemURL, redeeming(grant, digestOf(t, rmInput))).want(http.StatusOK)
	})
	parallel(t, "after the key was changed", func(t *testing.T) {
		held := a.granted(t, approval("a"))
		grant := a.grantOf(t, held)
		next := serve(t, a.store, a.contract)
		next.post(t, redeemURL, redeeming(grant, digestOf(t, rmInput))).want(http.StatusOK)
	})
	parallel(t, "a service that signs nothing", func(t *testing.T) {
		without := serve(t, a.store, a.contract, func(o *httpapi.Options) { o.Signing = nil })
		held := without.granted(t, approval("a"))
		require.NotEmpty(t, without.get(t, "/v1/runs/"+held.run+"/resume?fence="+held.fence).textAt("settled", 0, "resolution", "grant", "jti"))
		without.post(t, redeemURL, redeeming(a.grantOf(t, held), digestOf(t, rmInput))).want(http.StatusServiceUnavailable)
	})
	parallel(t, "an answer is signed for the holder of the fence", func(t *testing.T) {
		body := fmt.Sprintf(`{"session_id":%q,"input":1,"claim":{"worker_id":"w1"},"suspend":{"hold":true,"questions":[%s]}}`, a.name("session"), question("q"))
		name := a.name("made")
		made := a.post(t, "/v1/runs", body, key(name)).want(http.StatusAccepted)
		run := "/v1/runs/" + made.textAt("run", "run_id")
		a.post(t, run+"/questions", answer("q", `"answers":`+goodAnswers)).want(http.StatusAccepted)
		for who, signed := range map[string]string{
			"attached":            a.get(t, run+"/resume?fence="+made.textAt("lease", "fence")).want(http.StatusOK).textAt("settled", 0, "resolution", "signature"),
			"a repeated creation": a.post(t, "/v1/runs", body, key(name)).want(http.StatusAccepted).textAt("resume", "questions", 0, "resolution", "signature"),
		} {
			_, err := keys.Verify(t.Context(), api.AnswerPurpose, signed)
			require.NoError(t, err, who)
			a.post(t, redeemURL, redeeming(signed, digestOf(t, rmInput))).refused(api.CodeInvalidGrant)
		}
		for _, path := range []string{run, run + "/events", "/v1/requests/" + a.get(t, run).textAt("resume", "questions", 0, "request", "handle")} {
			require.NotContains(t, a.get(t, path).want(http.StatusOK).text, `"signature"`, path)
		}
		a.post(t, run+"/release", `{"fence":"`+made.textAt("lease", "fence")+`"}`).want(http.StatusOK)
		claim := a.post(t, run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
		require.NotEmpty(t, claim.textAt("resume", "questions", 0, "resolution", "signature"))
		require.Nil(t, claim.at("run", "resume", "questions", 0, "resolution", "signature"))
		require.Nil(t, a.post(t, "/v1/runs", body, key(name)).want(http.StatusAccepted).at("resume", "questions", 0, "resolution", "signature"), "of a later claim")
	})
}
