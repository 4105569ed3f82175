package notify

import (
	"context"
	"net/url"

	"github.com/holdpoint/holdpoint/api"
)

// Told is what is open of a session, of what a person had a message about.
type Told struct {
	Open int64
	// Handle is one of them, and UntilMs the latest deadline; 0 if one of them has none.
	Handle  string
	UntilMs int64
}

// together changes a message to a browser, which shows one notification for each session: if the person was told of other
// requests of the session that are still open, the message says how many are open. It then opens all of them and denies none, because the
// notification that it replaces may be pressed at this moment. What is written before the call counts.
func (s *Service) together(ctx context.Context, channel Channel, principal string, m *Message) error {
	if channel.Kind() != api.ChannelPush || m.Thread == "" {
		return nil
	}
	nowMs, err := s.options.Reader.NowMs(ctx)
	if err != nil {
		return err
	}
	told, err := s.options.Store.Told(ctx, m.Thread, api.PushChannel, principal)
	if err != nil {
		return err
	}
	m.AtMs = nowMs
	switch {
	case told.Open == 0, told.Open == 1 && m.Kind != KindSettled:
		return nil
	case told.Open == 1:
		m.Path, m.Link = s.linkTo(told.Handle)
	default:
		m.Path, m.Link = s.linked("/sessions/" + url.PathEscape(m.Thread))
	}
	m.Subject, m.Handle, m.UntilMs = openText(told.Open), "", told.UntilMs
	m.compose()
	return nil
}
