package notify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// board is a channel that shows what is visible to each address.
type board struct {
	mu    sync.Mutex
	shown map[string]map[string]string // by address and message
	codes *inbox
	// fails is the error of the next calls, after they did their work.
	fails error
	// sending is called by Send; nil does nothing.
	sending func()
	// repeated counts messages that an earlier attempt may have sent.
	repeated int
}

func newBoard() *board { return &board{shown: map[string]map[string]string{}, codes: &inbox{}} }

func (b *board) Kind() api.ChannelKind     { return api.ChannelHTTP }
func (b *board) Summary() bool             { return false }
func (b *board) Links() api.LinkMode       { return api.LinkSignIn }
func (b *board) CheckAddress(string) error { return nil }

func (b *board) Send(_ context.Context, address string, m *notify.Message) error {
	if m.Kind != "approval" {
		b.codes.add(m.Text)
		return nil
	}
	if b.sending != nil {
		b.sending()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.Repeated {
		b.repeated++
	}
	if b.shown[address] == nil {
		b.shown[address] = map[string]string{}
	}
	m.Reference = "ref " + m.ID
	b.shown[address][m.ID] = m.Text
	return b.fails
}

func (b *board) Withdraw(_ context.Context, address string, sent *notify.SentMessage, m *notify.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if sent.SentAtMs != 0 && sent.Reference != "ref "+sent.MessageID {
		return fmt.Errorf("reference %q", sent.Reference)
	}
	if b.shown[address][sent.MessageID] == "" {
		return nil
	}
	delete(b.shown[address], sent.MessageID)
	if m != nil {
		b.shown[address][sent.MessageID] = m.Body
	}
	return b.fails
}

// of returns what an address shows.
func (b *board) of(address string) (texts []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.shown[address] {
		texts = append(texts, text)
	}
	return texts
}

func (b *board) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = err
}

// withBoard starts a service whose only channel is a board.
func withBoard(t *testing.T, database string, b *board) *service {
	t.Helper()
	s := &service{database: database, log: &safeBuffer{}}
	s.Service = inprocess.Start(t, database, inprocess.Options{
		Channels: map[string]notify.Channel{"board": b}, ExternalURL: "https://holdpoint.example", Closed: true, Logger: s.log.logger(),
		Store: store.Options{NotifyAfter: time.Second},
		NowMs: func() int64 { return time.Now().UnixMilli() + s.ahead.Load() },
	})
	return s
}

// pendingNotices returns the unsent messages and withdrawals of the board.
func (s *service) pendingNotices(t *testing.T) []model.Effect {
	t.Helper()
	effects, err := s.Store.Effects(t.Context(), runs.EffectQuery{WebhookID: model.NoticeWebhookID("board"), State: api.EffectPending, Limit: 20})
	require.NoError(t, err)
	return effects
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
	t.Parallel()
	onEngines(t, func(t *testing.T, database string) {
		b := newBoard()
		s := withBoard(t, database, b)
		people := s.people(t)
		for _, name := range []string{"ada", "ben"} {
			s.verified(t, people[name], "board", name, b.codes)
		}
		runID := raise(t, people["maker"], "s", "a", "b")
		eventually(t, "both are told of both", func() bool { return len(b.of("ada")) == 2 && len(b.of("ben")) == 2 && len(s.pendingNotices(t)) == 0 })
		b.fail(errors.New("not now"))
		s.resolve(t, people["ben"], runID, api.BehaviorDeny, "a")
		eventually(t, "a failed withdrawal", func() bool { w := s.withdrawal(t); return w != nil && w.LastError != "" })
		b.fail(nil)
		_, err := people["ada"].RetryEffect(t.Context(), "s", s.withdrawal(t).EffectID)
		require.NoError(t, err)
		eventually(t, "the withdrawal", func() bool { return len(s.pendingNotices(t)) == 0 })
		for _, name := range []string{"ada", "ben"} {
			texts := strings.Join(b.of(name), "|")
			require.Len(t, b.of(name), 2)
			require.Equal(t, 1, strings.Count(texts, "denied by user:ben"), texts)
			require.Equal(t, 1, strings.Count(texts, "wants to use"), "the other request is open")
		}
		s.healthy(t)
	})
}

// A message that was being sent when its request was settled is withdrawn, too.
func TestAMessageThatIsBeingSentIsWithdrawn(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, database string) {
		b := newBoard()
		begun, goOn := make(chan struct{}), make(chan struct{})
		b.sending = func() { begun <- struct{}{}; <-goOn }
		s := withBoard(t, database, b)
		people := s.people(t)
		s.verified(t, people["ada"], "board", "ada", b.codes)
		runID := raise(t, people["maker"], "s", "a")
		<-begun
		s.resolve(t, people["ben"], runID, api.BehaviorAllow, "a")
		eventually(t, "the withdrawal waits, or is at work", func() bool { w := s.withdrawal(t); return w != nil && w.DueAtMs > time.Now().UnixMilli()+1_000 })
		close(goOn)
		retried := false
		eventually(t, "the withdrawal", func() bool {
			// One that was at work may have met the message once it was sent. One that waits is hurried, once.
			if w := s.withdrawal(t); w != nil && len(b.of("ada")) == 1 && !retried {
				_, err := people["ada"].RetryEffect(t.Context(), "s", w.EffectID)
				retried = err == nil
			}
			return len(s.pendingNotices(t)) == 0
		})
		require.Len(t, b.of("ada"), 1)
		require.Contains(t, b.of("ada")[0], "allowed by user:ben")
		s.healthy(t)
	})
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
	b.fail(nil)
	_, err := people["ada"].RetryEffect(t.Context(), "s", s.pendingNotices(t)[0].EffectID)
	require.NoError(t, err)
	eventually(t, "the message", func() bool { return len(s.pendingNotices(t)) == 0 })
	require.Equal(t, 1, b.repeated)
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
		{Notify: []string{"user:ada"}}, {AfterMs: 1_000, Notify: []string{"user:ada"}},
	}})
	eventually(t, "two messages were sent", func() bool {
		effects, err := s.Store.Effects(t.Context(), runs.EffectQuery{WebhookID: model.NoticeWebhookID("board"), State: api.EffectDone, Limit: 20})
		require.NoError(t, err)
		return len(effects) == 2
	})
	require.Len(t, b.of("ada"), 1)
	s.resolve(t, people["ada"], runID, api.BehaviorAllow, "a")
	eventually(t, "the withdrawal", func() bool {
		texts := b.of("ada")
		return len(texts) == 1 && strings.Contains(texts[0], "allowed by user:ada")
	})
	s.healthy(t)
}
