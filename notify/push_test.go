package notify_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/notify/channels"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/pushpeer"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// browsers is a service that sends to browsers, with a push service.
type browsers struct {
	*service
	peer *pushpeer.Service
	key  string
}

// withBrowsers starts a service whose only channel is the one that needs no file.
func withBrowsers(t *testing.T, database string, guard egress.Guard, closed bool) *browsers {
	t.Helper()
	key, err := channels.LoadPushKey(filepath.Join(t.TempDir(), "push-key"))
	require.NoError(t, err)
	caller := egress.New(egress.Options{Guard: guard})
	t.Cleanup(caller.Close)
	with, err := channels.WithPush(nil, channels.PushOptions{
		Key: key, ExternalURL: "https://holdpoint.example", Client: caller, CheckURL: guard.CheckURL, NowMs: func() int64 { return time.Now().UnixMilli() },
	})
	require.NoError(t, err)
	b := &browsers{service: &service{database: database}, peer: pushpeer.Start(t)}
	b.log = &safeBuffer{}
	b.Service = inprocess.Start(t, database, inprocess.Options{
		Channels: with, ExternalURL: "https://holdpoint.example", WebhookGuard: guard, Closed: closed, Logger: b.log.logger(),
		Store: store.Options{NotifyAfter: time.Second, NotifyAddressed: true},
	})
	if !closed {
		b.client = b.Connect()
		b.key = b.publicKey(t, b.client)
	}
	return b
}

func (b *browsers) publicKey(t *testing.T, c *client.Client) string {
	t.Helper()
	view, err := c.GetPush(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, view.PublicKey)
	return view.PublicKey
}

// subscribed returns a new browser of a caller.
func (b *browsers) subscribed(t *testing.T, c *client.Client) *pushpeer.Browser {
	t.Helper()
	browser := b.peer.Browser(b.publicKey(t, c))
	_, err := c.SubscribePush(t.Context(), browser.Subscription())
	require.NoError(t, err)
	return browser
}

// came waits for a number of messages to a browser.
func came(t *testing.T, browser *pushpeer.Browser, count int) []pushpeer.Message {
	t.Helper()
	eventually(t, "the message", func() bool { return len(browser.Messages()) == count })
	return browser.Messages()
}

// A person who turned on notifications in two browsers gets one message in each, which opens the
// request and has nothing of its input.
func TestBrowsersAreTold(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := withBrowsers(t, database, loopback, false)
		before := raise(t, s.client, "before", "a")
		effects, err := s.client.ListEffects(t.Context(), client.EffectListParams{})
		require.NoError(t, err)
		require.Empty(t, effects.Items, "nobody is to be told: a request costs nothing more")

		phone, laptop := s.subscribed(t, s.client), s.subscribed(t, s.client)
		runID := raise(t, s.client, "s", "b")
		message := came(t, phone, 1)[0]
		came(t, laptop, 1)
		run, err := s.client.GetRun(t.Context(), runID)
		require.NoError(t, err)
		require.Equal(t, "Approval needed: deploy  Bcc: eve@example.com", message.Title)
		require.Equal(t, "Agent coder wants to use deploy  Bcc: eve@example.com.", message.Body)
		require.Equal(t, "https://holdpoint.example/?prompt="+run.PendingApprovals[0].Handle, message.Navigate)
		require.Equal(t, run.PendingApprovals[0].Handle, message.Data.Handle, "the browser may deny it")
		require.Equal(t, "high", message.Urgency)
		require.EqualValues(t, 24*60*60, message.TTLSeconds)
		require.NotContains(t, message.Text, "hunter2")
		require.NotContains(t, message.Text, "sha256")
		require.Equal(t, message.Topic, laptop.Messages()[0].Topic)
		require.NotEmpty(t, message.Topic)
		require.Contains(t, s.events(t, runID), "request_notified")
		require.NotContains(t, s.events(t, before), "request_notified")

		// Another request has another topic, and its deadline bounds how long it is kept.
		suspension := &api.Suspension{Approvals: []api.ApprovalRequest{{ID: "c", ToolName: "x", ToolCallID: "c", Input: api.JSON(`1`), ExpiresAfterMs: new(int64(600_000))}}}
		_, err = s.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s2", AgentID: "coder", Input: 1, Suspend: suspension})
		require.NoError(t, err)
		next := came(t, phone, 2)[1]
		require.NotEqual(t, message.Topic, next.Topic)
		require.Greater(t, next.TTLSeconds, int64(500))
		require.Less(t, next.TTLSeconds, int64(600))
		require.Contains(t, next.Body, "Deadline: ")

		// The owner of the addresses sees the URLs alone, and nobody else sees anything.
		view, err := s.client.GetPush(t.Context())
		require.NoError(t, err)
		require.Len(t, view.Data, 2)
		text, err := json.Marshal(view)
		require.NoError(t, err)
		require.NotContains(t, string(text), phone.Subscription().Keys.Auth)
		require.NotContains(t, s.log.text(), s.peer.URL)
		ofPhone := slices.IndexFunc(view.Data, func(a api.Address) bool { return a.Address == phone.Subscription().Endpoint })
		require.NoError(t, s.client.RemoveAddress(t.Context(), view.Data[ofPhone].AddressID))
		raise(t, s.client, "s3", "d")
		came(t, laptop, 3)
		require.Len(t, phone.Messages(), 2)
		s.healthy(t)
	})
}

