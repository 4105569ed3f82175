package deliver_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
	"github.com/holdpoint/holdpoint/webhooks"
)

const token = "token-of-the-caller-0123456789"

type settled struct {
	Type      string             `json:"type"`
	Timestamp string             `json:"timestamp"`
	Data      api.SettledRequest `json:"data"`
}

// verified checks the token and the signature of a posted message, and returns it.
func (r *received) verified(t *testing.T) settled {
	t.Helper()
	require.Equal(t, "Bearer "+token, r.header.Get("Authorization"))
	verifier, err := standardwebhooks.NewWebhook(webhooks.SecretOf(token))
	require.NoError(t, err)
	require.NoError(t, verifier.Verify(r.body, r.header))
	require.Error(t, verifier.Verify(append(bytes.Clone(r.body), ' '), r.header))
	require.NotContains(t, string(r.body), token)
	var body settled
	require.NoError(t, json.Unmarshal(r.body, &body))
	return body
}

func (s *service) raise(t *testing.T, sessionID string, suspension api.Suspension) (runID string) {
	t.Helper()
	created, err := s.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: sessionID, Input: "work", Suspend: &suspension})
	require.NoError(t, err)
	return created.RunID
}

func calledBack(id, url string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: id, ToolName: "shell", ToolCallID: "call-" + id, Input: api.JSON(`{"command":"ls","key":"hunter2-hunter2"}`), Callback: &api.Callback{URL: url, Token: token}}
}

