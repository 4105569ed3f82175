package deliver

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// noticeStore has a message for each claim, and keeps what is recorded of it.
type noticeStore struct {
	Store
	finished []*runs.FinishEffect
	payload  string
	orphans  []reads.DueEffect
}

func (s *noticeStore) DueDeliveries(context.Context, string, int) ([]reads.DueEffect, error) {
	return nil, nil
}

func (s *noticeStore) OrphanNotices(_ context.Context, channels []string, graceMs int64, _ int) ([]reads.DueEffect, error) {
	if len(channels) != 1 || channels[0] != "mail" || graceMs != noticeGrace.Milliseconds() {
		return nil, errors.New("other channels than those of the replica")
	}
	found := s.orphans
	s.orphans = nil
	return found, nil
}

func (s *noticeStore) Do(_ context.Context, command runs.Command) (runs.Reply, error) {
	switch c := command.(type) {
	case *runs.ClaimEffect:
		return runs.Reply{Effect: &model.Effect{SessionID: c.SessionID, EffectID: c.EffectID, RunID: "r", Kind: api.EffectNotify, WebhookID: "notify.mail", Attempts: 1, Payload: api.JSON(s.payload)}}, nil
	case *runs.FinishEffect:
		s.finished = append(s.finished, c)
	}
	return runs.Reply{}, nil
}

// refusing fails each message. next is the person's next address, or the failure to read it.
type refusing struct {
	permanent bool
	next      *runs.NextAddress
	unknown   error
	finals    []bool
}

func (r *refusing) Next(_ context.Context, _ *model.Effect, _ error, final bool) (*runs.NextAddress, error) {
	r.finals = append(r.finals, final)
	return r.next, r.unknown
}

func (r *refusing) Channels() []string { return []string{"mail"} }

func (r *refusing) Send(context.Context, *model.Effect) (bool, error) {
	return r.permanent, errors.New("the mail server answered 550")
}

// A mailbox that does not exist is its owner's problem. Only failures of the channel delay the others.
func TestARefusedMailboxOpensNoBreaker(t *testing.T) {
	t.Parallel()
	store, channel := &noticeStore{}, &refusing{permanent: true}
	var observed []Outcome
	d := &Deliverer{store: store, options: Options{
		Notices: channel, Logger: slog.New(slog.DiscardHandler),
		Observe: func(channel string, outcome Outcome, _ time.Duration) {
			require.Equal(t, "mail", channel)
			observed = append(observed, outcome)
		},
	}}
	lane := noticeLanes(d)["mail"]
	due := reads.DueEffect{SessionID: "s", EffectID: model.NoticeEffectID("mail", "h", "user:gone", 0)}
	for range 4 * failuresBeforePause {
		lane.breaker.ended(lane.send(t.Context(), due))
		require.False(t, lane.breaker.open())
	}
	require.True(t, store.finished[0].Permanent)
	require.Equal(t, "r", store.finished[0].RunID, "the run's log says who was not reached")
	require.Equal(t, GivenUp, observed[0])
	channel.permanent = false
	for range failuresBeforePause {
		lane.breaker.ended(lane.send(t.Context(), due))
	}
	require.True(t, lane.breaker.open())
	require.Equal(t, Retried, observed[len(observed)-1])
}

// A failed message goes to the person's next address. It is not given up while that one cannot be read.
func TestTheNextAddressIsRecorded(t *testing.T) {
	t.Parallel()
	store := &noticeStore{payload: `{"request_handle":"h","request_id":"a","principal":"user:ada","channel":"mail","step":0}`}
	channel := &refusing{permanent: true, unknown: errors.New("the database is gone")}
	d := &Deliverer{store: store, options: Options{Notices: channel, Logger: slog.New(slog.DiscardHandler), Observe: func(string, Outcome, time.Duration) {}}}
	lane := noticeLanes(d)["mail"]
	due := reads.DueEffect{SessionID: "s", EffectID: model.NoticeEffectID("mail", "h", "user:ada", 0)}
	lane.send(t.Context(), due)
	require.Empty(t, store.finished, "the lease expires, and the message is sent again")
	channel.unknown, channel.next = nil, &runs.NextAddress{To: runs.Recipient{Principal: "user:ada", Channel: "ops"}}
	lane.send(t.Context(), due)
	require.Equal(t, channel.next, store.finished[0].Next)
	channel.permanent = false
	lane.send(t.Context(), due)
	require.Equal(t, []bool{true, true, false}, channel.finals)
}

