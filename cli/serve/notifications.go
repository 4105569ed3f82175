package serve

import (
	"time"

	"github.com/holdpoint/holdpoint/notify/channels"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// readChannels reads the file of --channels.
func (s *service) readChannels() (err error) {
	if s.Channels == "" {
		return nil
	}
	s.channels, err = channels.Load(s.Channels, egress.New(egress.Options{Guard: s.guard}))
	return err
}

// notifyAfter returns how long a request is open before people are told of it, 0 for never.
func (s *service) notifyAfter() time.Duration {
	if s.channels == nil {
		return 0
	}
	return s.NotifyAfter
}
