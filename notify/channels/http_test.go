package channels

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// A template has the id by which a receiver recognizes a repeated message, and cannot replace the header.
func TestTheIDOfAMessage(t *testing.T) {
	t.Parallel()
	given := &channel{Kind: api.ChannelHTTP, URL: "https://chat.example/send/{{.ID}}", Body: `{"nonce": {{json .ID}}}`}
	made, err := given.http("", nil)
	require.NoError(t, err)
	for _, link := range []string{"https://holdpoint.example/l/1", "https://holdpoint.example/l/2"} {
		to, header, body, err := made.request("ada", made.body, &notify.Message{ID: "notify:ops:1", Link: link})
		require.NoError(t, err)
		id := header.Get("Idempotency-Key")
		require.Regexp(t, "^[0-9a-f]{32}$", id)
		require.Equal(t, "https://chat.example/send/"+id, to)
		require.JSONEq(t, `{"nonce": "`+id+`"}`, string(body))
	}
	given.Headers = map[string]string{"idempotency-key": "{{.Link}}"}
	_, err = given.http("", nil)
	require.EqualError(t, err, "headers: the service sets Idempotency-Key; a template has the id of the message as {{.ID}}")
}

// An address stays below the operator's path.
func TestAnAddressLeadsToNoOtherPath(t *testing.T) {
	t.Parallel()
	made, err := (&channel{Kind: api.ChannelHTTP, URL: "https://host.example/hooks/{{path .Address}}"}).http("", nil)
	require.NoError(t, err)
	for _, address := range []string{".", ".."} {
		require.Error(t, made.CheckAddress(address), address)
		require.ErrorIs(t, made.Send(t.Context(), address, &notify.Message{ID: "m"}), notify.ErrPermanent, address)
	}
	for address, segment := range map[string]string{"%2e%2e": "%252e%252e", "../admin": "..%2Fadmin", "...": "...", ".ada": ".ada", "ada?x#y": "ada%3Fx%23y"} {
		require.NoError(t, made.CheckAddress(address), address)
		to, _, _, err := made.request(address, made.body, &notify.Message{ID: "m"})
		require.NoError(t, err)
		require.Equal(t, "https://host.example/hooks/"+segment, to)
	}
}

// A receiver is told the outcome by the id of the message, in a request that it cannot take for a repetition of it.
func TestAReceiverIsToldTheOutcome(t *testing.T) {
	t.Parallel()
	type request struct{ path, key, body string }
	requests := make(chan request, 1)
	var status atomic.Int32
	status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		requests <- request{r.URL.Path, r.Header.Get(idempotencyKey), string(body)}
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(server.Close)
	client := egress.New(egress.Options{Guard: toLoopback})
	t.Cleanup(client.Close)
	given := &channel{Kind: api.ChannelHTTP, URL: server.URL + "/{{path .Address}}", Body: "{{.ID}} {{.Kind}}", SettledBody: "{{.ID}} {{.Kind}} {{.Text}}", Links: api.LinkNone}
	made, err := given.make("", client)
	require.NoError(t, err)
	require.NoError(t, made.Send(t.Context(), "ada", &notify.Message{ID: "m", Kind: "approval"}))
	first := <-requests
	require.Equal(t, request{"/ada", idOf("m"), idOf("m") + " approval"}, first)

	settles, is := made.(notify.Withdrawer)
	require.True(t, is)
	sent := &notify.SentMessage{MessageID: "m"}
	settled := &notify.Message{ID: "request", Kind: notify.KindSettled, Body: "Approval of x: denied", Text: "Approval of x: denied https://holdpoint.example", Link: "https://holdpoint.example"}
	require.NoError(t, settles.Withdraw(t.Context(), "ada", sent, settled))
	outcome := <-requests
	require.Equal(t, request{"/ada", outcome.key, idOf("m") + " settled Approval of x: denied"}, outcome, "the channel has no links")
	require.NoError(t, settles.Withdraw(t.Context(), "ada", sent, nil))
	replaced := <-requests
	require.Equal(t, idOf("m")+" settled A newer message follows.\n", replaced.body)
	require.Len(t, map[string]bool{first.key: true, outcome.key: true, replaced.key: true}, 3)
	require.NoError(t, settles.Withdraw(t.Context(), "", sent, settled), "the person has removed the address")
	require.Empty(t, requests)
	for code, failure := range map[int32]string{http.StatusNotFound: "", http.StatusGone: "", http.StatusBadGateway: "status 502"} {
		status.Store(code)
		err := settles.Withdraw(t.Context(), "ada", sent, settled)
		require.Equal(t, failure != "", err != nil, "a message that is gone needs no withdrawal: %d %v", code, err)
		<-requests
	}

	given.SettledBody = ""
	made, err = given.make("", client)
	require.NoError(t, err)
	_, is = made.(notify.Withdrawer)
	require.False(t, is)
	given.SettledBody = "{{.Nothing}}"
	_, err = given.make("", client)
	require.Error(t, err)
}

