package deliver_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

func TestMain(m *testing.M) { rig.Main(m) }

// received is a call to an endpoint.
type received struct {
	header http.Header
	body   []byte
}

type standard struct {
	Type      string            `json:"type"`
	Timestamp string            `json:"timestamp"`
	Data      api.RunEventEntry `json:"data"`
}

func (r *received) read(t *testing.T) standard {
	t.Helper()
	var body standard
	require.NoError(t, json.Unmarshal(r.body, &body))
	return body
}

// endpoint is a receiver that answers with a chosen status.
type endpoint struct {
	URL string

	mu     sync.Mutex
	status int
	calls  []received
	came   chan struct{}
}

func listen(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{status: http.StatusNoContent, came: make(chan struct{}, 1000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		e.mu.Lock()
		e.calls = append(e.calls, received{r.Header.Clone(), body})
		status := e.status
		e.mu.Unlock()
		w.WriteHeader(status)
		e.came <- struct{}{}
	}))
	t.Cleanup(server.Close)
	e.URL = server.URL + "/hook"
	return e
}

func (e *endpoint) answer(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
}

// wait returns the calls once there are that many.
func (e *endpoint) wait(t *testing.T, calls int) []received {
	t.Helper()
	ctx := rig.Soon(t)
	for {
		e.mu.Lock()
		seen := append([]received(nil), e.calls...)
		e.mu.Unlock()
		if len(seen) >= calls {
			return seen
		}
		select {
		case <-e.came:
		case <-ctx.Done():
			require.Failf(t, "too few calls", "%d of %d", len(seen), calls)
		}
	}
}

func (e *endpoint) types(t *testing.T) []string {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	var types []string
	for i := range e.calls {
		types = append(types, e.calls[i].read(t).Type)
	}
	return types
}

type service struct {
	*inprocess.Service
	client   *client.Client
	database string
}

func start(t *testing.T, database string) *service {
	t.Helper()
	s := serve(t, database, false)
	return &service{s, s.Connect(), database}
}

// startClosed starts a service that requires tokens. Its client is an admin.
func startClosed(t *testing.T, database string) *service {
	t.Helper()
	s := &service{serve(t, database, true), nil, database}
	s.client = s.as(t, "admin", api.RoleAdmin)
	return s
}

// as returns a client with a new token.
func (s *service) as(t *testing.T, name string, role api.Role) *client.Client {
	t.Helper()
	made, _, err := s.Keyring.Create(t.Context(), &api.CreateTokenBody{Name: name, Role: role}, "user:test", "")
	require.NoError(t, err)
	return s.Connect(client.WithToken(made.Secret))
}

func serve(t *testing.T, database string, closed bool) *inprocess.Service {
	t.Helper()
	keys, err := sealing.Parse(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, sealing.KeyBytes)))
	require.NoError(t, err)
	return inprocess.Start(t, database, inprocess.Options{
		Closed: closed, Sealer: keys, WithoutExpiry: true, WebhookGuard: egress.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
}

func onEngines(t *testing.T, test func(t *testing.T, s *service)) {
	t.Helper()
	onEnginesOf(t, start, test)
}

func onEnginesOf(t *testing.T, start func(t *testing.T, database string) *service, test func(t *testing.T, s *service)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, start(t, "sqlite:"+filepath.Join(t.TempDir(), "data.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, start(t, postgrestest.URL(t)))
	})
}

func (s *service) hook(t *testing.T, url string, body api.WebhookBody) (*api.Webhook, string) {
	t.Helper()
	body.URL = &url
	made, err := s.client.CreateWebhook(t.Context(), body)
	require.NoError(t, err)
	return &made.Webhook, made.Secret
}

// approve makes a run wait for an approval, allows it and completes the run. The events are
// accepted, started, waiting_for_approval, approval_resolved, (claimed again) and
// completed.
func (s *service) approve(t *testing.T, sessionID string, approval api.ApprovalRequest) {
	t.Helper()
	ctx := t.Context()
	created, err := s.client.CreateRun(ctx, client.CreateRunParams{
		SessionID: sessionID, Input: "work", Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval}},
	})
	require.NoError(t, err)
	runID := created.RunID
	_, err = s.client.ResolveRunApprovals(ctx, runID, client.ResolveApprovalsParams{
		Resolutions: []api.ApprovalResolution{{RequestID: approval.ID, Behavior: api.BehaviorAllow}},
	})
	require.NoError(t, err)
	claim, err := s.client.ClaimRun(ctx, runID, api.ClaimOptions{WorkerID: "w"})
	require.NoError(t, err)
	_, err = s.client.CompleteRun(ctx, runID, claim.Lease.Fence, api.JSON(`"done"`))
	require.NoError(t, err)
}

