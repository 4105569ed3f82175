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
		return runs.Reply{Effect: &model.Effect{SessionID: c.SessionID, EffectID: c.EffectID, RunID: "r", Kind: api.EffectNotify, WebhookID: "notify.mail", Attempts: 1}}, nil
	case *runs.FinishEffect:
		s.finished = append(s.finished, c)
	}
	return runs.Reply{}, nil
}

// refusing fails each message.
type refusing struct{ permanent bool }

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

// holding holds each message back.
type holding struct{ refusing }

func (*holding) Send(context.Context, *model.Effect) (bool, error) {
	return false, &runs.PutOffError{Ms: 5_000}
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
	require.Empty(t, store.finished[0].Error)
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