// limited asks for a pause of a day.
type limited struct{ refusing }

func (*limited) Send(context.Context, *model.Effect) (bool, error) {
	return false, &runs.RetryAfterError{Ms: 86_400_000}
}

// A receiver cannot silence the messages to a person for a day.
func TestAPauseOfADayIsCut(t *testing.T) {
	t.Parallel()
	store := &noticeStore{}
	d := &Deliverer{store: store, options: Options{Notices: &limited{}, Logger: slog.New(slog.DiscardHandler), Observe: func(string, Outcome, time.Duration) {}}}
	noticeLanes(d)["mail"].send(t.Context(), reads.DueEffect{SessionID: "s", EffectID: model.NoticeEffectID("mail", "h", "user:ada", 0)})
	require.Equal(t, 15*time.Minute.Milliseconds(), store.finished[0].RetryAfterMs)
}

// holding holds each message back.
type holding struct{ refusing }

func (*holding) Send(context.Context, *model.Effect) (bool, error) {
	return false, &runs.PutOffError{Ms: 5_000, Why: "held back"}
}

// A message that is held back is neither delivered nor a failure.
func TestAHeldMessageIsPutOff(t *testing.T) {
	t.Parallel()
	store := &noticeStore{}
	d := &Deliverer{store: store, options: Options{
		Notices: &holding{}, Logger: slog.New(slog.DiscardHandler),
		Observe: func(string, Outcome, time.Duration) { t.Error("nothing was attempted") },
	}}
	lane := noticeLanes(d)["mail"]
	for range 2 * failuresBeforePause {
		lane.breaker.ended(lane.send(t.Context(), reads.DueEffect{SessionID: "s", EffectID: model.NoticeEffectID("mail", "h", "user:ada", 0)}))
	}
	require.False(t, lane.breaker.open())
	require.EqualValues(t, 5_000, store.finished[0].PutOffMs)
	require.Equal(t, "held back", store.finished[0].Error)
}

// unneeded sends no message.
type unneeded struct{ refusing }

func (*unneeded) Send(context.Context, *model.Effect) (bool, error) { return false, runs.ErrNotSent }

// A message that is not needed says nothing about its channel, which may still be failing.
func TestAMessageThatIsNotSentClosesNoBreaker(t *testing.T) {
	t.Parallel()
	store := &noticeStore{}
	d := &Deliverer{store: store, options: Options{
		Notices: &unneeded{}, Logger: slog.New(slog.DiscardHandler),
		Observe: func(string, Outcome, time.Duration) { t.Error("nothing was attempted") },
	}}
	lane := noticeLanes(d)["mail"]
	lane.breaker.failures = failuresBeforePause
	lane.breaker.ended(lane.send(t.Context(), reads.DueEffect{SessionID: "s", EffectID: model.NoticeEffectID("mail", "h", "user:ada", 0)}))
	require.True(t, lane.breaker.open())
	require.True(t, store.finished[0].Unsent)
	require.Empty(t, store.finished[0].Error, "it has ended")
}

// A message whose channel was removed ends with that reason, and not as a failure of a webhook.
func TestMessagesOfARemovedChannelAreGivenUp(t *testing.T) {
	t.Parallel()
	store := &noticeStore{orphans: []reads.DueEffect{{SessionID: "s", EffectID: model.NoticeEffectID("pager", "h", "user:ada", 0)}}}
	var log bytes.Buffer
	observed := map[string]Outcome{}
	d := &Deliverer{store: store, options: Options{
		Notices: &refusing{}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Observe: func(channel string, outcome Outcome, _ time.Duration) { observed[channel] = outcome },
	}}
	d.notices = noticeLanes(d)
	d.giveUpOrphans(t.Context())
	require.Len(t, store.finished, 1)
	require.True(t, store.finished[0].Permanent)
	require.Equal(t, "r", store.finished[0].RunID)
	require.Equal(t, `the channel "pager" was removed from the file of --channels`, store.finished[0].Error)
	require.Equal(t, map[string]Outcome{"pager": GivenUp}, observed)
	require.Contains(t, log.String(), "notification failed")
	require.Contains(t, log.String(), "channel=pager")
	require.NotContains(t, log.String(), "webhook")
}