func TestDecisionsArePostedToCallbacksWithTheTokenAndAGrant(t *testing.T) {
	onEngines(t, func(t *testing.T, s *service) {
		e := listen(t)
		sensitive := calledBack("sensitive", e.URL)
		sensitive.SensitivePaths = []string{"/key"}
		plain := sensitive
		plain.ID, plain.Callback = "plain", nil
		runID := s.raise(t, "s", api.Suspension{
			Approvals: []api.ApprovalRequest{calledBack("a", e.URL), sensitive, calledBack("denied", e.URL), plain},
			Questions: []api.UserQuestionRequest{{ID: "q", Kind: "text", Callback: &api.Callback{URL: e.URL, Token: token}}},
		})
		_, err := s.client.AnswerRunQuestion(t.Context(), runID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{RequestID: "q", Value: api.JSON(`"blue"`)}})
		require.NoError(t, err)
		require.Equal(t, api.JSON(`"blue"`), e.wait(t, 1)[0].verified(t).Data.Resolution.Value)
		_, err = s.client.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
			{RequestID: "a", Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"ls -l"}`)},
			{RequestID: "sensitive", Behavior: api.BehaviorAllow},
			{RequestID: "denied", Behavior: api.BehaviorDeny, Reason: "no"},
			{RequestID: "plain", Behavior: api.BehaviorAllow},
		}})
		require.NoError(t, err)
		posted := map[string]settled{}
		for _, call := range e.wait(t, 4) {
			body := call.verified(t)
			require.Equal(t, "request_settled", body.Type)
			require.Equal(t, "msg_"+body.Data.Handle, call.header.Get("webhook-id"))
			posted[body.Data.RequestID] = body
		}
		require.Len(t, posted, 4, "the request without a callback is posted nowhere")
		require.Equal(t, api.OutcomeDenied, posted["denied"].Data.Resolution.Outcome)
		require.Nil(t, posted["denied"].Data.Resolution.Grant)
		require.JSONEq(t, `{"command":"ls","key":{"sensitive":true}}`, string(asApproval(t, posted["sensitive"].Data.Request).Input))

		allowed := posted["a"].Data
		require.JSONEq(t, `{"command":"ls -l"}`, string(allowed.Resolution.UpdatedInput))
		for _, test := range []struct{ id, input string }{{"a", `{"command":"ls -l"}`}, {"sensitive", `{"command":"ls","key":"hunter2-hunter2"}`}} {
			redeem := func(input string) error {
				_, err := s.client.RedeemGrant(t.Context(), client.RedeemGrantParams{Grant: posted[test.id].Data.Resolution.Grant.JWS, Input: api.JSON(input)})
				return err
			}
			require.ErrorIs(t, redeem(`{"command":"rm"}`), client.ErrGrantMismatch)
			require.NoError(t, redeem(test.input), "nobody holds the run")
			require.ErrorIs(t, redeem(test.input), client.ErrGrantRedeemed)
		}

		// Nothing that can be read contains the token.
		for _, path := range []string{
			"/v1/requests/" + allowed.Handle, "/v1/runs/" + runID, "/v1/sessions/s", "/v1/sessions/s/events", "/v1/decisions", "/v1/effects?webhook_id=callback", "/v1/webhooks", "/v1/audit/export",
		} {
			response, err := http.Get(s.URL + path)
			require.NoError(t, err)
			var text bytes.Buffer
			_, err = text.ReadFrom(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusOK, response.StatusCode, path)
			require.NotContains(t, text.String(), token, path)
			require.NotContains(t, text.String(), `"callback":`, path)
		}
		if file, is := strings.CutPrefix(s.database, "sqlite:"); is {
			for _, name := range []string{file, file + "-wal"} {
				stored, err := os.ReadFile(name)
				require.NoError(t, err)
				require.NotContains(t, string(stored), token, "it is sealed")
			}
		}
	})
}

func asApproval(t *testing.T, text api.JSON) (approval api.ApprovalRequest) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, &approval))
	return approval
}

// hang returns the URL of a host that accepts calls but does not answer until the test
// ends.
func hang(t *testing.T) string {
	t.Helper()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	return server.URL
}

// Hanging receivers delay the callbacks of their owner, however many they are, and no
// others.
func TestHangingReceiversHoldUpNoOtherPrincipal(t *testing.T) {
	onEnginesOf(t, startClosed, func(t *testing.T, s *service) {
		agent, other := s.as(t, "hangs", api.RoleAgent), s.as(t, "waits", api.RoleAgent)
		var hangs api.Suspension
		var resolutions []api.ApprovalResolution
		for n := range 100 {
			id := fmt.Sprintf("hangs-%02d", n)
			hangs.Approvals = append(hangs.Approvals, calledBack(id, hang(t)))
			resolutions = append(resolutions, api.ApprovalResolution{RequestID: id, Behavior: api.BehaviorAllow})
		}
		raise := func(by *client.Client, session string, suspension api.Suspension, resolutions []api.ApprovalResolution) {
			created, err := by.CreateRun(t.Context(), client.CreateRunParams{SessionID: session, Input: "work", Suspend: &suspension})
			require.NoError(t, err)
			_, err = s.client.ResolveRunApprovals(t.Context(), created.RunID, client.ResolveApprovalsParams{Resolutions: resolutions})
			require.NoError(t, err)
		}
		raise(agent, "hanging", hangs, resolutions)
		eventually(t, func() *bool {
			called := false
			for _, effect := range s.deliveries(t, api.CallbackWebhookID, api.EffectPending) {
				called = called || effect.Attempts > 0
			}
			return map[bool]*bool{true: &called}[called]
		})
		good := listen(t)
		raise(other, "good", api.Suspension{Approvals: []api.ApprovalRequest{calledBack("good", good.URL)}},
			[]api.ApprovalResolution{{RequestID: "good", Behavior: api.BehaviorAllow}})
		require.Equal(t, "good", good.wait(t, 1)[0].verified(t).Data.RequestID)
		underWay := 0
		for _, effect := range s.deliveries(t, api.CallbackWebhookID, api.EffectPending) {
			if effect.Attempts > 0 {
				underWay++
			}
		}
		require.LessOrEqual(t, underWay, 8, "an owner's share")
	})
}

func TestCancelledAndExpiredRequestsArePostedToCallbacks(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory)
	e := listen(t)
	runID := s.raise(t, "cancelled", api.Suspension{Approvals: []api.ApprovalRequest{calledBack("a", e.URL)}})
	_, err := s.client.CancelRun(t.Context(), runID, "")
	require.NoError(t, err)
	body := e.wait(t, 1)[0].verified(t)
	require.Equal(t, api.OutcomeCancelled, body.Data.Resolution.Outcome)
	require.Nil(t, body.Data.Resolution.Grant)

	at := int64(1)
	due := calledBack("a", e.URL)
	due.ExpiresAtMs = &at
	s.raise(t, "expired", api.Suspension{Approvals: []api.ApprovalRequest{due}})
	require.Equal(t, api.OutcomeExpired, e.wait(t, 2)[1].verified(t).Data.Resolution.Outcome)
}

// Hosts that hang or refuse delay no others. A replay posts a dropped callback again, with
// the same id.
func TestCallbacksThatFailHoldUpNoOtherAndAreReplayed(t *testing.T) {
	onEngines(t, func(t *testing.T, s *service) {
		good, gone := listen(t), listen(t)
		gone.answer(http.StatusGone)
		hangs := hang(t)
		var suspension api.Suspension
		for n := range 90 { // more than the lane reads at once
			suspension.Approvals = append(suspension.Approvals, calledBack(fmt.Sprintf("hangs-%02d", n), hangs))
		}
		suspension.Approvals = append(suspension.Approvals, calledBack("gone", gone.URL), calledBack("good", good.URL))
		runID := s.raise(t, "s", suspension)
		var resolutions []api.ApprovalResolution
		for _, approval := range suspension.Approvals {
			resolutions = append(resolutions, api.ApprovalResolution{RequestID: approval.ID, Behavior: api.BehaviorAllow})
		}
		_, err := s.client.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{Resolutions: resolutions})
		require.NoError(t, err)
		require.Equal(t, "good", good.wait(t, 1)[0].verified(t).Data.RequestID)
		first := gone.wait(t, 1)[0]
		failed := eventually(t, func() *[]api.EffectView {
			if given := s.deliveries(t, api.CallbackWebhookID, api.EffectFailed); len(given) > 0 {
				return &given
			}
			return nil
		})
		require.Len(t, *failed, 1)
		require.NotContains(t, (*failed)[0].LastError, gone.URL)
		gone.answer(http.StatusOK)
		replayed, err := s.client.ReplayWebhook(t.Context(), api.CallbackWebhookID)
		require.NoError(t, err)
		require.EqualValues(t, 1, replayed.Replayed)
		require.Equal(t, first.header.Get("webhook-id"), gone.wait(t, 2)[1].header.Get("webhook-id"))
		if !strings.HasPrefix(s.database, "sqlite:") {
			rig.RequireHealthy(t, s.database)
		}
	})
}

// A pending callback is posted even if the request was redacted meanwhile, without the redacted
// content. After that, nothing of the callback is kept.
func TestACallbackIsPostedWhatARedactionLeft(t *testing.T) {
	onEngines(t, func(t *testing.T, s *service) {
		owed, posted := listen(t), listen(t)
		owed.answer(http.StatusGone)
		runID := s.raise(t, "s", api.Suspension{Approvals: []api.ApprovalRequest{calledBack("owed", owed.URL), calledBack("posted", posted.URL)}})
		_, err := s.client.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
			{RequestID: "owed", Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"hunter2-hunter2"}`)}, {RequestID: "posted", Behavior: api.BehaviorAllow},
		}})
		require.NoError(t, err)
		first := owed.wait(t, 1)[0]
		posted.wait(t, 1)
		eventually(t, func() *bool {
			ended := len(s.deliveries(t, api.CallbackWebhookID, api.EffectFailed)) == 1 && len(s.deliveries(t, api.CallbackWebhookID, api.EffectDone)) == 1
			return map[bool]*bool{true: &ended}[ended]
		})
		_, err = s.client.CancelRun(t.Context(), runID, "")
		require.NoError(t, err)
		redacted, err := s.client.Redact(t.Context(), "s", api.RedactBody{BeforeMs: new(int64(1 << 53)), Reason: "asked for"})
		require.NoError(t, err)
		require.Positive(t, redacted.Redacted)

		rows, is := s.Store.(upkeep.Rewrapper)
		require.True(t, is)
		kept, err := rows.SealedRequests(t.Context(), upkeep.SealedRequest{}, 10)
		require.NoError(t, err)
		require.Len(t, kept, 2)
		require.NotNil(t, kept[0].Sealed, "of %s", kept[0].RequestID)
		require.Nil(t, kept[1].Sealed, "of %s", kept[1].RequestID)

		owed.answer(http.StatusOK)
		_, err = s.client.ReplayWebhook(t.Context(), api.CallbackWebhookID)
		require.NoError(t, err)
		call := owed.wait(t, 2)[1]
		require.Equal(t, first.header.Get("webhook-id"), call.header.Get("webhook-id"))
		require.NotContains(t, string(call.body), "hunter2")
		body := call.verified(t)
		require.Equal(t, api.OutcomeAllowed, body.Data.Resolution.Outcome)
		require.Empty(t, body.Data.Resolution.Grant.JWS, "nobody acts on what is left")
	})
}