func (s *service) events(t *testing.T, sessionID string) []api.RunEventEntry {
	t.Helper()
	events, _, err := s.Store.EventsWithin(t.Context(), reads.EventQuery{SessionID: sessionID, Limit: 100, MaxBytes: api.MaxReplyBytes})
	require.NoError(t, err)
	entries := make([]api.RunEventEntry, len(events))
	for i := range events {
		entries[i] = events[i].Entry()
	}
	return entries
}

func (s *service) deliveries(t *testing.T, webhookID string, state api.EffectState) []api.EffectView {
	t.Helper()
	page, err := s.client.ListEffects(t.Context(), client.EffectListParams{WebhookID: webhookID, State: state})
	require.NoError(t, err)
	return page.Items
}

func TestEventsReachWebhooksSignedAndInOrder(t *testing.T) {
	onEngines(t, func(t *testing.T, s *service) {
		s.approve(t, "before", api.ApprovalRequest{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{}`)})
		all, other, cloud := listen(t), listen(t), listen(t)
		hook, secret := s.hook(t, all.URL, api.WebhookBody{})
		s.hook(t, other.URL, api.WebhookBody{Kinds: &[]api.WebhookKind{api.WebhookApproval}, SessionPrefixes: &[]string{"prod."}})
		s.hook(t, cloud.URL, api.WebhookBody{Format: new(api.WebhookCloudEvents), Events: &[]api.EventType{api.EventApprovalResolved}})
		require.NotContains(t, fmt.Sprintf("%+v", hook), secret)

		s.approve(t, "dev.1", api.ApprovalRequest{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{"command":"ls","token":"hunter2-hunter2"}`), SensitivePaths: []string{"/token"}})
		s.approve(t, "prod.1", api.ApprovalRequest{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{"command":"ls"}`)})
		logged := map[string][]api.RunEventEntry{"dev.1": s.events(t, "dev.1"), "prod.1": s.events(t, "prod.1")}
		verifier, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		got, ids := map[string][]api.RunEventEntry{}, map[string]bool{}
		for _, call := range all.wait(t, len(logged["dev.1"])+len(logged["prod.1"])) {
			require.NoError(t, verifier.Verify(call.body, call.header))
			require.NotContains(t, string(call.body), "hunter2")
			body := call.read(t)
			require.Equal(t, time.UnixMilli(body.Data.TimestampMs).UTC().Format("2006-01-02T15:04:05.000Z"), body.Timestamp)
			got[body.Data.SessionID] = append(got[body.Data.SessionID], body.Data)
			ids[call.header.Get("webhook-id")] = true
		}
		for sessionID, entries := range logged {
			require.Equal(t, texts(t, entries), texts(t, got[sessionID]), "each event once, in order, as it is listed")
		}
		require.Len(t, ids, len(logged["dev.1"])+len(logged["prod.1"]))

		other.wait(t, 2)
		require.Equal(t, []string{"waiting_for_approval", "approval_resolved"}, other.types(t))
		event := cloud.wait(t, 2)[0]
		require.Equal(t, "application/cloudevents+json", event.header.Get("Content-Type"))
		var told map[string]any
		require.NoError(t, json.Unmarshal(event.body, &told))
		require.Equal(t, "1.0", told["specversion"])
		require.Equal(t, "holdpoint.approval_resolved", told["type"])
		require.Equal(t, event.header.Get("webhook-id"), told["id"])
		require.NotEmpty(t, told["source"])
		_, err = time.Parse(time.RFC3339, told["time"].(string))
		require.NoError(t, err)
		require.Empty(t, s.deliveries(t, hook.WebhookID, api.EffectFailed))
		if !strings.HasPrefix(s.database, "sqlite:") { // the file is in use
			rig.RequireHealthy(t, s.database)
		}
	})
}

func texts(t *testing.T, entries []api.RunEventEntry) []string {
	t.Helper()
	list := make([]string, len(entries))
	for i, entry := range entries {
		text, err := json.Marshal(entry)
		require.NoError(t, err)
		list[i] = string(text)
	}
	return list
}

func TestEndpointThatFailsHoldsUpNobodyAndGetsEverythingInOrderLater(t *testing.T) {
	onEngines(t, func(t *testing.T, s *service) {
		bad, good := listen(t), listen(t)
		bad.answer(http.StatusInternalServerError)
		failing, _ := s.hook(t, bad.URL, api.WebhookBody{Kinds: &[]api.WebhookKind{api.WebhookApproval}})
		s.hook(t, good.URL, api.WebhookBody{Kinds: &[]api.WebhookKind{api.WebhookApproval}})
		s.approve(t, "s", api.ApprovalRequest{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{}`)})
		good.wait(t, 2)
		first := bad.wait(t, 1)[0]
		require.Equal(t, []string{"waiting_for_approval"}, bad.types(t), "what follows waits for it")

		// The failure is recorded after the endpoint has answered.
		head := eventually(t, func() *api.EffectView {
			for _, one := range s.deliveries(t, failing.WebhookID, api.EffectPending) {
				if one.LastError != "" {
					return &one
				}
			}
			return nil
		})
		require.Equal(t, "status 500", head.LastError)
		require.EqualValues(t, 1, head.Attempts)
		bad.answer(http.StatusOK)
		_, err := s.client.RetryEffect(t.Context(), head.SessionID, head.EffectID)
		require.NoError(t, err)
		calls := bad.wait(t, 3)
		require.Equal(t, []string{"waiting_for_approval", "waiting_for_approval", "approval_resolved"}, bad.types(t))
		require.Equal(t, first.header.Get("webhook-id"), calls[1].header.Get("webhook-id"))
		require.Equal(t, first.body, calls[1].body)
		require.NotEqual(t, first.header.Get("webhook-id"), calls[2].header.Get("webhook-id"))
	})
}

