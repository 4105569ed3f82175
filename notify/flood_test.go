package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// pager is a channel that does not withdraw messages.
type pager struct {
	fails    error
	subjects []string
	repeated bool // the newest message says that an earlier attempt may have sent it
}

func (*pager) Kind() api.ChannelKind     { return api.ChannelHTTP }
func (*pager) Summary() bool             { return false }
func (*pager) Links() api.LinkMode       { return api.LinkNone }
func (*pager) CheckAddress(string) error { return nil }

func (p *pager) Send(_ context.Context, _ string, m *notify.Message) error {
	p.repeated = m.Repeated
	if p.fails == nil {
		p.subjects = append(p.subjects, m.Subject)
	}
	return p.fails
}

// count returns how many messages are about one request, and how many count requests.
func (p *pager) count() (single, counts int) {
	for _, subject := range p.subjects {
		if strings.HasSuffix(subject, "requests are open") {
			counts++
		}
	}
	return len(p.subjects) - counts, counts
}

// flooded is a service whose sixth message to Ada, about request f, counts a flood of seven, and failed at its first attempt.
type flooded struct {
	*service
	channel       *pager
	nowMs         atomic.Int64
	hasCredential func() (bool, error)
	send          *notify.Service
	record        *model.RunRecord
}

func startFlooded(t *testing.T) *flooded {
	t.Helper()
	s := raiseFlood(t, func(stored notify.Store) notify.Store { return stored })
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		require.NoError(t, s.attempt(t, id, 1))
	}
	s.channel.subjects, s.channel.fails = nil, errors.New("later")
	require.ErrorIs(t, s.attempt(t, "f", 1), s.channel.fails)
	require.ErrorIs(t, s.attempt(t, "g", 1), runs.ErrNotSent)
	require.True(t, s.countsOthers(t, "f"), "the next address gets it even if its request is settled")
	require.False(t, s.countsOthers(t, "e"))
	return s
}

// raiseFlood raises seven requests that Ada may decide. plant changes the store that the service for messages uses.
func raiseFlood(t *testing.T, plant func(notify.Store) notify.Store) *flooded {
	t.Helper()
	s := startPaged(t, plant)
	var err error
	s.record, err = s.Store.Run(t.Context(), raise(t, s.client, "s", "a", "b", "c", "d", "e", "f", "g"))
	require.NoError(t, err)
	return s
}

// startPaged starts a service without requests, and Ada's pager.
func startPaged(t *testing.T, plant func(notify.Store) notify.Store) *flooded {
	t.Helper()
	s := &flooded{
		record:  &model.RunRecord{},
		service: &service{database: inprocess.Memory, log: &safeBuffer{}}, channel: &pager{},
		hasCredential: func() (bool, error) { return true, nil },
	}
	s.nowMs.Store(1_750_000_000_000)
	s.Service = inprocess.Start(t, s.database, inprocess.Options{Logger: s.log.logger(), Store: store.Options{NowMs: s.nowMs.Load}})
	s.client = s.Connect()
	stored := storeAs[notify.Store](t, s.Store)
	reader := storeAs[notify.Reader](t, s.Store)
	for n, id := range []string{"address_ada", "address_second"} {
		_, err := stored.AddSubscription(t.Context(), &notify.Address{
			AddressID: id, Principal: "user:ada", Channel: "pager", Address: id, VerifiedAtMs: 1, CreatedAtMs: int64(n) + 1,
		}, auth.EntryBy(nil, 1, api.AuditEvent{Type: api.AuditAddressAdded}))
		require.NoError(t, err)
	}
	s.send = notify.New(notify.Options{
		Store: plant(stored), Reader: reader, Channels: map[string]notify.Channel{"pager": s.channel}, NewID: runs.NewID,
		NowMs: s.nowMs.Load, Logger: s.log.logger(),
		Deciders:      func(context.Context, *model.Run, *model.Request) ([]string, error) { return []string{"user:ada"}, nil },
		HasCredential: func(context.Context, ...string) (bool, error) { return s.hasCredential() },
		Reach:         func(context.Context, string) ([]reads.Scope, error) { return nil, nil },
	})
	return s
}

