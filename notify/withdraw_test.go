package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// board is a channel that shows what is visible to each address.
type board struct {
	mu    sync.Mutex
	shown []post
	codes *inbox
	// fails is the error of the next calls, after they did their work.
	fails error
	// holds is called by each call with its address; nil does nothing.
	holds func(context.Context, string)
	// repeated counts messages that an earlier attempt may have sent.
	repeated int
	// withdrawn gets the address of each withdrawal, as far as it has room.
	withdrawn chan string
}

// post is a visible message.
type post struct{ address, id, reference, text string }

func newBoard() *board { return &board{codes: &inbox{}, withdrawn: make(chan string, 16)} }

func (b *board) Kind() api.ChannelKind     { return api.ChannelHTTP }
func (b *board) Summary() bool             { return false }
func (b *board) Links() api.LinkMode       { return api.LinkSignIn }
func (b *board) CheckAddress(string) error { return nil }

// hold has a function called by each call.
func (b *board) hold(holds func(ctx context.Context, address string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds = holds
}

func (b *board) held(ctx context.Context, address string) {
	b.mu.Lock()
	holds := b.holds
	b.mu.Unlock()
	if holds != nil {
		holds(ctx, address)
	}
}

// at returns where a message is: the one with the reference, or else with the id.
func (b *board) at(address, id, reference string) int {
	return slices.IndexFunc(b.shown, func(p post) bool {
		return p.address == address && p.id == id && (reference == "" || p.reference == reference)
	})
}

func (b *board) Send(ctx context.Context, address string, m *notify.Message) error {
	if m.Kind != "approval" {
		b.codes.add(m.Text)
		return nil
	}
	b.mu.Lock()
	at := -1
	if m.Repeated {
		b.repeated++
		at = b.at(address, m.ID, "")
	}
	b.mu.Unlock()
	b.held(ctx, address)
	b.mu.Lock()
	defer b.mu.Unlock()
	if at < 0 {
		at = len(b.shown)
		b.shown = append(b.shown, post{address: address, id: m.ID, reference: fmt.Sprintf("ref %d", at)})
	}
	b.shown[at].text, m.Reference = m.Text, b.shown[at].reference
	return b.fails
}

func (b *board) Withdraw(ctx context.Context, address string, sent *notify.SentMessage, m *notify.Message) error {
	b.held(ctx, address)
	b.mu.Lock()
	defer b.mu.Unlock()
	if sent.SentAtMs != 0 && sent.Reference == "" {
		return errors.New("there is no reference")
	}
	at := b.at(address, sent.MessageID, sent.Reference)
	if at < 0 {
		return nil
	}
	if m == nil {
		b.shown[at] = post{}
	} else {
		b.shown[at].text = m.Body
	}
	select {
	case b.withdrawn <- address:
	default:
	}
	return b.fails
}

// of returns what an address shows, and ids the ids of the messages.
func (b *board) of(address string) (texts []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.shown {
		if one.address == address {
			texts = append(texts, one.text)
		}
	}
	return texts
}

func (b *board) ids(address string) (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.shown {
		if one.address == address {
			ids = append(ids, one.id)
		}
	}
	return ids
}

func (b *board) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = err
}

func (b *board) repeats() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.repeated
}

// withBoard starts a service whose only channel is a board.
func withBoard(t *testing.T, database string, b *board) *service {
	t.Helper()
	s := &service{database: database, log: &safeBuffer{}}
	stored := store.Options{NotifyAfter: time.Second}
	if database == inprocess.Memory {
		stored.NowMs = func() int64 { return time.Now().UnixMilli() + s.later.Load() }
	}
	s.Service = inprocess.Start(t, database, inprocess.Options{
		Channels: map[string]notify.Channel{"board": b}, ExternalURL: "https://holdpoint.example", Closed: true, Logger: s.log.logger(),
		Store: stored,
		NowMs: func() int64 { return time.Now().UnixMilli() + s.ahead.Load() },
	})
	return s
}

// pendingNotices returns the unsent messages and withdrawals of the board.
func (s *service) pendingNotices(t *testing.T) []model.Effect {
	t.Helper()
	return s.effects(t, reads.EffectQuery{WebhookID: model.NoticeWebhookID("board"), State: api.EffectPending, Limit: 20})
}

// withdrawal returns the effect that withdraws messages.
func (s *service) withdrawal(t *testing.T) *model.Effect {
	t.Helper()
	for _, effect := range s.pendingNotices(t) {
		if strings.HasSuffix(effect.EffectID, ":withdraw") {
			return &effect
		}
	}
	return nil
}

