package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// fakeChannel keeps the last message to each address.
type fakeChannel struct {
	mu   sync.Mutex
	sent map[string]*notify.Message
}

func (c *fakeChannel) Kind() api.ChannelKind { return api.ChannelHTTP }
func (c *fakeChannel) Summary() bool         { return false }

func (c *fakeChannel) Links() api.LinkMode { return api.LinkSignIn }

func (c *fakeChannel) CheckAddress(address string) error {
	if strings.Contains(address, " ") {
		return errors.New("must have no spaces")
	}
	return nil
}

func (c *fakeChannel) Send(_ context.Context, address string, m *notify.Message) error {
	if strings.HasPrefix(address, "unreachable") {
		return errors.New("the receiver cannot be reached")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent[address] = m
	return nil
}

func (c *fakeChannel) last(address string) *notify.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent[address]
}

// fakePusher is the channel to browsers. It takes every endpoint of the public internet.
type fakePusher struct{ fakeChannel }

func (*fakePusher) Kind() api.ChannelKind          { return api.ChannelPush }
func (*fakePusher) CheckAddress(string) error      { return errors.New("cannot be typed") }
func (*fakePusher) PublicKey() string              { return "BPublicKey" }
func (*fakePusher) Endpoint(address string) string { return address }

func (*fakePusher) Address(body *api.PushBody, faults *refusal.Faults) string {
	if !strings.HasPrefix(body.Endpoint, "https://") {
		faults.Add("/endpoint", "must begin with https://")
	}
	return body.Endpoint
}

// newNotify returns the service for the routes of addresses, with the channels "mail" and "push".
func newNotify(store notify.Store, reader runs.Store, channel notify.Channel) *notify.Service {
	return notify.New(notify.Options{
		Store: store, Reader: reader, Channels: map[string]notify.Channel{
			"mail": channel, api.PushChannel: &fakePusher{fakeChannel{sent: map[string]*notify.Message{}}},
		},
		NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() },
		Deciders: func(context.Context, *model.Run, *model.Request) ([]string, error) { return nil, nil },
		Reach:    func(context.Context, string) ([]reads.Scope, error) { return nil, nil },
		Logger:   slog.New(slog.DiscardHandler),
		// No reply depends on a read after the commit.
		Changed: func(context.Context) error { return runs.ErrUnavailable },
	})
}

