package channels

import (
	"cmp"
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/SherClockHolmes/webpush-go"
	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

const (
	// longestPush is how long a push service keeps a message for a browser that is offline.
	longestPush = 24 * time.Hour
	// authBytes is the length of a browser's secret.
	authBytes = 16
	// projectURL is where operators of push services can ask about messages of a service that has no
	// public URL.
	projectURL = "https://github.com/holdpoint/holdpoint"
)

// PushOptions configure the channel to browsers.
type PushOptions struct {
	// Key identifies the service. If it is nil there is no such channel.
	Key *PushKey
	// ExternalURL is the public URL of the service; empty if unknown.
	ExternalURL string
	// Client sends the messages, and CheckURL checks the URLs that browsers bring.
	Client   *egress.Client
	CheckURL func(url string) error
	NowMs    func() int64
}

// push sends to browsers: Web Push with encrypted messages (RFC 8030, 8291 and 8292).
type push struct {
	PushOptions
	contact  string
	showMore bool
}

// WithPush returns the channels of the file, which may be nil, with the channel to browsers. It
// returns an error if the file has settings for that channel and there is no key.
func WithPush(all map[string]notify.Channel, options PushOptions) (map[string]notify.Channel, error) {
	settings, configured := all[api.PushChannel].(*push)
	if options.Key == nil {
		if configured {
			return nil, errors.New("channel push: there is no push key")
		}
		return all, nil
	}
	made := &push{PushOptions: options, contact: projectURL, showMore: configured && settings.showMore}
	if strings.HasPrefix(options.ExternalURL, "https://") {
		made.contact = options.ExternalURL
	}
	with := map[string]notify.Channel{api.PushChannel: made}
	for name, channel := range all {
		if name != api.PushChannel {
			with[name] = channel
		}
	}
	return with, nil
}

// push returns the settings of the file. [WithPush] makes the channel.
func (c *channel) push() (*push, error) {
	if c.hasEmail() || c.hasHTTP() {
		return nil, errors.New("a push channel has content and nothing else")
	}
	return &push{showMore: c.Content == contentSummary}, nil
}

// subscription is the address of a browser, as JSON.
type subscription struct {
	Endpoint string `json:"endpoint"`
	P256dh   string `json:"p256dh"`
	Auth     string `json:"auth"`
}

// Kind implements notify.Channel.
func (p *push) Kind() api.ChannelKind { return api.ChannelPush }

// Summary implements notify.Channel.
func (p *push) Summary() bool { return p.showMore }

// Links implements notify.Channel.
func (p *push) Links() api.LinkMode { return api.LinkNone }

// CheckAddress implements notify.Channel. Nobody types the address of a browser.
func (p *push) CheckAddress(string) error {
	return errors.New("cannot be typed: turn on notifications in the settings of the inbox, in that browser")
}

// PublicKey implements notify.Pusher.
func (p *push) PublicKey() string { return p.Key.public }

// Endpoint implements notify.Pusher.
func (p *push) Endpoint(address string) string {
	of, err := subscriptionOf(address)
	if err != nil {
		return ""
	}
	return of.Endpoint
}

func subscriptionOf(address string) (of subscription, err error) {
	return of, json.Unmarshal([]byte(address), &of)
}

// Address implements notify.Pusher.
func (p *push) Address(body *api.PushBody, faults *refusal.Faults) string {
	if len(body.Endpoint) > api.MaxPushEndpoint {
		faults.Add("/endpoint", "must have at most %d bytes", api.MaxPushEndpoint)
	} else if err := p.CheckURL(body.Endpoint); err != nil {
		faults.Add("/endpoint", "%s", err.Error())
	}
	public, err := keyBytes(body.Keys.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(public)
	}
	if err != nil {
		faults.Add("/keys/p256dh", "must be an uncompressed P-256 public key of 65 bytes in base64url")
	}
	auth, err := keyBytes(body.Keys.Auth)
	if err != nil || len(auth) != authBytes {
		faults.Add("/keys/auth", "must have %d bytes in base64url", authBytes)
	}
	encode := base64.RawURLEncoding.EncodeToString
	text, err := json.Marshal(subscription{Endpoint: body.Endpoint, P256dh: encode(public), Auth: encode(auth)})
	if err != nil {
		faults.Add("/endpoint", "must be a text in UTF-8")
	}
	return string(text)
}

// maxKeyLength is above the length of every key in base64url.
const maxKeyLength = 100

func keyBytes(text string) ([]byte, error) {
	if len(text) > maxKeyLength {
		return nil, errors.New("too long")
	}
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
}

// declarative is a message in the form that Safari shows without the page's service worker. Other
// browsers hand it to the worker.
type declarative struct {
	WebPush      int          `json:"web_push"`
	Notification notification `json:"notification"`
}

type notification struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	// Navigate is what a click opens: a URL, or a path of the service.
	Navigate string `json:"navigate"`
	// Tag is the same for all messages about a session: the browser shows the last one.
	Tag string `json:"tag"`
	// Silent is true for a message about a settled request.
	Silent bool        `json:"silent,omitzero"`
	Data   messageData `json:"data"`
}