func (s *service) resolve(t *testing.T, c *client.Client, runID string, behavior api.Behavior, ids ...string) {
	t.Helper()
	var all []api.ApprovalResolution
	for _, id := range ids {
		all = append(all, api.ApprovalResolution{RequestID: id, Behavior: behavior})
	}
	_, err := c.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{Resolutions: all})
	require.NoError(t, err)
}

// Everyone who was told of a request sees how it was settled, once, in place of the message.
func TestSettledRequestsWithdrawTheirMessages(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		b := newBoard()
		s := withBoard(t, database, b)
		people := s.people(t)
		for _, name := range []string{"ada", "ben"} {
			s.verified(t, people[name], "board", name, b.codes)
		}
		runID := raise(t, people["maker"], "s", "a", "b")
		eventually(t, "both are told of both", func() bool { return len(b.of("ada")) == 2 && len(b.of("ben")) == 2 && len(s.pendingNotices(t)) == 0 })
		run, err := people["ada"].GetRun(t.Context(), runID)
		require.NoError(t, err)
		requireNotices := func(state api.NoticeState) {
			t.Helper()
			at := slices.IndexFunc(run.PendingApprovals, func(a api.ApprovalRequest) bool { return a.ID == "a" })
			explained, err := people["ada"].ExplainRequest(t.Context(), run.PendingApprovals[at].Handle)
			require.NoError(t, err)
			require.Len(t, explained.Notified, 2, explained.Text)
			for _, one := range explained.Notified {
				require.Equal(t, state, one.State, explained.Text)
			}
		}
		requireNotices(api.NoticeSent)
		b.fail(errors.New("not now"))
		s.resolve(t, people["ben"], runID, api.BehaviorDeny, "a")
		eventually(t, "a failed withdrawal", func() bool { w := s.withdrawal(t); return w != nil && w.LastError != "" })
		requireNotices(api.NoticeSent)
		failed := s.withdrawal(t)
		b.fail(nil)
		_, err = people["ada"].RetryEffect(t.Context(), "s", failed.EffectID)
		require.NoError(t, err)
		eventually(t, "the withdrawal", func() bool { return len(s.pendingNotices(t)) == 0 })
		requireNotices(api.NoticeWithdrawn)
		for _, name := range []string{"ada", "ben"} {
			texts := strings.Join(b.of(name), "|")
			require.Len(t, b.of(name), 2)
			require.NoError(t, outcomeShown(b.of(name), "denied by user:ben"))
			require.Equal(t, 1, strings.Count(texts, "wants to use"), "the other request is open")
		}
		s.healthy(t)
	})
}

// receivers is a channel whose messages have no references.
type receivers struct {
	failing
	mu sync.Mutex
	// away is the address that does not answer.
	away            string
	sent, withdrawn []string
	// The deadlines of the last call of each kind.
	sentUntil, withdrawnUntil time.Time
}

func (r *receivers) Send(ctx context.Context, address string, _ *notify.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, address)
	r.sentUntil, _ = ctx.Deadline()
	return r.answer(address)
}