// testAddressesOfBounds checks that a bound token does not get the messages about what only other tokens of its person reach.
func testAddressesOfBounds(t *testing.T, a *rig, keyring *auth.Keyring, store runs.Store) {
	bound := func(principal, name string, prefixes, agents []string) string {
		_, secret := token(t, keyring, api.CreateTokenBody{Name: name, Role: api.RoleOperator, Principal: principal, SessionPrefixes: prefixes, AgentIDs: agents})
		return secret
	}
	add := func(secret string) *reply {
		return a.post(t, "/v1/me/addresses", `{"channel":"mail","address":"`+a.name("bounds")+`"}`, bearer(secret))
	}
	narrow := bound("user:bounds", "ci", []string{"ci:"}, []string{"coder"})
	add(narrow).want(http.StatusCreated)
	for name, secret := range map[string]string{
		"narrower": bound("user:bounds", "nightly", []string{"ci:nightly"}, []string{"coder"}), "an agent": bound("user:coder", "coder", nil, []string{"coder"}),
		"no bounds": bound("user:all", "all", nil, nil),
	} {
		wanted := http.StatusCreated
		if name == "narrower" {
			wanted = http.StatusForbidden
		}
		require.Equal(t, wanted, add(secret).status, name)
	}
	add(narrow).want(http.StatusCreated)

	wider, _ := token(t, keyring, api.CreateTokenBody{Name: "laptop", Role: api.RoleOperator, Principal: "user:bounds", SessionPrefixes: []string{"ci:"}})
	refused := add(narrow).refused(api.CodeForbidden)
	require.Contains(t, refused.text, "another token of user:bounds reaches more")
	a.post(t, pushPath, subscription("https://push.example/"+a.name("bounds")), bearer(narrow)).refused(api.CodeForbidden)
	require.NoError(t, keyring.Revoke(t.Context(), wider, true))
	add(narrow).want(http.StatusCreated)
	a.post(t, pushPath, subscription("https://push.example/"+a.name("bounds")), bearer(narrow)).want(http.StatusCreated)

	other := bound("user:teams", "b", []string{"b:"}, nil)
	add(other).want(http.StatusCreated)
	add(bound("user:teams", "a", []string{"a:"}, nil)).refused(api.CodeForbidden)
	add(other).refused(api.CodeForbidden)
	add(bound("user:teams", "both", []string{"a:", "b:"}, nil)).want(http.StatusCreated)

	// An identity of an issuer is still sent messages a day after its last use, when links do not decide by it.
	yesterday := time.Now().UnixMilli() - auth.MaxIssuedSignInMs
	earlier := auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Required, Issuer: true, NewID: runs.NewID, NowMs: func() int64 { return yesterday }})
	_, _, err := earlier.SignInByIssuer(t.Context(), &auth.Assertion{
		By: auth.ByIssuer, Subject: "bounds", Name: "bounds", Principal: "user:bounds", Role: api.RoleOperator, IssuedAtMs: yesterday, ExpiresAtMs: yesterday + 1,
	})
	require.NoError(t, err)
	add(narrow).refused(api.CodeForbidden)
}

