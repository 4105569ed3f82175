package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// A person whose first address refuses the message gets it at the next one, once.
func TestTheNextAddressIsTold(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, false)
		s.verified(t, s.client, "ops", "ada", s.http)
		for _, address := range []string{"gone@example.com", "ada@example.com"} {
			s.ahead.Add(1_000) // they are used in the order in which they were added
			s.verified(t, s.client, "mail", address, s.mail)
		}
		s.http.set(func(i *inbox) { i.status = http.StatusGone })
		s.mail.set(func(i *inbox) { i.refuses = "gone@example.com" })
		runID := raise(t, s.client, "s", "a")
		eventually(t, "the message", func() bool { return len(s.mail.about("Agent coder")) == 1 })
		require.Contains(t, s.mail.about("Agent coder")[0], "To: ada@example.com")
		eventually(t, "its end is recorded", func() bool {
			pending, err := s.client.ListEffects(t.Context(), client.EffectListParams{State: api.EffectPending})
			require.NoError(t, err)
			return len(pending.Items) == 0
		})
		require.Len(t, s.mail.about("Agent coder"), 1)
		require.Empty(t, s.http.about("Agent coder"))
		events := s.eventTexts(t, runID)
		require.Contains(t, events, `"channel":"ops","next_channel":"mail"}`)
		require.Contains(t, events, `"channel":"mail","next_channel":"mail"}`)
		failed, err := s.client.ListEffects(t.Context(), client.EffectListParams{State: api.EffectFailed})
		require.NoError(t, err)
		require.Empty(t, failed.Items, "the person was reached")

		run, err := s.client.GetRun(t.Context(), runID)
		require.NoError(t, err)
		explained, err := s.client.ExplainRequest(t.Context(), run.PendingApprovals[0].Handle)
		require.NoError(t, err)
		states := make([]string, 0, len(explained.Notified))
		for _, one := range explained.Notified {
			states = append(states, fmt.Sprintf("%s %s %s", one.Channel, one.State, one.Error))
		}
		slices.Sort(states)
		require.Equal(t, []string{"mail moved given up: the mail server answered 550", "mail sent ", "ops moved given up: status 410"}, states)

		// Nobody is left: it counts as not reached.
		s.mail.set(func(i *inbox) { i.smtpCode = 550 })
		runID = raise(t, s.client, "s2", "b")
		eventually(t, "the failure", func() bool {
			events := s.eventTexts(t, runID)
			return strings.Count(events, "notification_failed") == 3 && strings.Contains(events, `"channel":"mail"}`)
		})
		s.healthy(t)
	})
}

// failing is a channel that fails each message.
type failing struct {
	failure error
	called  string
}

func (*failing) Kind() api.ChannelKind     { return api.ChannelHTTP }
func (*failing) Summary() bool             { return false }
func (*failing) Links() api.LinkMode       { return api.LinkNone }
func (*failing) CheckAddress(string) error { return nil }

func (f *failing) Send(_ context.Context, address string, _ *notify.Message) error {
	f.called = address
	return f.failure
}

// A message whose first address neither takes it nor its withdrawal goes to the next one on the same channel, which is
// told of no earlier message.
func TestABrokenAddressDoesNotBlockTheNextOne(t *testing.T) {
	t.Parallel()
	channel := &receivers{away: "ada"}
	s := startReplicas(t, inprocess.Memory, channel)
	s.second(t)
	notice := &model.PersonNotice{Principal: "user:ada"}
	first := s.message(t, "user:ada", 0)
	first.Attempts = 3
	_, err := s.send.Send(t.Context(), first)
	require.Error(t, err)
	next, err := s.send.Next(t.Context(), first, err, false)
	require.NoError(t, err)
	require.Equal(t, []string{"address_ada"}, next.Later)

	notice.Turn, notice.Later = 1, next.Later
	s.sends(t, s.effect(t, model.NextNoticeEffectID("board", s.open.Handle, "user:ada", 0, 1), notice))
	require.Equal(t, []string{"ada", "address_second"}, channel.sent)
	require.Equal(t, []string{"ada"}, channel.withdrawn)
	require.True(t, channel.withdrawnUntil.Before(channel.sentUntil), "a receiver that hangs leaves time for the next one")

	// The next step of the escalation goes to the first address again, and the second one is away.
	channel.away = "address_second"
	s.sends(t, s.message(t, "user:ada", 1))
	require.Equal(t, []string{"ada", "address_second", "ada"}, channel.sent)
	s.settle(t)
	s.sends(t, s.withdrawal(t))
	require.Equal(t, []string{"ada", "address_second", "ada"}, channel.withdrawn)
}

// An address that fails for a while is left for the next one, and comes again when that one is gone.
func TestTheOrderOfAddresses(t *testing.T) {
	t.Parallel()
	channel := &failing{}
	s := startReplicas(t, inprocess.Memory, channel)
	stored := storeAs[notify.Store](t, s.Store)
	for n, id := range []string{"address_second", "address_third"} {
		added, err := stored.AddSubscription(t.Context(), &notify.Address{
			AddressID: id, Principal: "user:ada", Channel: "board", Address: id, VerifiedAtMs: 1, CreatedAtMs: int64(n) + 2,
		}, auth.EntryBy(nil, 1, api.AuditEvent{Type: api.AuditAddressAdded}))
		require.NoError(t, err)
		require.True(t, added)
	}
	notice := model.PersonNotice{Principal: "user:ada", RequestHandle: s.open.Handle, RequestID: s.open.RequestID, Channel: "board"}
	// fails sends the message, and returns the address that was called and where the message goes next.
	fails := func(failure error, attempts int64, final bool) (called string, next *runs.NextAddress) {
		t.Helper()
		channel.failure = failure
		text, err := json.Marshal(notice)
		require.NoError(t, err)
		effect := &model.Effect{EffectID: fmt.Sprint("notify:board:h:0:p:", notice.Turn), Kind: api.EffectNotify, Payload: text, Attempts: attempts}
		_, err = s.send.Send(t.Context(), effect)
		require.Error(t, err)
		next, err = s.send.Next(t.Context(), effect, err, final)
		require.NoError(t, err)
		if next != nil {
			notice.Turn, notice.Tried, notice.Later = notice.Turn+1, next.Tried, next.Later
		}
		return channel.called, next
	}
	away, gone := errors.New("no answer in time"), fmt.Errorf("%w: no such user", notify.ErrPermanent)
	for attempts := range int64(3) {
		called, next := fails(away, attempts, false)
		require.Equal(t, "ada", called)
		require.Nil(t, next, "it is retried first")
	}
	_, next := fails(away, 3, false)
	require.Equal(t, []string{"address_ada"}, next.Later)
	called, next := fails(gone, 1, true)
	require.Equal(t, "address_second", called)
	require.Equal(t, []string{"address_second"}, next.Tried)
	called, next = fails(&runs.RetryAfterError{Ms: 86_400_000}, 1, false)
	require.Equal(t, "address_third", called)
	require.Nil(t, next, "there is no other one, so it keeps all its retries")
	_, next = fails(away, 11, true)
	require.Empty(t, next.Later)
	called, next = fails(away, 11, true)
	require.Equal(t, "ada", called)
	require.Nil(t, next)
}
