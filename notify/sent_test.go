package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// replicas send the messages about one open request when a test says so. The service has no loops that do.
type replicas struct {
	*service
	board *board
	send  *notify.Service
	runID string
	open  *model.Request
	// later is how far the database's clock is ahead, in milliseconds.
	later atomic.Int64
	// stands is the time at which that clock stands still; 0 if it runs.
	stands atomic.Int64
}

// laterReader is a reader whose clock is ahead.
type laterReader struct {
	notify.Reader
	later, stands *atomic.Int64
}

func (r laterReader) NowMs(ctx context.Context) (int64, error) {
	if standsMs := r.stands.Load(); standsMs != 0 {
		return standsMs + r.later.Load(), nil
	}
	nowMs, err := r.Reader.NowMs(ctx)
	return nowMs + r.later.Load(), err
}

// startReplicas raises a request that Ada and Ben may decide. Both have an address at the board, or at the other
// channel in its place.
func startReplicas(t *testing.T, database string, other ...notify.Channel) *replicas {
	t.Helper()
	s := &replicas{service: &service{database: database, log: &safeBuffer{}}, board: newBoard()}
	s.Service = inprocess.Start(t, database, inprocess.Options{Logger: s.log.logger()})
	s.client = s.Connect()
	stored := storeAs[notify.Store](t, s.Store)
	var channel notify.Channel = s.board
	if len(other) > 0 {
		channel = other[0]
	}
	s.send = s.sender(t, stored, channel)
	for _, name := range []string{"ada", "ben"} {
		added, err := stored.AddSubscription(t.Context(), &notify.Address{
			AddressID: "address_" + name, Principal: "user:" + name, Channel: "board", Address: name, VerifiedAtMs: 1, CreatedAtMs: 1,
		}, auth.EntryBy(nil, 1, api.AuditEvent{Type: api.AuditAddressAdded}))
		require.NoError(t, err)
		require.True(t, added)
	}
	s.runID = raise(t, s.client, "s", "a")
	record := s.recordOf(t, s.runID)
	s.open = &record.Requests[0]
	return s
}

// sender returns what sends the messages of a store on a channel.
func (s *replicas) sender(t *testing.T, stored notify.Store, channel notify.Channel) *notify.Service {
	t.Helper()
	return s.senderOf(t, stored, storeAs[notify.Reader](t, s.Store), channel)
}

func (s *replicas) senderOf(t *testing.T, stored notify.Store, reader notify.Reader, channel notify.Channel) *notify.Service {
	t.Helper()
	return notify.New(notify.Options{
		Store: stored, Reader: laterReader{reader, &s.later, &s.stands}, Channels: map[string]notify.Channel{"board": channel}, ExternalURL: "https://holdpoint.example",
		NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() }, Logger: s.log.logger(),
		Deciders: func(context.Context, *model.Run, *model.Request) ([]string, error) {
			return []string{"user:ada", "user:ben"}, nil
		},
	})
}

// message returns the effect of a message to a person, and withdrawal the one that withdraws all of them.
func (s *replicas) message(t *testing.T, who string, step int64) *model.Effect {
	t.Helper()
	return s.effect(t, model.NoticeEffectID("board", s.open.Handle, who, step), &model.PersonNotice{Principal: who, Step: step})
}

func (s *replicas) withdrawal(t *testing.T) *model.Effect {
	t.Helper()
	return s.effect(t, model.WithdrawalEffectID("board", s.open.Handle), &model.PersonNotice{Withdraws: true})
}

func (s *replicas) effect(t *testing.T, id string, notice *model.PersonNotice) *model.Effect {
	t.Helper()
	notice.RequestHandle, notice.RequestID, notice.Channel = s.open.Handle, s.open.RequestID, "board"
	text, err := json.Marshal(notice)
	require.NoError(t, err)
	return &model.Effect{EffectID: id, Kind: api.EffectNotify, Payload: text}
}

// sends sends a message, which must succeed.
func (s *replicas) sends(t *testing.T, effect *model.Effect) {
	t.Helper()
	_, err := s.send.Send(t.Context(), effect)
	require.NoError(t, err)
}

// putOff returns for how long sending is put off.
func (s *replicas) putOff(t *testing.T, effect *model.Effect) int64 {
	t.Helper()
	_, err := s.send.Send(t.Context(), effect)
	var putOff *runs.PutOffError
	require.ErrorAs(t, err, &putOff)
	return putOff.Ms
}

// hang begins to send a message. It returns once the channel has been called, whose call ends with goOn.
func (s *replicas) hang(t *testing.T, effect *model.Effect) (goOn func() error) {
	t.Helper()
	begun, free, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s.board.hold(func(context.Context, string) { close(begun); <-free })
	go func() {
		_, err := s.send.Send(context.WithoutCancel(t.Context()), effect)
		ended <- err
	}()
	<-begun
	s.board.hold(nil)
	return func() error { close(free); return <-ended }
}

func (s *replicas) settle(t *testing.T) {
	t.Helper()
	s.resolve(t, s.client, s.runID, api.BehaviorDeny, "a")
}

