package serve

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
	assembly "github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/telemetry"
)

// mailboxes is a channel whose addresses say what becomes of a message.
type mailboxes struct{}

func (mailboxes) Kind() api.ChannelKind { return api.ChannelHTTP }
func (mailboxes) Summary() bool         { return false }
func (mailboxes) Links() api.LinkMode   { return api.LinkNone }

func (mailboxes) CheckAddress(address string) error {
	if !strings.HasSuffix(address, "@private.example") {
		return errors.New("is not an address of this channel")
	}
	return nil
}

func (mailboxes) Send(_ context.Context, address string, _ *notify.Message) error {
	switch {
	case strings.HasPrefix(address, "busy"):
		return errors.New("later")
	case strings.HasPrefix(address, "gone"):
		return notify.ErrPermanent
	}
	return nil
}

// startNotifying starts a service with tokens, whose channel "ops" is mailboxes, as serve assembles it. The people
// have an address each.
func startNotifying(t *testing.T, people ...string) (*measured, *client.Client) {
	t.Helper()
	s := &service{
		Command: &Command{}, admin: &admin{metrics: telemetry.New("test")}, logger: slog.New(slog.DiscardHandler),
		channels: map[string]notify.Channel{"ops": mailboxes{}},
	}
	var err error
	s.store, err = store.Open(t.Context(), "sqlite::memory:", store.Options{Observer: s.admin.metrics.Door, NotifyAfter: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	s.keyring = auth.NewKeyring(auth.Options{Tokens: s.store, Mode: auth.Required, NewID: runs.NewID, NowMs: assembly.NowMs})
	private, err := signing.Generate()
	require.NoError(t, err)
	s.signatures, err = signing.New([]ed25519.PrivateKey{private}, s.store, assembly.NowMs)
	require.NoError(t, err)
	require.NoError(t, s.signatures.Publish(t.Context()))
	admin, _, err := s.keyring.Create(t.Context(), &api.CreateTokenBody{Name: "secret-admin", Role: api.RoleAdmin}, "user:test", "")
	require.NoError(t, err)
	for _, name := range people {
		_, _, err := s.keyring.Create(t.Context(), &api.CreateTokenBody{Name: name, Role: api.RoleOperator}, "user:test", "")
		require.NoError(t, err)
		added, err := s.store.AddSubscription(t.Context(), &notify.Address{
			AddressID: "address_" + name, Principal: "user:" + name, Channel: "ops", Address: name + "@private.example", VerifiedAtMs: 1, CreatedAtMs: 1,
		}, auth.EntryBy(nil, 1, api.AuditEvent{Type: api.AuditAddressAdded}))
		require.NoError(t, err)
		require.True(t, added)
	}

	assembled, err := s.assemble()
	require.NoError(t, err)
	t.Cleanup(assembled.Close)
	s.admin.watch(s.store, assembled.Claims, assembled.API, assembled.CallbackUse, nil)
	looping, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var loops sync.WaitGroup
	for _, run := range assembled.Loops() {
		loops.Go(func() {
			if err := run(looping); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(loops.Wait)
	t.Cleanup(stop)
	served := httptest.NewServer(assembled.API.Handler())
	t.Cleanup(served.Close)
	t.Cleanup(assembled.API.Drain)
	c, err := client.New(served.URL, client.WithToken(admin.Secret))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &measured{T: t, store: s.store, admin: s.admin, api: served}, c
}

// Whatever becomes of a message, the metrics contain no address and no name of a person: anyone who
// reaches them may read them.
func TestMetricsHaveNoAddress(t *testing.T) {
	t.Parallel()
	people := []string{"glad-person", "busy-person", "gone-person"}
	m, c := startNotifying(t, people...)
	var selectors []string
	for _, name := range append(people, "lost-person") {
		selectors = append(selectors, "user:"+name)
	}
	_, err := c.CreateRun(t.Context(), client.CreateRunParams{
		SessionID: "secret-session", AgentID: "secret-agent", Input: 1, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{
			ID: "a", ToolCallID: "a", ToolName: "secret-tool", Input: api.JSON(`1`), Escalation: &api.Escalation{Steps: []api.EscalationStep{{Notify: selectors}}},
		}}},
	})
	require.NoError(t, err)
	_, err = c.AddAddress(t.Context(), api.AddressBody{Channel: "ops", Address: "stranger@elsewhere.example"})
	require.ErrorContains(t, err, "is not an address of this channel")
	added, err := c.AddAddress(t.Context(), api.AddressBody{Channel: "ops", Address: "further@private.example"})
	require.NoError(t, err)
	require.NoError(t, c.RemoveAddress(t.Context(), added.AddressID))
	for address, delivered := range map[string]bool{"test@private.example": true, "gone@private.example": false} {
		tested, err := c.TestChannel(t.Context(), "ops", address)
		require.NoError(t, err)
		require.Equal(t, delivered, tested.Delivered)
	}

	var text string
	require.Eventually(t, func() bool {
		text = m.read()
		for _, outcome := range []string{"delivered", "retried", "given_up"} {
			if !strings.Contains(text, fmt.Sprintf("holdpoint_notification_attempts_total{channel=\"ops\",outcome=%q} ", outcome)) {
				return false
			}
		}
		return true
	}, time.Minute, 10*time.Millisecond, "one message was sent, one failed for now, and one for good")
	m.requireLines(text, `holdpoint_not_notified_total{why="may_not_decide"} 1`, `holdpoint_http_requests_total{method="DELETE",route="/v1/me/addresses/{address_id}",status="204"} 1`)
	for line := range strings.Lines(text) {
		for _, private := range []string{"@", ".example", "-person", "secret-", "stranger", added.AddressID} {
			require.NotContains(t, line, private)
		}
	}
}