// about returns the effect of the message about a request.
func (s *flooded) about(t *testing.T, id string, attempts int64) *model.Effect {
	t.Helper()
	i := slices.IndexFunc(s.record.Requests, func(request model.Request) bool { return request.RequestID == id })
	handle := s.record.Requests[i].Handle
	payload, err := json.Marshal(model.PersonNotice{RequestHandle: handle, RequestID: id, Principal: "user:ada", Channel: "pager"})
	require.NoError(t, err)
	return &model.Effect{EffectID: model.NoticeEffectID("pager", handle, "user:ada", 0), Kind: api.EffectNotify, Payload: payload, Attempts: attempts}
}

func (s *flooded) attempt(t *testing.T, id string, attempts int64) error {
	t.Helper()
	_, err := s.send.Send(t.Context(), s.about(t, id, attempts))
	return err
}

func (s *flooded) countsOthers(t *testing.T, id string) bool {
	t.Helper()
	next, err := s.send.Next(t.Context(), s.about(t, id, 1), errors.New("refused"), true)
	require.NoError(t, err)
	return next.ForOthers
}

// The messages that a flood counts have ended, so the one that counts them is sent even if its request is settled, or its
// count has expired, before an attempt succeeds.
func TestTheMessageThatCountsAFloodIsNotLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settled  []string
		passedMs int64
		sent     []string
	}{
		"settled":         {[]string{"f"}, 0, []string{"6 requests are open"}},
		"expired":         {nil, api.FloodMs, []string{"7 requests are open"}},
		"both":            {[]string{"f"}, api.FloodMs, []string{"6 requests are open"}},
		"nothing is open": {[]string{"a", "b", "c", "d", "e", "f", "g"}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startFlooded(t)
			if len(test.settled) > 0 {
				s.resolve(t, s.client, s.record.Run.RunID, api.BehaviorDeny, test.settled...)
			}
			s.nowMs.Add(test.passedMs)
			require.ErrorIs(t, s.attempt(t, "f", 2), map[bool]error{true: runs.ErrNotSent, false: s.channel.fails}[test.sent == nil])
			s.channel.fails = nil
			require.ErrorIs(t, s.attempt(t, "f", 3), runs.ErrNotSent)
			require.Equal(t, test.sent, s.channel.subjects)

			// It is not sent again for a request that was settled.
			if len(test.settled) > 0 {
				require.ErrorIs(t, s.attempt(t, "f", 4), runs.ErrNotSent)
				require.Equal(t, test.sent, s.channel.subjects)
			}
		})
	}
}

// A person who lost their credential gets no count of what others may decide. While tokens cannot be read, it is retried.
func TestTheMessageThatCountsAFloodNeedsACredential(t *testing.T) {
	t.Parallel()
	s := startFlooded(t)
	s.channel.fails = nil
	unknown := errors.New("the tokens cannot be read")
	s.hasCredential = func() (bool, error) { return false, unknown }
	require.ErrorIs(t, s.attempt(t, "f", 2), unknown)
	require.True(t, s.countsOthers(t, "f"))
	s.hasCredential = func() (bool, error) { return false, nil }
	require.ErrorIs(t, s.attempt(t, "f", 2), runs.ErrNotSent)
	require.Empty(t, s.channel.subjects)
	require.False(t, s.countsOthers(t, "f"))
}

// raisesLate raises requests a minute after the message that counts a flood of seven. It returns the run.
func (s *flooded) raisesLate(t *testing.T, ids ...string) string {
	t.Helper()
	s.channel.fails = nil
	require.ErrorIs(t, s.attempt(t, "f", 2), runs.ErrSentForOthers)
	require.Equal(t, []string{"7 requests are open"}, s.channel.subjects)
	s.channel.subjects = nil
	s.nowMs.Add(60_000)
	return s.raises(t, "late", ids...)
}

func (s *flooded) raises(t *testing.T, session string, ids ...string) string {
	t.Helper()
	record := s.recordOf(t, raise(t, s.client, session, ids...))
	s.record.Requests = append(s.record.Requests, record.Requests...)
	return record.Run.RunID
}

// again attempts a message that was held back because of the flood.
func (s *flooded) again(t *testing.T, id string) error {
	t.Helper()
	effect := s.about(t, id, 1)
	effect.LastError = model.HeldByFlood
	_, err := s.send.Send(t.Context(), effect)
	return err
}