// A push service keeps a message for a day at most, however far the deadline is.
func TestAFarDeadlineIsKeptForADay(t *testing.T) {
	t.Parallel()
	s := withBrowsers(t, inprocess.Memory, loopback, false)
	phone := s.subscribed(t, s.client)
	_, err := s.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", AgentID: "coder", Input: 1, Suspend: &api.Suspension{
		Approvals: []api.ApprovalRequest{{ID: "a", ToolName: "x", ToolCallID: "a", Input: api.JSON(`1`), ExpiresAtMs: new(int64(api.MaxTimeMs))}},
	}})
	require.NoError(t, err)
	require.EqualValues(t, 24*60*60, came(t, phone, 1)[0].TTLSeconds)
}

// A browser that unsubscribed is removed, and the person who has no other is not reached: an event.
func TestBrowsersThatAreGone(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := withBrowsers(t, database, loopback, false)
		old, laptop := s.subscribed(t, s.client), s.subscribed(t, s.client)
		old.Answers(http.StatusGone)
		raise(t, s.client, "s", "a")
		came(t, laptop, 1)
		eventually(t, "the browser is removed", func() bool {
			view, err := s.client.GetPush(t.Context())
			require.NoError(t, err)
			return len(view.Data) == 1 && view.Data[0].Address == laptop.Subscription().Endpoint
		})
		laptop.Answers(http.StatusNotFound)
		runID := raise(t, s.client, "s2", "b")
		eventually(t, "the failure is an event", func() bool { return slices.Contains(s.events(t, runID), "notification_failed") })
		view, err := s.client.GetPush(t.Context())
		require.NoError(t, err)
		require.Empty(t, view.Data)
		shown, err := s.client.ListChannels(t.Context())
		require.NoError(t, err)
		require.Equal(t, []api.Channel{{
			Name: api.PushChannel, Kind: api.ChannelPush, Failed: 1, LastError: "given up: the address does not exist any more: status 404",
		}}, shown.Data)
		s.healthy(t)
	})
}