// The example on the page has the members of a real delivery.
func TestThePageShowsWhatIsPosted(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory)
	e := listen(t)
	s.hook(t, e.URL, api.WebhookBody{Events: &[]api.EventType{api.EventApprovalResolved}})
	s.approve(t, "s", api.ApprovalRequest{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{}`)})
	page, err := os.ReadFile("../../docs/webhooks.md")
	require.NoError(t, err)
	_, block, _ := strings.Cut(string(page), "```json\n")
	block, _, _ = strings.Cut(block, "```")
	type shown struct {
		Type      string
		Timestamp string
		Data      map[string]any
	}
	var documented, posted shown
	require.NoError(t, json.Unmarshal([]byte(block), &documented, json.MatchCaseInsensitiveNames(true)))
	require.NoError(t, json.Unmarshal(e.wait(t, 1)[0].body, &posted, json.MatchCaseInsensitiveNames(true)))
	require.Equal(t, posted.Type, documented.Type)
	require.ElementsMatch(t, slices.Collect(maps.Keys(posted.Data)), slices.Collect(maps.Keys(documented.Data)))
}

// eventually polls until the result is not nil.
func eventually[T any](t *testing.T, ask func() *T) *T {
	t.Helper()
	ctx := rig.Soon(t)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if found := ask(); found != nil {
			return found
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.Fail(t, "it did not come")
		}
	}
}