// The message that counts a flood knows nothing of later requests. One more message tells of all of them.
func TestRequestsAfterTheMessageThatCountsAFlood(t *testing.T) {
	t.Parallel()
	s := startFlooded(t)
	late := s.raisesLate(t, "h", "i", "j")
	for _, id := range []string{"h", "i", "j"} {
		require.Equal(t, &runs.PutOffError{Ms: api.FloodMs - 60_000, Why: model.HeldByFlood}, s.attempt(t, id, 1))
	}
	require.ErrorIs(t, s.attempt(t, "g", 1), runs.ErrNotSent, "it was counted")
	require.Empty(t, s.channel.subjects)

	s.resolve(t, s.client, late, api.BehaviorDeny, "j")
	s.nowMs.Add(api.FloodMs - 60_000)
	require.ErrorIs(t, s.again(t, "j"), runs.ErrNotSent)
	require.Empty(t, s.channel.subjects, "it is settled")
	require.ErrorIs(t, s.again(t, "h"), runs.ErrSentForOthers)
	require.ErrorIs(t, s.again(t, "i"), runs.ErrNotSent)
	require.Equal(t, []string{"9 requests are open"}, s.channel.subjects)
	s.channel.subjects = nil

	s.nowMs.Add(1)
	s.raises(t, "later", "k", "l", "m", "n", "o", "p")
	for _, id := range []string{"k", "l", "m", "n", "o"} {
		require.NoError(t, s.attempt(t, id, 1))
	}
	require.Len(t, s.channel.subjects, api.FloodMessages, "they are the first after the flood")
	require.Equal(t, &runs.PutOffError{Ms: api.FloodMs - 1, Why: model.HeldByFlood}, s.attempt(t, "p", 1), "one message in ten minutes counts all")
	s.nowMs.Add(api.FloodMs - 1)
	require.ErrorIs(t, s.again(t, "p"), runs.ErrSentForOthers)
	require.Equal(t, "15 requests are open", s.channel.subjects[api.FloodMessages])
}

// A hundred requests within a minute, each after the message about the one before it, are six messages, and a seventh after
// ten minutes.
func TestAHundredRequestsWithinAMinute(t *testing.T) {
	t.Parallel()
	s := startPaged(t, func(stored notify.Store) notify.Store { return stored })
	const many, everyMs = 100, 600
	held := map[string]int64{} // the moment until which a message is held back
	for n := range many {
		id := fmt.Sprint("a", n)
		s.raises(t, fmt.Sprint("s", n), id)
		var putOff *runs.PutOffError
		switch err := s.attempt(t, id, 1); {
		case errors.As(err, &putOff):
			require.Equal(t, model.HeldByFlood, putOff.Why)
			held[id] = s.nowMs.Load() + putOff.Ms
		case !errors.Is(err, runs.ErrSentForOthers):
			require.NoError(t, err)
		}
		s.nowMs.Add(everyMs)
	}
	require.NoError(t, floodIsBounded(s.channel.count()))
	single, counts := s.channel.count()
	require.Equal(t, "6 requests are open", s.channel.subjects[api.FloodMessages])
	require.Len(t, held, many-api.FloodMessages-1)

	for n := range many {
		id := fmt.Sprint("a", n)
		if atMs, is := held[id]; is {
			s.nowMs.Store(max(s.nowMs.Load(), atMs))
			if err := s.again(t, id); !errors.Is(err, runs.ErrSentForOthers) {
				require.ErrorIs(t, err, runs.ErrNotSent)
			}
		}
	}
	_, all := s.channel.count()
	t.Logf("%d requests in %d s: %d messages about one, %d that count at once, %d after ten minutes", many, many*everyMs/1000, single, counts, all-counts)
	require.Equal(t, "100 requests are open", s.channel.subjects[len(s.channel.subjects)-1])
	require.Len(t, s.channel.subjects, api.FloodMessages+2)
}