func TestCallbacksAreCheckedWhenTheyAreRaised(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory)
	raise := func(given api.Callback) error {
		_, err := s.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", Input: "work", Suspend: &api.Suspension{
			Approvals: []api.ApprovalRequest{{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{}`)}, {ID: "b", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{}`), Callback: &given}},
		}})
		return err
	}
	for pointer, bad := range map[string][]api.Callback{
		"/suspend/approvals/1/callback/url": {
			{URL: "http://169.254.169.254/latest", Token: token},
			{URL: "ftp://example.com", Token: token},
			{URL: "https://user:pass@example.com", Token: token},
			{URL: "https://10.0.0.1/", Token: token},
			{URL: "https://example.com/" + strings.Repeat("x", api.MaxWebhookURL), Token: token},
			{URL: "", Token: token},
		},
		"/suspend/approvals/1/callback/token": {
			{URL: "https://example.com", Token: "short"},
			{URL: "https://example.com", Token: strings.Repeat("x", api.MaxCallbackToken+1)},
			{URL: "https://example.com", Token: token + "\r\nX-Other: 1"},
			{URL: "https://example.com", Token: token + "é"},
			{URL: "https://example.com"},
		},
	} {
		for _, given := range bad {
			var problem *client.Error
			require.ErrorAs(t, raise(given), &problem, "%+v", given)
			require.Equal(t, api.CodeInvalidRequest, problem.Code)
			require.Len(t, problem.Faults, 1)
			require.Equal(t, pointer, problem.Faults[0].Pointer)
			require.NotContains(t, problem.Error(), token)
		}
	}
	require.NoError(t, raise(api.Callback{URL: "https://example.com", Token: token}))
	without := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	s = &service{without, without.Connect(), inprocess.Memory}
	require.ErrorContains(t, raise(api.Callback{URL: "https://example.com", Token: token}), string(api.CodeSecretsNotConfigured))
}

