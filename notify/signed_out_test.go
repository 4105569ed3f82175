package notify_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// codes is a channel whose links take codes.
type codes struct{ failing }

func (*codes) Links() api.LinkMode { return api.LinkCode }

// A person whose sign-in ended is still notified: their link leads to the inbox and takes no code until the next sign-in. It
// is unknown like any other once they may not decide.
func TestTheLinkOfAPersonWhoseSignInEnded(t *testing.T) {
	t.Parallel()
	s := startLinked(t, inprocess.Memory)
	mail, runID := s.asks(t, "s")
	stored := storeAs[notify.Store](t, s.Store)
	reader := storeAs[notify.Reader](t, s.Store)
	deciders := []string{"user:ada"}
	later := notify.New(notify.Options{
		Store: stored, Reader: reader, Channels: map[string]notify.Channel{"mail": &codes{}}, NewID: runs.NewID,
		NowMs: func() int64 { return time.Now().UnixMilli() }, Logger: s.log.logger(),
		ByLink:   func(context.Context, string, *model.Run) (*auth.Identity, error) { return nil, nil },
		Deciders: func(context.Context, *model.Run, *model.Request) ([]string, error) { return deciders, nil },
	})
	secret := strings.TrimPrefix(mail.path, "/l/")
	link, err := later.Link(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, runID, link.Request.RunID)
	require.Nil(t, link.Person)
	require.False(t, link.TakesCode)
	right, _, err := later.EnterCode(t.Context(), link, mail.code)
	require.False(t, right)
	require.Equal(t, api.CodeLinkNotFound, refusal.CodeOf(err))

	_, unknown := later.Link(t.Context(), auth.NewLinkSecret())
	require.Equal(t, api.CodeLinkNotFound, refusal.CodeOf(unknown))
	deciders = []string{"user:ben"}
	_, err = later.Link(t.Context(), secret)
	require.Equal(t, unknown, err)
}

// A person whose sign-in ended is told to sign in, and one who may not decide any more is told that.
func TestAPressAfterTheSignInEnded(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	runID, post := s.asks(t, "s", restart)
	stored := storeAs[notify.Store](t, s.Store)
	reader := storeAs[notify.Reader](t, s.Store)
	channel, deciders := &contentless{}, []string{"user:ada"}
	later := notify.New(notify.Options{
		Store: stored, Reader: reader, Channels: map[string]notify.Channel{"slack": channel}, NewID: runs.NewID,
		NowMs: func() int64 { return time.Now().UnixMilli() }, Logger: s.log.logger(),
		ByLink:   func(context.Context, string, *model.Run) (*auth.Identity, error) { return nil, nil },
		Deciders: func(context.Context, *model.Run, *model.Request) ([]string, error) { return deciders, nil },
		Decide:   func(context.Context, runs.Command) error { return errors.New("nobody decides") },
	})
	require.NoError(t, later.Listeners()[0](t.Context()))
	press := func() string {
		return channel.press(t.Context(), &notify.Press{Address: slackAda, Secret: post.Values(t)["deny"], Behavior: api.BehaviorDeny}).Text
	}
	require.Equal(t, "Sign in to holdpoint first.", press())
	deciders = nil
	require.Equal(t, "You may not decide this request any more.", press())
	require.Nil(t, s.recorded(t, runID))

	s.resolve(t, s.people["ada"], runID, api.BehaviorDeny, "a")
	require.Equal(t, "You may not decide this request any more.", press(), "the outcome is for people who may")
	deciders = []string{"user:ada"}
	require.Equal(t, "Already decided: denied by user:ada.", press())
}