func (r *receivers) Withdraw(ctx context.Context, address string, sent *notify.SentMessage, _ *notify.Message) error {
	if sent.Reference != "" {
		return errors.New("the channel gave no reference")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.withdrawn = append(r.withdrawn, address)
	r.withdrawnUntil, _ = ctx.Deadline()
	return r.answer(address)
}

func (r *receivers) answer(address string) error {
	if address != "" && address == r.away {
		return errors.New("no answer in time")
	}
	return nil
}

// second adds Ada's second address.
func (s *replicas) second(t *testing.T) notify.Store {
	t.Helper()
	stored := storeAs[notify.Store](t, s.Store)
	added, err := stored.AddSubscription(t.Context(), &notify.Address{
		AddressID: "address_second", Principal: "user:ada", Channel: "board", Address: "address_second", VerifiedAtMs: 1, CreatedAtMs: 2,
	}, auth.EntryBy(nil, 1, api.AuditEvent{Type: api.AuditAddressAdded}))
	require.NoError(t, err)
	require.True(t, added)
	return stored
}

// The outcome goes to the address of the message, and to no other address of its person.
func TestTheOutcomeGoesWhereTheMessageWent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		away      string
		meanwhile func(*testing.T, notify.Store, *model.Request)
		want      []string
	}{
		"sent":                {want: []string{"ada"}},
		"with an unknown end": {away: "ada", want: []string{"ada"}},
		"to an address that was removed": {meanwhile: func(t *testing.T, stored notify.Store, _ *model.Request) {
			t.Helper()
			removed, err := stored.RemoveAddress(t.Context(), "user:ada", "address_ada", auth.EntryBy(nil, 1, api.AuditEvent{Type: api.AuditAddressRemoved}))
			require.NoError(t, err)
			require.True(t, removed)
		}, want: []string{""}},
		"by an older program": {meanwhile: func(t *testing.T, stored notify.Store, open *model.Request) {
			t.Helper()
			all, err := stored.SentMessages(t.Context(), open.Handle, "board")
			require.NoError(t, err)
			older := all[0]
			older.Reference = ""
			put, err := stored.PutSentMessage(t.Context(), &older, &all[0])
			require.NoError(t, err)
			require.True(t, put)
		}, want: []string{"ada", "address_second"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channel := &receivers{away: test.away}
			s := startReplicas(t, inprocess.Memory, channel)
			stored := s.second(t)
			_, err := s.send.Send(t.Context(), s.message(t, "user:ada", 0))
			require.Equal(t, test.away == "", err == nil, err)
			require.Equal(t, []string{"ada"}, channel.sent)
			if test.meanwhile != nil {
				test.meanwhile(t, stored, s.open)
			}
			channel.away = ""
			s.settle(t)
			s.sends(t, s.withdrawal(t))
			slices.Sort(channel.withdrawn)
			require.Equal(t, test.want, channel.withdrawn)
		})
	}
}

// An attempt that follows one with an unknown end is marked, and a person has one message.
func TestAnAttemptWithAnUnknownEnd(t *testing.T) {
	t.Parallel()
	b := newBoard()
	s := withBoard(t, inprocess.Memory, b)
	people := s.people(t)
	s.verified(t, people["ada"], "board", "ada", b.codes)
	b.fail(errors.New("the connection broke"))
	runID := raise(t, people["maker"], "s", "a")
	eventually(t, "a failed attempt", func() bool { w := s.pendingNotices(t); return len(w) == 1 && w[0].LastError != "" })
	failed := s.pendingNotices(t)[0]
	b.fail(nil)
	_, err := people["ada"].RetryEffect(t.Context(), "s", failed.EffectID)
	require.NoError(t, err)
	eventually(t, "the message", func() bool { return len(s.pendingNotices(t)) == 0 })
	require.Positive(t, b.repeats(), "the service may have retried by itself as well")
	require.Len(t, b.of("ada"), 1)
	s.resolve(t, people["ben"], runID, api.BehaviorAllow, "a")
	eventually(t, "the withdrawal", func() bool { return len(s.pendingNotices(t)) == 0 })
	require.Contains(t, b.of("ada")[0], "allowed by user:ben")
	s.healthy(t)
}

// A second step of an escalation replaces the first message.
func TestASecondMessageReplacesTheFirst(t *testing.T) {
	t.Parallel()
	b := newBoard()
	s := withBoard(t, inprocess.Memory, b)
	people := s.people(t)
	s.verified(t, people["ada"], "board", "ada", b.codes)
	runID := raiseEscalating(t, people["maker"], "s", &api.Escalation{Steps: []api.EscalationStep{
		{Notify: []string{"user:ada"}}, {AfterMs: time.Hour.Milliseconds(), Notify: []string{"user:ada"}},
	}})
	sent := func() int {
		effects := s.effects(t, reads.EffectQuery{WebhookID: model.NoticeWebhookID("board"), State: api.EffectDone, Limit: 20})
		return len(effects)
	}
	// Steps that are due together are one message, so the second is due only after the first was sent.
	eventually(t, "the first message was sent", func() bool { return sent() == 1 })
	s.later.Store(time.Hour.Milliseconds())
	raiseEscalating(t, people["maker"], "wakes-the-loop", &api.Escalation{Steps: []api.EscalationStep{{AfterMs: time.Hour.Milliseconds(), Notify: []string{"user:ada"}}}})
	eventually(t, "two messages were sent", func() bool { return sent() == 2 })
	require.Len(t, b.of("ada"), 1)
	s.resolve(t, people["ada"], runID, api.BehaviorAllow, "a")
	eventually(t, "the withdrawal", func() bool {
		texts := b.of("ada")
		return len(texts) == 1 && strings.Contains(texts[0], "allowed by user:ada")
	})
	s.healthy(t)
}