// The outcome takes the place of the notifications in every browser that was told, without a sound. A browser
// that is gone, or subscribed with another key, does not matter.
func TestSettledRequestsReplaceTheirNotifications(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := withBrowsers(t, database, loopback, false)
		gone, refusing, phone, laptop := s.subscribed(t, s.client), s.subscribed(t, s.client), s.subscribed(t, s.client), s.subscribed(t, s.client)
		refusing.Answers(http.StatusForbidden)
		runID := raise(t, s.client, "s", "a", "b")
		came(t, gone, 2)
		open := came(t, phone, 2)
		came(t, laptop, 2)
		gone.Answers(http.StatusGone)
		s.resolve(t, s.client, runID, api.BehaviorDeny, "a")
		settled := came(t, phone, 3)[2]
		came(t, laptop, 3)
		require.True(t, settled.Silent)
		require.False(t, open[0].Silent)
		require.Equal(t, "normal", settled.Urgency)
		require.Equal(t, open[0].Topic, open[1].Topic, "a session has one notification")
		both := slices.IndexFunc(open, func(m pushpeer.Message) bool { return m.Title == "2 requests are open" })
		require.GreaterOrEqual(t, both, 0)
		require.Equal(t, "https://holdpoint.example/sessions/s", open[both].Navigate)
		require.Empty(t, open[both].Data.Handle, "it denies neither")
		require.Contains(t, open[both].Body, "wants to use deploy")
		run, err := s.client.GetRun(t.Context(), runID)
		require.NoError(t, err)
		left := run.PendingApprovals[0].Handle
		require.Equal(t, "1 request is open", settled.Title)
		require.Contains(t, settled.Body, "denied by user:local")
		require.Equal(t, "https://holdpoint.example/?prompt="+left, settled.Navigate)
		require.Empty(t, settled.Data.Handle)
		require.GreaterOrEqual(t, settled.Data.AtMs, open[both].Data.AtMs)
		require.Equal(t, open[0].Topic, settled.Topic)
		require.Equal(t, settled.Topic, settled.Tag)
		require.NotContains(t, settled.Text, "hunter2")
		eventually(t, "nothing is left to send", func() bool {
			pending, err := s.client.ListEffects(t.Context(), client.EffectListParams{State: api.EffectPending, WebhookID: model.NoticeWebhookID(api.PushChannel)})
			require.NoError(t, err)
			return len(pending.Items) == 0
		})
		failed, err := s.client.ListEffects(t.Context(), client.EffectListParams{State: api.EffectFailed, WebhookID: model.NoticeWebhookID(api.PushChannel)})
		require.NoError(t, err)
		require.Empty(t, failed.Items, "its person was told in the other browsers")
		s.resolve(t, s.client, runID, api.BehaviorDeny, "b")
		last := came(t, phone, 4)[3]
		require.Equal(t, "Approval of deploy  Bcc: eve@example.com: denied", last.Title)
		require.Equal(t, settled.Topic, last.Topic)
		s.healthy(t)
	})
}

// A push service that hangs or fails holds up no other browser, and is asked again.
func TestAPushServiceThatFails(t *testing.T) {
	t.Parallel()
	s := withBrowsers(t, inprocess.Memory, loopback, true)
	_, ada := s.as(t, api.CreateTokenBody{Name: "ada", Role: api.RoleAdmin})
	_, ben := s.as(t, api.CreateTokenBody{Name: "ben", Role: api.RoleAdmin})
	hanging, phone := s.subscribed(t, ada), s.subscribed(t, ada)
	hanging.Hangs(true)
	failing := s.subscribed(t, ben)
	failing.Answers(http.StatusInternalServerError)
	raise(t, ada, "s", "a")
	came(t, phone, 1)
	eventually(t, "it is to be tried again", func() bool {
		pending, err := ada.ListEffects(t.Context(), client.EffectListParams{State: api.EffectPending, WebhookID: model.NoticeWebhookID(api.PushChannel)})
		require.NoError(t, err)
		return slices.ContainsFunc(pending.Items, func(e api.EffectView) bool { return e.LastError == "status 500" })
	})
	failing.Answers(0)
	came(t, failing, 1)
	require.Len(t, phone.Messages(), 1)
}

// A browser belongs to the person who turned notifications on there last.
func TestABrowserIsOfOnePerson(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := withBrowsers(t, database, loopback, true)
		_, ada := s.as(t, api.CreateTokenBody{Name: "ada", Role: api.RoleOperator})
		_, ben := s.as(t, api.CreateTokenBody{Name: "ben", Role: api.RoleOperator})
		shared := s.subscribed(t, ada)
		added, err := ben.SubscribePush(t.Context(), shared.Subscription())
		require.NoError(t, err)
		view, err := ada.GetPush(t.Context())
		require.NoError(t, err)
		require.Empty(t, view.Data)
		require.ErrorIs(t, ada.RemoveAddress(t.Context(), added.AddressID), client.ErrNotFound)
		again, err := ben.SubscribePush(t.Context(), shared.Subscription())
		require.NoError(t, err)
		require.Equal(t, added, again)
		for range api.MaxAddresses - 1 {
			s.subscribed(t, ben)
		}
		_, err = ben.SubscribePush(t.Context(), s.peer.Browser("").Subscription())
		require.ErrorContains(t, err, string(api.CodeTooManyAddresses))
		_, err = ben.SubscribePush(t.Context(), shared.Subscription())
		require.NoError(t, err, "one that is there")
	})
}

