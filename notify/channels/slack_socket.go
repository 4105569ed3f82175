package channels

import (
	"context"
	"errors"
	"net/http"
	"path"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

const (
	// pressesAtOnce is the maximum number of presses that a replica decides at once.
	pressesAtOnce = 8
	// pressTimeout bounds a press and its reply.
	pressTimeout = 10 * time.Second
	// reconnectPause follows a connection that Slack refused. Others are made again by the library.
	reconnectPause = time.Minute
	// A connection that ends is made again at once, but after a few only every reconnectPace: a proxy that closes each
	// connection is not called all the time.
	reconnectPace    = 10 * time.Second
	reconnectsAtOnce = 3
)

// openMethod is the method that precedes each connection.
const openMethod = "apps.connections.open"

// pacedClient calls Slack. It delays calls that precede a connection: the library has no pause between connections that
// were made and ended.
type pacedClient struct {
	client *egress.Client
	opens  *rate.Limiter
}

// Do sends a request.
func (p *pacedClient) Do(r *http.Request) (*http.Response, error) {
	if path.Base(r.URL.Path) == openMethod {
		if err := p.opens.Wait(r.Context()); err != nil {
			return nil, err
		}
	}
	return p.client.Do(r)
}

// LastError implements notify.Listener.
func (s *slackChannel) LastError() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastError
}

func (s *slackChannel) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastError = text
}

// Listen implements notify.Listener. Slack hands each press to one of the connections of an app, so each
// replica has one.
func (s *slackChannel) Listen(ctx context.Context, press func(context.Context, *notify.Press) notify.PressReply) error {
	for ctx.Err() == nil {
		err := s.connected(ctx, press)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end that was asked for
		}
		s.note("Socket Mode: " + slackFailure(err).Error())
		select {
		case <-ctx.Done():
		case <-time.After(reconnectPause):
		}
	}
	return nil
}

// connected takes presses until Slack refuses a connection or ctx ends.
func (s *slackChannel) connected(ctx context.Context, press func(context.Context, *notify.Press) notify.PressReply) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := socketmode.New(s.client, s.socket...)
	ended := make(chan error, 1)
	go func() { ended <- client.RunContext(ctx) }()
	var group errgroup.Group
	group.SetLimit(pressesAtOnce)
	defer func() { _ = group.Wait() }() // no function returns an error
	for {
		select {
		case err := <-ended:
			if err == nil {
				err = errors.New("the connection ended")
			}
			return err
		case event := <-client.Events:
			s.take(ctx, client, &event, func(decide func()) {
				group.Go(func() error { decide(); return nil })
			}, press)
		}
	}
}

// take handles an event of the connection.
func (s *slackChannel) take(ctx context.Context, client *socketmode.Client, event *socketmode.Event, start func(func()), press func(context.Context, *notify.Press) notify.PressReply) {
	switch event.Type { //nolint:exhaustive // the others are not for us
	case socketmode.EventTypeConnected:
		s.note("")
	case socketmode.EventTypeConnectionError:
		if failed, is := event.Data.(*slack.ConnectionErrorEvent); is {
			s.note("Socket Mode: " + slackFailure(failed.ErrorObj).Error())
		}
	case socketmode.EventTypeInteractive:
		callback, is := event.Data.(slack.InteractionCallback)
		if !is || event.Request == nil {
			return
		}
		start(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pressTimeout)
			defer cancel()
			s.pressed(ctx, &callback, press)
			// Slack shows a warning at the button until the press is acknowledged, which is once it is decided.
			_ = client.AckCtx(ctx, event.Request.EnvelopeID, nil) // only ctx ends it
		})
	default:
		if event.Request != nil && event.Request.EnvelopeID != "" {
			_ = client.AckCtx(ctx, event.Request.EnvelopeID, nil) // as above
		}
	}
}

// pressed hands on the presses of an interaction. Slack says who pressed.
func (s *slackChannel) pressed(ctx context.Context, callback *slack.InteractionCallback, press func(context.Context, *notify.Press) notify.PressReply) {
	if callback.Type != slack.InteractionTypeBlockActions {
		return
	}
	for _, action := range callback.ActionCallback.BlockActions {
		if action == nil || action.ActionID == actionOpen {
			continue
		}
		reply := press(ctx, &notify.Press{Address: callback.User.ID, Secret: action.Value, Behavior: api.Behavior(action.ActionID)})
		if reply.Text != "" {
			s.tell(ctx, callback, reply)
		}
	}
}

// tell shows a reply to the person who pressed, and to nobody else.
func (s *slackChannel) tell(ctx context.Context, callback *slack.InteractionCallback, reply notify.PressReply) {
	blocks := []slack.Block{slack.NewRichTextBlock("", slack.NewRichTextSection(slack.NewRichTextSectionTextElement(reply.Text, nil)))}
	if reply.Link != "" {
		blocks = append(blocks, slack.NewActionBlock("", openButton(reply.Link)))
	}
	message := []slack.MsgOption{slack.MsgOptionText(reply.Text, true), slack.MsgOptionBlocks(blocks...), slack.MsgOptionDisableLinkUnfurl()}
	if _, err := s.client.PostEphemeralContext(ctx, callback.Channel.ID, callback.User.ID, message...); err == nil {
		return
	}
	// The app is not in that conversation.
	if _, _, err := s.client.PostMessageContext(ctx, callback.User.ID, message...); err != nil {
		s.note("a reply to a press was not sent: " + slackFailure(err).Error())
	}
}
