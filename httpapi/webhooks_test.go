package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/v1/hooks"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/webhooks"
	"github.com/holdpoint/holdpoint/webhooks/deliver"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

type webhookStore interface {
	deliver.Store
	webhooks.Store
}

// newWebhooks returns the dependencies of the webhook routes. Only test messages are delivered.
func newWebhooks(tb testing.TB, store webhookStore, sealer webhooks.Sealer) *hooks.Service {
	tb.Helper()
	guard := egress.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	caller := egress.New(egress.Options{Guard: guard})
	tb.Cleanup(caller.Close)
	manager := webhooks.NewManager(webhooks.Options{
		Store: store, Sealer: sealer, CheckURL: guard.CheckURL, NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() },
	})
	deliverer := deliver.New(store, deliver.Options{Manager: manager, Client: caller})
	return &hooks.Service{
		Manager: manager,
		// No reply depends on a read after the commit.
		Changed: func(context.Context) error { return runs.ErrUnavailable },
		Test: func(ctx context.Context, e *webhooks.Endpoint) (api.WebhookTest, error) {
			return deliverer.Test(ctx, e, runs.NewID)
		},
	}
}

func testWebhooks(t *testing.T, a *rig) {
	parallel(t, "the life of a webhook", func(t *testing.T) {
		var status atomic.Int64
		status.Store(http.StatusNoContent)
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
		t.Cleanup(endpoint.Close)
		made := a.post(t, "/v1/webhooks", fmt.Sprintf(`{"url":%q,"kinds":["approval"],"session_prefixes":["nothing."],"description":"pager"}`, endpoint.URL)).want(http.StatusCreated)
		secret, _ := made.at("secret").(string)
		require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, secret)
		id, _ := made.at("webhook", "webhook_id").(string)
		require.Equal(t, "/v1/webhooks/"+id, made.header.Get("Location"))
		shown := a.get(t, "/v1/webhooks/"+id).want(http.StatusOK)
		require.Equal(t, true, shown.at("enabled"))
		require.Equal(t, "standard", shown.at("format"))
		require.NotContains(t, shown.text, "whsec_")
		listed := a.get(t, "/v1/webhooks").want(http.StatusOK)
		require.Contains(t, listed.text, id)
		require.NotContains(t, listed.text, "whsec_")

		changed := a.post(t, "/v1/webhooks/"+id, `{"format":"cloudevents","max_concurrency":9,"kinds":[]}`).want(http.StatusOK)
		require.Equal(t, "cloudevents", changed.at("format"))
		require.Equal(t, "pager", changed.at("description"))
		require.Equal(t, []any{}, changed.at("kinds"))
		require.Equal(t, []any{"nothing."}, changed.at("session_prefixes"))
		off := a.post(t, "/v1/webhooks/"+id, `{"enabled":false}`).want(http.StatusOK)
		require.Equal(t, "disabled", off.at("disabled_reason"))
		require.Nil(t, a.post(t, "/v1/webhooks/"+id, `{"enabled":true}`).want(http.StatusOK).at("disabled_at_ms"))

		rotated := a.post(t, "/v1/webhooks/"+id+"/rotate", `{"grace_ms":60000}`).want(http.StatusOK)
		require.NotEqual(t, secret, rotated.at("secret"))
		require.NotNil(t, rotated.at("webhook", "previous_until_ms"))
		require.Nil(t, a.post(t, "/v1/webhooks/"+id+"/rotate", `{"grace_ms":0}`).want(http.StatusOK).at("webhook", "previous_until_ms"))
		a.post(t, "/v1/webhooks/"+id+"/rotate", `{"grace_ms":-1}`, unchecked()).refused(api.CodeInvalidRequest).pointer("/grace_ms")

		require.Equal(t, true, a.post(t, "/v1/webhooks/"+id+"/test", `{}`).want(http.StatusOK).at("delivered"))
		status.Store(http.StatusTeapot)
		refused := a.post(t, "/v1/webhooks/"+id+"/test", `{}`).want(http.StatusOK)
		require.Equal(t, false, refused.at("delivered"))
		require.Equal(t, "status 418", refused.at("error"))
		require.Equal(t, "0", fmt.Sprint(a.post(t, "/v1/webhooks/"+id+"/replay", `{}`).want(http.StatusOK).at("replayed")))
		a.get(t, "/v1/effects?webhook_id="+id).want(http.StatusOK)

		a.do(t, http.MethodDelete, "/v1/webhooks/"+id, "").want(http.StatusNoContent)
		a.get(t, "/v1/webhooks/"+id).refused(api.CodeWebhookNotFound)
		a.do(t, http.MethodDelete, "/v1/webhooks/"+id, "").refused(api.CodeWebhookNotFound)
	})
	parallel(t, "bodies of webhooks that are refused", func(t *testing.T) {
		for body, pointer := range map[string]string{
			`{}`: "/url", `{"url":"example.com"}`: "/url", `{"url":"https://u:p@example.com"}`: "/url", `{"url":"http://10.0.0.1/"}`: "/url",
			`{"url":"https://example.com","events":[""]}`: "/events/0",
			`{"url":"https://example.com:0/"}`:            "/url", `{"url":"https://:443/"}`: "/url", `{"url":"https://example..com"}`: "/url",
			`{"url":"https://example.com","events":["completed","waiting_for_aproval"]}`:                  "/events/1",
			`{"url":"https://example.com","events":["snapshot"],"kinds":["worker"]}`:                      "/events/0",
			`{"url":"https://example.com","events":["approval_resolved","output"],"kinds":["approval"]}`:  "/events/1",
			`{"url":"https://example.com","events":["approval_resolved","my_step"],"kinds":["worker"]}`:   "/events/0",
			`{"url":"https://example.com","events":["approval_resolved","my_step"],"kinds":["approval"]}`: "/events/1",
			`{"url":"https://example.com","kinds":["approval","approvals"]}`:                              "/kinds/1",
			`{"url":"https://example.com","agent_ids":["a b"]}`:                                           "/agent_ids/0",
			`{"url":"https://example.com","session_prefixes":["/"]}`:                                      "/session_prefixes/0",
			`{"url":"https://example.com","format":"xml"}`:                                                "/format",
			`{"url":"https://example.com","max_concurrency":33}`:                                          "/max_concurrency",
			`{"url":"https://example.com","max_concurrency":0}`:                                           "/max_concurrency",
			`{"url":"https://` + strings.Repeat("x", api.MaxWebhookURL) + `/"}`:                           "/url",
		} {
			a.post(t, "/v1/webhooks", body, unchecked()).refused(api.CodeInvalidRequest).pointer(pointer)
		}
	})
	parallel(t, "a type of event that kinds leave out would never be delivered", func(t *testing.T) {
		made := a.post(t, "/v1/webhooks", `{"url":"https://example.com","events":["output","completed","my_step"],"kinds":["worker","run"]}`).want(http.StatusCreated)
		path := "/v1/webhooks/" + made.textAt("webhook", "webhook_id")
		refused := a.post(t, path, `{"kinds":["run"]}`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/kinds")
		require.Len(t, refused.list("errors"), 2, refused.text)
		a.post(t, path, `{"kinds":["run"],"events":["completed"]}`).want(http.StatusOK)
		a.post(t, path, `{"description":"as before"}`).want(http.StatusOK)
		a.post(t, path, `{"kinds":[],"events":["output"]}`).want(http.StatusOK)
		a.do(t, http.MethodDelete, path, "").want(http.StatusNoContent)
	})
	parallel(t, "events about notifications are of the service", func(t *testing.T) {
		const events = `"events":["request_notified","notification_failed","request_acknowledged"]`
		made := a.post(t, "/v1/webhooks", `{"url":"https://example.com",`+events+`}`).want(http.StatusCreated)
		path := "/v1/webhooks/" + made.textAt("webhook", "webhook_id")
		a.post(t, path, `{"kinds":["run"]}`).want(http.StatusOK)
		a.post(t, path, `{"kinds":["worker"]}`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/kinds")
		a.do(t, http.MethodDelete, path, "").want(http.StatusNoContent)
	})
	parallel(t, "without a key there is no webhook", func(t *testing.T) {
		kept, keeps := a.store.(webhookStore)
		require.True(t, keeps)
		plain := serve(t, a.store, a.contract, func(o *httpapi.Options) {
			o.Sealer = nil
			o.Webhooks = newWebhooks(t, kept, nil)
		})
		plain.post(t, "/v1/webhooks", `{"url":"https://example.com"}`).refused(api.CodeSecretsNotConfigured)
		plain.post(t, "/v1/webhooks/webhook_1/rotate", `{}`).refused(api.CodeSecretsNotConfigured)
	})
}

// testTooManyWebhooks has its own service.
func testTooManyWebhooks(t *testing.T, a *rig) {
	t.Helper()
	for range api.MaxWebhooks {
		a.post(t, "/v1/webhooks", `{"url":"https://example.com","enabled":false}`).want(http.StatusCreated)
	}
	a.post(t, "/v1/webhooks", `{"url":"https://example.com"}`).refused(api.CodeTooManyWebhooks)
}