// A receiver that answers with success counts as reached only if its answer does not say the contrary. It costs little,
// whatever it answers, and leads nowhere else.
func TestAnswersOfReceivers(t *testing.T) {
	t.Parallel()
	var followed atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	t.Cleanup(elsewhere.Close)
	client := egress.New(egress.Options{Guard: toLoopback})
	t.Cleanup(client.Close)
	const refused = "status 200, and ok is false in the answer"
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"nothing":          {says(""), ""},
		"text":             {says("ok"), ""},
		"ok":               {says(`{"ok":true,"result":{}}`), ""},
		"another ok":       {says(`{"ok":"no"}`), ""},
		"an error of old":  {says(`{"result":{"ok":false}}`), ""},
		"a refusal":        {says(` {"ok": false, "error": "channel_not_found"}`), refused},
		"10 MB":            {says(`{"ok":true,"x":"` + strings.Repeat("x", 10<<20) + `"}`), ""},
		"10 MB of refusal": {says(`{"ok":false,"x":"` + strings.Repeat("x", 10<<20) + `"}`), refused},
		"a long refusal":   {says(`{"x":["` + strings.Repeat("x", 8<<10) + `"],"ok":false,"y":"` + strings.Repeat("y", 16<<10) + `"}`), refused},
		"a double refusal": {says(`{"ok":true,"ok":false}`), refused},
		"a cut name":       {says(`{"ok`), ""},
		"no object":        {says(`["ok",false]`), ""},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "status 307"},
		"a pause of a day": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "status 429: the receiver asks for a pause"},
		"gone": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }, "given up: status 410"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(c.answer))
			t.Cleanup(server.Close)
			made, err := (&channel{Kind: api.ChannelHTTP, URL: server.URL}).http("", client)
			require.NoError(t, err)
			err = made.Send(t.Context(), "ada", &notify.Message{})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
			pause := (*runs.RetryAfterError)(nil)
			require.Equal(t, strings.Contains(c.want, "pause"), errors.As(err, &pause))
			if pause != nil {
				require.Equal(t, (24 * time.Hour).Milliseconds(), pause.Ms)
			}
			require.NotErrorIs(t, err, egress.ErrRefused)
		})
	}
	t.Cleanup(func() { require.False(t, followed.Load()) })
}

// A refusal names the flag that allows an address, unless no flag would help.
func TestWhyAnAddressMayNotBeCalled(t *testing.T) {
	t.Parallel()
	for want, guard := range map[string]egress.Guard{
		"the address may not be called; see --webhook-allow":                          {Own: func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil }},
		"the address may not be called: the addresses of this machine cannot be read": {Own: func() ([]netip.Addr, error) { return nil, errors.New("no netlink") }},
	} {
		client := egress.New(egress.Options{Guard: guard})
		t.Cleanup(client.Close)
		made, err := (&channel{Kind: api.ChannelHTTP, URL: "https://93.184.216.34/"}).http("", client)
		require.NoError(t, err)
		require.EqualError(t, made.Send(t.Context(), "ada", &notify.Message{}), want)
	}
}

// What an agent names reaches no other header, and an address that could is refused.
func TestHostileMails(t *testing.T) {
	t.Parallel()
	for address, fits := range map[string]bool{
		"ada@example.com": true, "ada+pager@example.com": true, "o'neil@example.com": true, "a.b-c_d@sub.example.co.uk": true,
		`"ada"@example.com`: false, `"a b"@example.com`: false, "ada@example.com, eve@example.com": false, "Ada <ada@example.com>": false,
		"ada@example.com\r\nBcc: eve@example.com": false, "ada@example.com\n": false, "ada": false, "ada@": false, "@example.com": false, "": false, "ada@exa mple.com": false,
	} {
		require.Equal(t, fits, (&email{}).CheckAddress(address) == nil, address)
	}
}
