package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// pager is a channel that does not withdraw messages.
type pager struct {
	fails    error
	subjects []string
}

func (*pager) Kind() api.ChannelKind     { return api.ChannelHTTP }
func (*pager) Summary() bool             { return false }
func (*pager) Links() api.LinkMode       { return api.LinkNone }
func (*pager) CheckAddress(string) error { return nil }

func (p *pager) Send(_ context.Context, _ string, m *notify.Message) error {
	if p.fails == nil {
		p.subjects = append(p.subjects, m.Subject)
	}
	return p.fails
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
			s := &service{database: inprocess.Memory, log: &safeBuffer{}}
			s.Service = inprocess.Start(t, s.database, inprocess.Options{Logger: s.log.logger()})
			s.client = s.Connect()
			stored, is := s.Store.(notify.Store)
			require.True(t, is)
			reader, is := s.Store.(notify.Reader)
			require.True(t, is)
			for n, id := range []string{"address_ada", "address_second"} {
				_, err := stored.AddSubscription(t.Context(), &notify.Address{
					AddressID: id, Principal: "user:ada", Channel: "pager", Address: id, VerifiedAtMs: 1, CreatedAtMs: int64(n) + 1,
				}, auth.EntryBy(nil, 1, api.AuditEvent{Type: api.AuditAddressAdded}))
				require.NoError(t, err)
			}
			channel, nowMs := &pager{}, int64(1_750_000_000_000)
			send := notify.New(notify.Options{
				Store: stored, Reader: reader, Channels: map[string]notify.Channel{"pager": channel}, NewID: runs.NewID,
				NowMs: func() int64 { return nowMs }, Logger: s.log.logger(),
				Deciders: func(context.Context, *model.Run, *model.Request) ([]string, error) { return []string{"user:ada"}, nil },
				Reach:    func(context.Context, string) ([]reads.Scope, error) { return nil, nil },
			})
			runID := raise(t, s.client, "s", "a", "b", "c", "d", "e", "f", "g")
			record, err := s.Store.Run(t.Context(), runID)
			require.NoError(t, err)
			message := func(id string, attempts int64) *model.Effect {
				i := slices.IndexFunc(record.Requests, func(request model.Request) bool { return request.RequestID == id })
				handle := record.Requests[i].Handle
				payload, err := json.Marshal(model.PersonNotice{RequestHandle: handle, RequestID: id, Principal: "user:ada", Channel: "pager"})
				require.NoError(t, err)
				return &model.Effect{EffectID: model.NoticeEffectID("pager", handle, "user:ada", 0), Kind: api.EffectNotify, Payload: payload, Attempts: attempts}
			}
			attempt := func(id string, attempts int64) error {
				_, err := send.Send(t.Context(), message(id, attempts))
				return err
			}
			countsOthers := func(id string) bool {
				next, err := send.Next(t.Context(), message(id, 1), errors.New("refused"), true)
				require.NoError(t, err)
				return next.ForOthers
			}
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				require.NoError(t, attempt(id, 1))
			}
			channel.subjects, channel.fails = nil, errors.New("later")
			require.ErrorIs(t, attempt("f", 1), channel.fails)
			require.ErrorIs(t, attempt("g", 1), runs.ErrNotSent)
			require.True(t, countsOthers("f"), "the next address gets it even if its request is settled")
			require.False(t, countsOthers("e"))
			if len(test.settled) > 0 {
				s.resolve(t, s.client, runID, api.BehaviorDeny, test.settled...)
			}
			nowMs += test.passedMs
			require.ErrorIs(t, attempt("f", 2), map[bool]error{true: runs.ErrNotSent, false: channel.fails}[test.sent == nil])
			channel.fails = nil
			require.ErrorIs(t, attempt("f", 3), runs.ErrNotSent)
			require.Equal(t, test.sent, channel.subjects)

			// It is not sent again for a request that was settled.
			if len(test.settled) > 0 {
				require.ErrorIs(t, attempt("f", 4), runs.ErrNotSent)
				require.Equal(t, test.sent, channel.subjects)
			}
		})
	}
}

// A request that is settled before the first attempt takes no number.
func TestASettledRequestIsNotCounted(t *testing.T) {
	t.Parallel()
	s := startReplicas(t, inprocess.Memory)
	s.settle(t)
	_, err := s.send.Send(t.Context(), s.message(t, "user:ada", 0))
	require.ErrorIs(t, err, runs.ErrNotSent)
	stored, is := s.Store.(notify.Store)
	require.True(t, is)
	number, err := stored.CountNotice(t.Context(), "user:ada", "next", 1_750_000_000_000)
	require.NoError(t, err)
	require.EqualValues(t, 1, number)
}