// testNotifications tests the routes of addresses and channels. All callers share the same addresses.
func testNotifications(t *testing.T, a *rig) {
	browsers(t, a)
	address := a.name("ada")
	added := a.post(t, "/v1/me/addresses", `{"channel":"mail","address":"`+address+`"}`).want(http.StatusCreated)
	require.Nil(t, added.at("verified_at_ms"))
	a.post(t, "/v1/me/addresses", `{"channel":"mail","address":"`+address+`"}`).refused(api.CodeTooManyCodes)
	a.post(t, "/v1/me/addresses", `{"channel":"pager","address":"x"}`).refused(api.CodeChannelUnknown)
	a.post(t, "/v1/me/addresses", `{"channel":"push","address":"https://push.example/1"}`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/address")
	a.post(t, "/v1/me/addresses", `{"channel":"mail","address":"a b"}`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/address")
	a.post(t, "/v1/me/addresses", `{"channel":"mail","address":"`+a.name("unreachable")+`"}`).refused(api.CodeChannelUnavailable)
	id := added.textAt("address_id")
	verify := "/v1/me/addresses/" + id + "/verify"
	a.post(t, verify, `{"code":"wrong"}`).refused(api.CodeAddressCodeWrong)
	code := regexp.MustCompile(`Code: (\d{6})`).FindStringSubmatch(a.channel.last(address).Text)[1]
	require.NotNil(t, a.post(t, verify, `{"code":"`+code+`"}`).want(http.StatusOK).at("verified_at_ms"))
	a.post(t, verify, `{"code":"again"}`).want(http.StatusOK)
	a.post(t, "/v1/me/addresses", `{"channel":"mail","address":"`+address+`"}`).want(http.StatusCreated)
	require.Contains(t, a.get(t, "/v1/me/addresses").want(http.StatusOK).text, address)
	for n := len(a.get(t, "/v1/me/addresses").want(http.StatusOK).list("data")); n < api.MaxAddresses; n++ {
		a.post(t, "/v1/me/addresses", fmt.Sprintf(`{"channel":"mail","address":%q}`, a.name("more"))).want(http.StatusCreated)
	}
	a.post(t, "/v1/me/addresses", `{"channel":"mail","address":"`+a.name("more")+`"}`).refused(api.CodeTooManyAddresses)
	a.post(t, pushPath, subscription("https://push.example/"+a.name("more"))).refused(api.CodeTooManyAddresses)
	require.Equal(t, "mail", a.get(t, "/v1/channels").want(http.StatusOK).at("data", 0, "name"), "by name")
	require.Equal(t, true, a.post(t, "/v1/channels/mail/test", `{"address":"x"}`).want(http.StatusOK).at("delivered"))
	require.Equal(t, "the receiver cannot be reached", a.post(t, "/v1/channels/mail/test", `{"address":"unreachable"}`).want(http.StatusOK).at("error"))
	a.post(t, "/v1/channels/mail/test", `{"address":"a b"}`, expecting(semantic)).refused(api.CodeInvalidRequest)
	a.post(t, "/v1/channels/pager/test", `{"address":"x"}`).refused(api.CodeChannelNotFound)
	a.do(t, http.MethodDelete, "/v1/me/addresses/"+id, "").want(http.StatusNoContent)
	a.do(t, http.MethodDelete, "/v1/me/addresses/"+id, "").refused(api.CodeAddressNotFound)

	// Presence has no other person and no end of its own.
	const presence = "/v1/me/presence"
	for _, visible := range []string{"true", "false"} {
		a.do(t, http.MethodPut, presence, `{"visible":`+visible+`}`).want(http.StatusNoContent)
	}
	for _, wrong := range []string{`{}`, `{"visible":true,"principal":"user:ben"}`, `{"visible":true,"until_ms":9000000000000}`, `{"visible":"yes"}`} {
		a.do(t, http.MethodPut, presence, wrong).refused(api.CodeInvalidRequest)
	}

	// A program that embeds the API may leave notifications out.
	without := serve(t, a.store, a.contract, func(o *httpapi.Options) { o.Notify = nil })
	require.Empty(t, without.get(t, "/v1/me/addresses").want(http.StatusOK).list("data"))
	require.Empty(t, without.get(t, "/v1/channels").want(http.StatusOK).list("data"))
	without.post(t, "/v1/me/addresses", `{"channel":"mail","address":"x"}`).refused(api.CodeChannelUnknown)
	without.do(t, http.MethodPut, presence, `{"visible":true}`).want(http.StatusNoContent)
	without.post(t, verify, `{"code":"1"}`).refused(api.CodeAddressNotFound)
	without.do(t, http.MethodDelete, "/v1/me/addresses/"+id, "").refused(api.CodeAddressNotFound)
	without.post(t, "/v1/channels/mail/test", `{"address":"x"}`).refused(api.CodeChannelNotFound)
	require.Nil(t, without.get(t, pushPath).want(http.StatusOK).at("public_key"))
	without.post(t, pushPath, subscription("https://push.example/1")).refused(api.CodeChannelUnknown)
}

const pushPath = "/v1/me/push"

func subscription(endpoint string) string {
	return `{"endpoint":"` + endpoint + `","expirationTime":null,"keys":{"p256dh":"k","auth":"a"}}`
}

// browsers tests the routes of subscriptions.
func browsers(t *testing.T, a *rig) {
	t.Helper()
	endpoint := "https://push.example/" + a.name("browser")
	require.Equal(t, "BPublicKey", a.get(t, pushPath).want(http.StatusOK).at("public_key"))
	a.post(t, pushPath, subscription("http://push.example/1"), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/endpoint")
	a.post(t, pushPath, `{"endpoint":"https://push.example/1","keys":{}}`).refused(api.CodeInvalidRequest)
	added := a.post(t, pushPath, subscription(endpoint)).want(http.StatusCreated)
	require.NotNil(t, added.at("verified_at_ms"))
	require.Equal(t, endpoint, added.at("address"))
	again := a.post(t, pushPath, subscription(endpoint)).want(http.StatusCreated)
	require.Equal(t, added.text, again.text, "a repeated call changes nothing")
	require.Contains(t, a.get(t, pushPath).want(http.StatusOK).text, endpoint)
	require.Contains(t, a.get(t, "/v1/me/addresses").want(http.StatusOK).text, endpoint)
	id := added.textAt("address_id")
	require.Equal(t, true, a.post(t, "/v1/channels/push/test", `{"address":"`+id+`"}`).want(http.StatusOK).at("delivered"))
	a.post(t, "/v1/channels/push/test", `{"address":"`+endpoint+`"}`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/address")
	a.do(t, http.MethodDelete, "/v1/me/addresses/"+id, "").want(http.StatusNoContent)
	require.NotContains(t, a.get(t, pushPath).want(http.StatusOK).text, endpoint)
}

var _ notify.Store = (*brokenStore)(nil)

// AddAddress and the following methods implement notify.Store and the sender.
func (s *brokenStore) AddAddress(context.Context, *notify.Address, int, *notify.CodeCounts, *notify.CodeCounts, *journal.Entry) (bool, error) {
	return false, s.err
}

func (s *brokenStore) CodeCounts(context.Context, *notify.CodeCounts) ([]notify.CodeCount, error) {
	return nil, s.err
}

func (s *brokenStore) DropCodeCounts(context.Context, int64) error { return s.err }

func (s *brokenStore) Addresses(context.Context, []string) ([]notify.Address, error) {
	return nil, s.err
}

func (s *brokenStore) TryCode(context.Context, string, string, int64) (bool, error) {
	return false, s.err
}

func (s *brokenStore) VerifyAddress(context.Context, *notify.Address, string, string, int64, *journal.Entry) (bool, error) {
	return false, s.err
}

func (s *brokenStore) RemoveAddress(context.Context, string, string, *journal.Entry) (bool, error) {
	return false, s.err
}

func (s *brokenStore) AddSubscription(context.Context, *notify.Address, *journal.Entry) (bool, error) {
	return false, s.err
}

func (s *brokenStore) CountNotice(context.Context, string, *notify.NoticeToCount, int64) (number, holdMs int64, err error) {
	return 0, 0, s.err
}

func (s *brokenStore) QuietHours(context.Context, string) (*notify.QuietHours, error) {
	return nil, s.err
}

func (s *brokenStore) SetQuietHours(context.Context, string, *notify.QuietHours) error { return s.err }

func (s *brokenStore) Presence(context.Context, string) (int64, error) { return 0, s.err }

func (s *brokenStore) SetPresence(context.Context, *reads.Viewer, int64, int64) error { return s.err }

func (s *brokenStore) Viewers(context.Context, int64, int) ([]reads.Viewer, error) { return nil, s.err }

func (s *brokenStore) OrphanNotices(context.Context, []string, int64, int) ([]reads.DueEffect, error) {
	return nil, s.err
}

func (s *brokenStore) DueNotices(context.Context, string, int) ([]reads.DueEffect, error) {
	return nil, s.err
}

func (s *brokenStore) AddLink(context.Context, *notify.LinkRow) error { return s.err }

func (s *brokenStore) LinkByHash(context.Context, string) (*notify.LinkRow, error) {
	return nil, s.err
}

func (s *brokenStore) TryLink(context.Context, string, string, int64, int64, *journal.Entry) (bool, error) {
	return false, s.err
}

func (s *brokenStore) NoteLink(context.Context, string, int64, *journal.Entry) error { return s.err }

func (s *brokenStore) SentMessages(context.Context, string, string) ([]notify.SentMessage, error) {
	return nil, s.err
}

func (s *brokenStore) Told(context.Context, string, string, string) (notify.Told, error) {
	return notify.Told{}, s.err
}

func (s *brokenStore) PutSentMessage(context.Context, *notify.SentMessage, *notify.SentMessage) (bool, error) {
	return false, s.err
}

func (s *brokenStore) RemoveSentMessage(context.Context, *notify.SentMessage) error { return s.err }