// messageData is for the page's service worker.
type messageData struct {
	// ID is the same for each attempt: the browser alerts once.
	ID string `json:"id"`
	// Handle is the one of an open approval, which the worker may deny. Its digest stays out: it could confirm a guess of the input.
	Handle string `json:"handle,omitzero"`
	// AtMs is when it was read what is open of the session: the browser shows the newest, in whichever order they come.
	AtMs int64 `json:"at_ms,omitzero"`
}

// declarativeVersion is the value of web_push that says what the message is.
const declarativeVersion = 8030

// Send implements notify.Channel. All messages about a session have the same topic, so that a push
// service keeps only the last one for a browser that is offline: it says how many requests are open.
func (p *push) Send(ctx context.Context, address string, m *notify.Message) error {
	return p.send(ctx, address, m, false)
}

var _ notify.Withdrawer = (*push)(nil)

// Withdraw implements notify.Withdrawer. The outcome takes the place of the notification without a sound,
// because a browser must show something of each message. The tag finds the notification, so there is no
// reference, and the next message replaces the previous one by itself.
func (p *push) Withdraw(ctx context.Context, address string, _ *notify.SentMessage, m *notify.Message) error {
	if address == "" || m == nil {
		return nil
	}
	err := p.send(ctx, address, m, true)
	if errors.Is(err, notify.ErrPermanent) {
		return nil // a browser that refuses messages does not show the one to be replaced
	}
	return err
}

func (p *push) send(ctx context.Context, address string, m *notify.Message, silent bool) error {
	to, err := subscriptionOf(address)
	if err != nil {
		return fmt.Errorf("%w: the subscription cannot be read", notify.ErrPermanent)
	}
	opens := cmp.Or(m.Link, "/"+strings.TrimPrefix(m.Path, "/"))
	topic := p.topic(cmp.Or(m.Thread, opens))
	text, err := json.Marshal(declarative{declarativeVersion, notification{
		Title: m.Subject, Body: strings.TrimSpace(m.Body), Navigate: opens, Tag: topic, Silent: silent, Data: messageData{ID: idOf(m.ID), Handle: m.Handle, AtMs: m.AtMs},
	}})
	if err != nil {
		return fmt.Errorf("%w: the message cannot be written", notify.ErrPermanent)
	}
	keepsMs := longestPush.Milliseconds()
	if m.UntilMs != 0 {
		keepsMs = min(keepsMs, max(m.UntilMs-p.NowMs(), 0))
	}
	urgency := webpush.UrgencyHigh
	if silent {
		urgency = webpush.UrgencyNormal
	}
	through := &guarded{client: p.Client}
	answer, err := webpush.SendNotificationWithContext(ctx, text, &webpush.Subscription{
		Endpoint: to.Endpoint, Keys: webpush.Keys{P256dh: to.P256dh, Auth: to.Auth},
	}, &webpush.Options{
		HTTPClient: through, Subscriber: p.contact, Topic: topic, TTL: int(keepsMs / 1000), Urgency: urgency,
		VAPIDPublicKey: p.Key.public, VAPIDPrivateKey: p.Key.private,
	})
	if err != nil {
		return pushFailure(ctx, err)
	}
	_ = answer.Body.Close() // it is empty
	return pushAnswer(through.answer)
}

// topic returns the topic of messages about a session. The key is part of it: a push service, which reads it, could confirm
// a guess of the session's id.
func (p *push) topic(about string) string { return idOf(p.Key.private + " " + about) }

// pushFailure returns an error without the URL of the browser.
func pushFailure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil && errors.Is(err, egress.ErrRefused), errors.Is(err, egress.ErrPlain):
		return refusedCall("the push service may not be called", err)
	case errors.Is(err, errSent):
		return errors.New("the push service cannot be reached")
	}
	return fmt.Errorf("%w: the message cannot be encrypted", notify.ErrPermanent)
}

func pushAnswer(answer egress.Answer) error {
	switch status := answer.Status; {
	case status == http.StatusNotFound || status == http.StatusGone:
		return fmt.Errorf("%w: status %d", notify.ErrGone, status)
	case status == http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusRequestEntityTooLarge:
		// The browser subscribed with another key, or the push service takes no such messages.
		return fmt.Errorf("%w: status %d", notify.ErrPermanent, status)
	case !answer.Taken():
		return refusalOf(answer)
	}
	return nil
}

// errSent is wrapped by errors of the call.
var errSent = errors.New("the call failed")

// guarded sends one request of the library through the guard.
type guarded struct {
	client *egress.Client
	answer egress.Answer
}

// Do sends a request. The reply has no body.
func (g *guarded) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	header := maps.Clone(r.Header)
	header.Set("User-Agent", "holdpoint")
	g.answer, err = g.client.Send(r.Context(), r.Method, r.URL.String(), header, body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSent, err)
	}
	return &http.Response{StatusCode: g.answer.Status, Body: http.NoBody}, nil
}