// The idempotency key covers the callback, too, and a repeated call finds the request that
// it raised.
func TestACallbackIsAPartOfTheCall(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory)
	create := func(token string) error {
		_, err := s.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", Input: "work", IdempotencyKey: "k", Suspend: &api.Suspension{
			Approvals: []api.ApprovalRequest{{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{}`), Callback: &api.Callback{URL: "https://example.com", Token: token}}},
		}})
		return err
	}
	require.NoError(t, create(token))
	require.NoError(t, create(token))
	require.ErrorIs(t, create(token+"-another"), client.ErrIdempotencyConflict)
	pending, err := s.Store.PendingRequests(t.Context(), reads.RequestQuery{SessionID: "s", Kind: "approval", Limit: 2})
	require.NoError(t, err)
	require.Len(t, pending, 1)
}

// The page shows what to send and what is posted. The test sends its first example, and compares
// the members of the second one with a real message.
func TestThePageShowsCallbacks(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory)
	e := listen(t)
	page, err := os.ReadFile("../../docs/webhooks.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "## Callbacks\n")
	blocks := strings.Split(section, "```")
	send, shown := strings.TrimPrefix(blocks[1], "json\n"), strings.TrimPrefix(blocks[3], "json\n")
	response, err := http.Post(s.URL+"/v1/runs", "application/json", strings.NewReader(strings.Replace(send, "https://example.com/decided", e.URL, 1)))
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusAccepted, response.StatusCode)
	var run api.RunView
	require.NoError(t, json.UnmarshalRead(response.Body, &run))
	_, err = s.client.ResolveRunApprovals(t.Context(), run.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "deploy", Behavior: api.BehaviorAllow}}})
	require.NoError(t, err)
	var documented, posted struct {
		Type, Timestamp string
		Data            map[string]any
	}
	call := e.wait(t, 1)[0]
	require.Equal(t, "Bearer 0f1e2d3c4b5a69788796a5b4", call.header.Get("Authorization"))
	require.NoError(t, json.Unmarshal([]byte(shown), &documented, json.MatchCaseInsensitiveNames(true)))
	require.NoError(t, json.Unmarshal(call.body, &posted, json.MatchCaseInsensitiveNames(true)))
	require.Equal(t, posted.Type, documented.Type)
	names := func(of any) []string {
		members, is := of.(map[string]any)
		require.True(t, is)
		return slices.Sorted(maps.Keys(members))
	}
	require.Equal(t, names(posted.Data), names(documented.Data))
	require.Equal(t, names(posted.Data["resolution"]), names(documented.Data["resolution"]))
	require.Subset(t, names(posted.Data["request"]), names(documented.Data["request"]))
}
