package notify_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// A channel that panics fails its message or withdrawal, which is tried again. It does not end the process.
func TestAPanicOfAChannelIsItsFailure(t *testing.T) {
	t.Parallel()
	s := startReplicas(t, inprocess.Memory)
	message := s.message(t, "user:ada", 0)
	fails := func() { s.board.hold(func(context.Context, string) { panic("a defect of the channel") }) }
	fails()
	permanent, err := s.send.Send(t.Context(), message)
	require.ErrorContains(t, err, "a message panicked: a defect of the channel")
	require.False(t, permanent)
	s.board.hold(nil)
	s.sends(t, message)
	require.Len(t, s.board.of("ada"), 1)
	require.NotContains(t, s.board.of("ada")[0], "denied")

	s.settle(t)
	fails()
	_, err = s.send.Send(t.Context(), s.withdrawal(t))
	require.Error(t, err)
	s.board.hold(nil)
	s.sends(t, s.withdrawal(t))
	require.Contains(t, s.board.of("ada")[0], "denied by user:local")
	require.Contains(t, s.log.String(), "recovered from a panic")
}

// pressing is a channel that hands on one press.
type pressing struct {
	*board
	replies chan notify.PressReply
}

func (pressing) Whole(text string) (string, bool) { return text, true }
func (pressing) LastError() string                { return "" }

func (p pressing) Listen(ctx context.Context, press func(context.Context, *notify.Press) notify.PressReply) error {
	p.replies <- press(ctx, &notify.Press{Secret: auth.NewLinkSecret(), Behavior: api.BehaviorAllow})
	return nil
}

// A press that panics is answered, and does not end the process.
func TestAPanicOfAPressIsAnswered(t *testing.T) {
	t.Parallel()
	channel := pressing{newBoard(), make(chan notify.PressReply, 1)}
	service := notify.New(notify.Options{
		Store:    nil, // each call panics
		Channels: map[string]notify.Channel{"board": channel}, ExternalURL: "https://holdpoint.example",
		NowMs: func() int64 { return time.Now().UnixMilli() }, Logger: slog.New(slog.DiscardHandler),
		Decide: func(context.Context, runs.Command) error { return nil },
	})
	listeners := service.Listeners()
	require.Len(t, listeners, 1)
	require.NoError(t, listeners[0](t.Context()))
	require.Equal(t, notify.PressReply{
		Text: "Your decision could not be recorded. Press again, or open the request in holdpoint.", Link: "https://holdpoint.example",
	}, <-channel.replies)
}