func TestGoneDisablesAndReplayDeliversWhatWasGivenUp(t *testing.T) {
	onEngines(t, func(t *testing.T, s *service) {
		e := listen(t)
		e.answer(http.StatusGone)
		hook, _ := s.hook(t, e.URL, api.WebhookBody{Kinds: &[]api.WebhookKind{api.WebhookApproval}})
		s.approve(t, "s", api.ApprovalRequest{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{}`)})
		disabled := eventually(t, func() *api.Webhook {
			now, err := s.client.GetWebhook(t.Context(), hook.WebhookID)
			require.NoError(t, err)
			if now.Enabled {
				return nil
			}
			return now
		})
		require.Equal(t, "gone", disabled.DisabledReason)
		eventually(t, func() *[]api.EffectView {
			if given := s.deliveries(t, hook.WebhookID, api.EffectFailed); len(given) == len(s.deliveries(t, hook.WebhookID, "")) && len(given) > 0 {
				return &given
			}
			return nil
		})
		calls := len(e.types(t))
		e.answer(http.StatusOK)
		enabled, err := s.client.ChangeWebhook(t.Context(), hook.WebhookID, api.WebhookBody{Enabled: new(true)})
		require.NoError(t, err)
		require.True(t, enabled.Enabled)
		replayed, err := s.client.ReplayWebhook(t.Context(), hook.WebhookID)
		require.NoError(t, err)
		require.Positive(t, replayed.Replayed)
		e.wait(t, calls+int(replayed.Replayed))
		require.Equal(t, "waiting_for_approval", e.types(t)[calls])
	})
}

func TestManyEventsOfOneCallReachAWebhookInOrderAlsoByReplay(t *testing.T) {
	onEngines(t, func(t *testing.T, s *service) {
		const many = 20
		e := listen(t)
		e.answer(http.StatusGone)
		hook, _ := s.hook(t, e.URL, api.WebhookBody{Kinds: &[]api.WebhookKind{api.WebhookWorker}})
		created, err := s.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", Input: "work", Claim: &api.ClaimOptions{WorkerID: "w"}})
		require.NoError(t, err)
		var given []api.JSON
		for n := range many {
			given = append(given, api.JSON(fmt.Sprintf(`{"type":"step-%02d"}`, n)))
		}
		_, err = s.client.AppendEvents(t.Context(), created.RunID, created.Claim.Lease.Fence, given)
		require.NoError(t, err)
		eventually(t, func() *int {
			if given := len(s.deliveries(t, hook.WebhookID, api.EffectFailed)); given > 0 && len(s.deliveries(t, hook.WebhookID, api.EffectPending)) == 0 {
				return &given
			}
			return nil
		})
		posted := len(e.types(t))
		e.answer(http.StatusOK)
		_, err = s.client.ChangeWebhook(t.Context(), hook.WebhookID, api.WebhookBody{Enabled: new(true)})
		require.NoError(t, err)
		_, err = s.client.ReplayWebhook(t.Context(), hook.WebhookID)
		require.NoError(t, err)
		e.wait(t, posted+many)
		types := e.types(t)[posted:]
		require.Len(t, types, many)
		require.True(t, slices.IsSorted(types), types)
	})
}

func TestRotationSignsTwiceAndLongEventsAreLeftOut(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory)
	e := listen(t)
	hook, before := s.hook(t, e.URL, api.WebhookBody{Events: &[]api.EventType{api.EventWaitingForApproval}})
	rotated, err := s.client.RotateWebhook(t.Context(), hook.WebhookID, api.RotateWebhookBody{})
	require.NoError(t, err)
	require.NotEqual(t, before, rotated.Secret)
	// The lane reads the webhook again within a second; a test event is signed with the
	// current secret.
	result, err := s.client.TestWebhook(t.Context(), hook.WebhookID)
	require.NoError(t, err)
	require.True(t, result.Delivered)
	call := e.wait(t, 1)[0]
	require.Equal(t, result.MessageID, call.header.Get("webhook-id"))
	require.Len(t, strings.Fields(call.header.Get("webhook-signature")), 2)
	for _, secret := range []string{before, rotated.Secret} {
		verifier, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		require.NoError(t, verifier.Verify(call.body, call.header))
		require.Error(t, verifier.Verify(append(call.body, ' '), call.header))
	}
	at, err := strconv.ParseInt(call.header.Get("webhook-timestamp"), 10, 64)
	require.NoError(t, err)
	require.InDelta(t, time.Now().Unix(), at, 60)

	long := strings.Repeat("x", api.MaxWebhookBody)
	s.approve(t, "s", api.ApprovalRequest{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{"long":"` + long + `"}`)})
	calls := e.wait(t, 2)
	require.Less(t, len(calls[1].body), 4096)
	var left struct {
		Type      string `json:"type"`
		Truncated bool   `json:"truncated"`
		Bytes     int    `json:"bytes"`
		Digest    string `json:"digest"`
		URL       string `json:"url"`
	}
	require.NoError(t, json.Unmarshal(calls[1].read(t).Data.Event, &left))
	require.True(t, left.Truncated)
	response, err := http.Get(s.URL + left.URL)
	require.NoError(t, err)
	defer response.Body.Close()
	var page []api.RunEventEntry
	require.NoError(t, json.UnmarshalRead(response.Body, &page))
	require.Len(t, page, 1)
	sum := sha256.Sum256(page[0].Event)
	require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), left.Digest)
	require.Len(t, page[0].Event, left.Bytes)
}

func TestNothingIsOwedWithoutWebhooks(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory)
	e := listen(t)
	hook, _ := s.hook(t, e.URL, api.WebhookBody{})
	require.NoError(t, s.client.RemoveWebhook(t.Context(), hook.WebhookID))
	s.approve(t, "s", api.ApprovalRequest{ID: "a", ToolName: "shell", ToolCallID: "call", Input: api.JSON(`{}`)})
	page, err := s.client.ListEffects(t.Context(), client.EffectListParams{})
	require.NoError(t, err)
	require.Empty(t, page.Items)
}

func TestHostileEndpointsAreFailuresLikeOthers(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory)
	inside := listen(t)
	for name, handler := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
		},
		"cut": func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
	} {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		hook, _ := s.hook(t, server.URL, api.WebhookBody{})
		result, err := s.client.TestWebhook(t.Context(), hook.WebhookID)
		require.NoError(t, err)
		require.False(t, result.Delivered, name)
		require.NotEmpty(t, result.Error)
		require.NotContains(t, result.Error, server.URL)
	}
	require.Empty(t, inside.types(t))
	_, err := s.client.CreateWebhook(context.WithoutCancel(t.Context()), api.WebhookBody{URL: new("http://169.254.169.254/latest")})
	require.ErrorIs(t, err, client.ErrInvalid)
}