// Two messages to a person about a request, of two steps, follow one another, and the newer one stays.
func TestTwoMessagesAtOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := startReplicas(t, database)
		first, second := s.message(t, "user:ada", 0), s.message(t, "user:ada", 1)
		goOn := s.hang(t, first)
		require.Equal(t, int64(5_000), s.putOff(t, second), "sending takes a moment, and not the whole lease of an attempt")
		require.Empty(t, s.board.of("ada"))
		s.sends(t, s.message(t, "user:ben", 0))
		require.NoError(t, goOn())
		s.sends(t, second)
		require.Len(t, s.board.of("ada"), 1)
		require.Equal(t, []string{second.EffectID}, s.board.ids("ada"))
		s.settle(t)
		s.sends(t, s.withdrawal(t))
		require.Contains(t, s.board.of("ada")[0], "denied by user:local")
		require.Contains(t, s.board.of("ben")[0], "denied by user:local")
	})
}

// An operator retries a message while a replica is sending it: a person sees it once.
func TestAMessageThatTwoReplicasSend(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := startReplicas(t, database)
		message := s.message(t, "user:ada", 0)
		goOn := s.hang(t, message)
		s.putOff(t, message)
		require.NoError(t, goOn())
		s.sends(t, message)
		require.Len(t, s.board.of("ada"), 1)
		require.Zero(t, s.board.repeats())
	})
}

// A replica was frozen while it sent a message, for longer than the others wait.
func TestAFrozenReplicaLeavesNoMessage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(*testing.T, *replicas)
		shown     string
	}{
		"another attempt": {func(t *testing.T, s *replicas) { s.sends(t, s.message(t, "user:ada", 0)) }, "wants to use"},
		"a newer message": {func(t *testing.T, s *replicas) { s.sends(t, s.message(t, "user:ada", 1)) }, "wants to use"},
		"the withdrawal": {func(t *testing.T, s *replicas) {
			s.settle(t)
			s.sends(t, s.withdrawal(t))
			require.Empty(t, s.board.of("ada"))
		}, "denied by user:local"},
	} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, database string) {
				s := startReplicas(t, database)
				goOn := s.hang(t, s.message(t, "user:ada", 0))
				s.later.Store(model.WebhookLeaseMs + 1_000)
				test.meanwhile(t, s)
				require.NoError(t, goOn())
				require.Len(t, s.board.of("ada"), 1)
				require.Contains(t, s.board.of("ada")[0], test.shown)
			})
		})
	}
}

// A failed attempt is over: the next one, and the withdrawal, do not wait for it.
func TestAfterAFailedAttempt(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := startReplicas(t, database)
		broken := errors.New("the connection broke")
		s.board.fail(broken)
		for _, who := range []string{"user:ada", "user:ben"} {
			_, err := s.send.Send(t.Context(), s.message(t, who, 0))
			require.ErrorIs(t, err, broken)
		}
		s.board.fail(nil)
		s.sends(t, s.message(t, "user:ada", 0))
		require.Equal(t, 1, s.board.repeats())
		s.settle(t)
		s.sends(t, s.withdrawal(t))
		for _, name := range []string{"ada", "ben"} {
			require.Len(t, s.board.of(name), 1)
			require.Contains(t, s.board.of(name)[0], "denied by user:local")
		}
	})
}

// A message that is being sent when its request is settled is withdrawn once it is sent.
func TestAMessageThatIsBeingSentIsWithdrawn(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := startReplicas(t, database)
		goOn := s.hang(t, s.message(t, "user:ada", 0))
		s.settle(t)
		s.putOff(t, s.withdrawal(t))
		require.NoError(t, goOn())
		s.sends(t, s.withdrawal(t))
		require.Len(t, s.board.of("ada"), 1)
		require.Contains(t, s.board.of("ada")[0], "denied by user:local")
		_, err := s.send.Send(t.Context(), s.message(t, "user:ben", 0))
		require.NoError(t, staysQuiet(s.board.of("ben"), err))
	})
}

// An attempt ends before another replica may begin the next one, however many calls it makes.
func TestAnAttemptEndsBeforeItsLease(t *testing.T) {
	t.Parallel()
	s := startReplicas(t, inprocess.Memory)
	calls := 0
	s.board.hold(func(ctx context.Context, _ string) {
		deadline, has := ctx.Deadline()
		require.True(t, has)
		require.Less(t, time.Until(deadline), model.WebhookLeaseMs*time.Millisecond)
		calls++
	})
	s.sends(t, s.message(t, "user:ada", 0))
	s.settle(t)
	s.sends(t, s.withdrawal(t))
	require.Equal(t, 2, calls)
}

// A receiver that hangs does not keep the messages of other people as they were.
func TestAReceiverThatHangsHoldsUpNoWithdrawal(t *testing.T) {
	t.Parallel()
	s := startReplicas(t, inprocess.Memory)
	s.sends(t, s.message(t, "user:ada", 0))
	s.sends(t, s.message(t, "user:ben", 0))
	s.settle(t)
	free := make(chan struct{})
	s.board.hold(func(_ context.Context, address string) {
		if address == "ada" {
			<-free
		}
	})
	ended, withdrawal := make(chan error, 1), s.withdrawal(t)
	go func() {
		_, err := s.send.Send(context.WithoutCancel(t.Context()), withdrawal)
		ended <- err
	}()
	require.Equal(t, "ben", <-s.board.withdrawn)
	close(free)
	require.NoError(t, <-ended)
	require.Contains(t, s.board.of("ada")[0], "denied by user:local")
}