// What a page brings is checked, and the guard of webhooks holds for it.
func TestSubscriptionsAreChecked(t *testing.T) {
	t.Parallel()
	s := withBrowsers(t, inprocess.Memory, egress.Guard{}, false)
	good := s.peer.Browser(s.key).Subscription()
	for name, change := range map[string]func(*api.PushBody){
		"/endpoint: inside":      func(b *api.PushBody) { b.Endpoint = "https://169.254.169.254/latest" },
		"/endpoint: this one":    func(*api.PushBody) {},
		"/endpoint: long":        func(b *api.PushBody) { b.Endpoint = "https://push.example/" + strings.Repeat("x", api.MaxPushEndpoint) },
		"/endpoint: a script":    func(b *api.PushBody) { b.Endpoint = "javascript:alert(1)" },
		"/endpoint: a password":  func(b *api.PushBody) { b.Endpoint = "https://ada:secret@push.example/1" },
		"/keys/p256dh: short":    func(b *api.PushBody) { b.Keys.P256dh = b.Keys.P256dh[:40] },
		"/keys/p256dh: no point": func(b *api.PushBody) { b.Keys.P256dh = "BA" + strings.Repeat("A", 85) },
		"/keys/p256dh: long":     func(b *api.PushBody) { b.Keys.P256dh = strings.Repeat("B", 1<<16) },
		"/keys/auth: short":      func(b *api.PushBody) { b.Keys.Auth = "AAAA" },
		"/keys/auth: no base64":  func(b *api.PushBody) { b.Keys.Auth = "!" },
	} {
		body := good
		if !strings.HasSuffix(name, "this one") {
			body.Endpoint = "https://push.example/1"
		}
		change(&body)
		_, err := s.client.SubscribePush(t.Context(), body)
		var refused *client.Error
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, api.CodeInvalidRequest, refused.Code, name)
		pointer, _, _ := strings.Cut(name, ":")
		require.Equal(t, pointer, refused.Faults[0].Pointer, name)
	}
	// A name that resolves to an address inside is refused when it is called.
	body := good
	body.Endpoint = strings.Replace(strings.Replace(good.Endpoint, "http:", "https:", 1), "127.0.0.1", "localhost", 1)
	_, err := s.client.SubscribePush(t.Context(), body)
	require.NoError(t, err)
	raise(t, s.client, "s", "a")
	eventually(t, "the guard refuses", func() bool {
		pending, err := s.client.ListEffects(t.Context(), client.EffectListParams{State: api.EffectPending, WebhookID: model.NoticeWebhookID(api.PushChannel)})
		require.NoError(t, err)
		return len(pending.Items) == 1 && pending.Items[0].LastError == "the push service may not be called; see --webhook-allow"
	})
}

// The key of a service is made once.
func TestPushKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "push-key")
	made, err := channels.LoadPushKey(path)
	require.NoError(t, err)
	again, err := channels.LoadPushKey(path)
	require.NoError(t, err)
	require.Equal(t, made, again)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	for _, text := range []string{"", "not a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := channels.LoadPushKey(path)
		require.ErrorContains(t, err, "push key: "+path)
	}

	// The file of channels may say what messages show; then a key is needed.
	file := filepath.Join(t.TempDir(), "channels.yaml")
	write := func(text string) (map[string]notify.Channel, error) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return channels.Load(file, nil)
	}
	loaded, err := write("channels: {push: {kind: push, content: summary}}")
	require.NoError(t, err)
	_, err = channels.WithPush(loaded, channels.PushOptions{})
	require.ErrorContains(t, err, "push")
	loaded, err = channels.WithPush(loaded, channels.PushOptions{Key: made})
	require.NoError(t, err)
	require.True(t, loaded[api.PushChannel].Summary())
	for _, text := range []string{
		"channels: {other: {kind: push}}", "channels: {push: {kind: http, url: 'https://example.com'}}", "channels: {push: {kind: push, url: 'https://example.com'}}",
	} {
		_, err = write(text)
		require.Error(t, err, text)
	}
}