// A held message goes out as it is if no other request is open.
func TestTheOnlyRequestAfterAFlood(t *testing.T) {
	t.Parallel()
	s := startFlooded(t)
	s.raisesLate(t, "h")
	require.ErrorAs(t, s.attempt(t, "h", 1), new(*runs.PutOffError))
	s.resolve(t, s.client, s.record.Run.RunID, api.BehaviorDeny, "a", "b", "c", "d", "e", "f", "g")
	s.nowMs.Add(api.FloodMs)
	require.NoError(t, s.again(t, "h"))
	require.Len(t, s.channel.subjects, 1)
	require.Contains(t, s.channel.subjects[0], "Approval needed")
}

// A request that is settled before the first attempt takes no number.
func TestASettledRequestIsNotCounted(t *testing.T) {
	t.Parallel()
	s := startReplicas(t, inprocess.Memory)
	s.settle(t)
	_, err := s.send.Send(t.Context(), s.message(t, "user:ada", 0))
	require.ErrorIs(t, err, runs.ErrNotSent)
	stored := storeAs[notify.Store](t, s.Store)
	number, _, err := stored.CountNotice(t.Context(), "user:ada", &notify.NoticeToCount{ID: "next"}, 1_750_000_000_000)
	require.NoError(t, err)
	require.EqualValues(t, 1, number)
}

// faltering is a store whose first write of a message fails.
type faltering struct {
	notify.Store
	failed atomic.Bool
}

func (f *faltering) PutSentMessage(ctx context.Context, m, before *notify.SentMessage) (bool, error) {
	if f.failed.CompareAndSwap(false, true) {
		return false, errors.New("not written")
	}
	return f.Store.PutSentMessage(ctx, m, before)
}

// Once later messages are left out, the one that counts them is sent even if its request is settled: nothing that is written
// after the count has to succeed for that.
func TestAFloodThatWasCountedIsSentAfterAFailure(t *testing.T) {
	t.Parallel()
	s := raiseFlood(t, func(stored notify.Store) notify.Store { return &faltering{Store: stored} })
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		require.NoError(t, s.attempt(t, id, 1))
	}
	s.channel.subjects, s.channel.fails = nil, errors.New("later")
	require.Error(t, s.attempt(t, "f", 1))
	require.ErrorIs(t, s.attempt(t, "g", 1), runs.ErrNotSent)
	s.resolve(t, s.client, s.record.Run.RunID, api.BehaviorDeny, "f")
	s.channel.fails = nil
	require.ErrorIs(t, s.attempt(t, "f", 2), runs.ErrSentForOthers)
	require.Equal(t, []string{"6 requests are open"}, s.channel.subjects)
}

// An admin retries the message that counts a flood after it was given up: its attempts begin again, and quiet hours may have
// removed its error.
func TestTheMessageThatCountsAFloodIsRetriedByAnAdmin(t *testing.T) {
	t.Parallel()
	s := startFlooded(t)
	require.False(t, s.channel.repeated)
	s.resolve(t, s.client, s.record.Run.RunID, api.BehaviorDeny, "f")
	s.channel.fails = nil
	require.ErrorIs(t, s.attempt(t, "f", 1), runs.ErrSentForOthers)
	require.Equal(t, []string{"6 requests are open"}, s.channel.subjects)
	require.True(t, s.channel.repeated, "the answer to an earlier attempt may have been lost")
}

// The message that counts a flood waits for quiet hours. An urgent one does not wait with it.
func TestAnUrgentMessageInAFloodThatQuietHoursHold(t *testing.T) {
	t.Parallel()
	s := startFlooded(t)
	s.channel.fails = nil
	stored := storeAs[notify.Store](t, s.Store)
	require.NoError(t, stored.SetQuietHours(t.Context(), "user:ada", &notify.QuietHours{Zone: "UTC", FromMinutes: 15 * 60, ToMinutes: 16 * 60}))
	require.ErrorAs(t, s.attempt(t, "f", 2), new(*runs.PutOffError))
	effect := s.about(t, "g", 1)
	notice, err := model.NoticeOf(effect)
	require.NoError(t, err)
	notice.Step, notice.Urgent = 1, true
	effect.Payload, err = json.Marshal(notice)
	require.NoError(t, err)
	_, err = s.send.Send(t.Context(), effect)
	require.ErrorIs(t, err, runs.ErrSentForOthers)
	require.Equal(t, []string{"7 requests are open"}, s.channel.subjects)
}
