package serve

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	assembly "github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/notify/channels"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// readChannels reads the file of --channels.
func (s *service) readChannels() (err error) {
	s.caller = egress.New(egress.Options{Guard: s.guard})
	if s.Channels == "" {
		return nil
	}
	if s.channels, err = channels.Load(s.Channels, s.caller); err != nil {
		return err
	}
	s.escalations, s.onCall, err = channels.Escalations(s.Channels, s.caller)
	return err
}

// pushKeyFile returns the path of the key for notifications in browsers; "" if there are none.
func (s *service) pushKeyFile() string {
	if s.NotifyAfter == 0 {
		return ""
	}
	return assembly.PushKeyFile(s.PushKeyFile, s.Database)
}

// warnOfMissingLinks logs which channels send messages without their links.
func (s *service) warnOfMissingLinks() {
	if s.ExternalURL != "" {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.channels)) {
		if s.channels[name].Links() != api.LinkNone {
			s.logger.Warn("messages have no links: set --external-url, or links: none for the channel", slog.String("channel", name))
		}
	}
}

// warnOfUnreadableAddresses logs that the service refuses to call public addresses, because it cannot tell
// those of this machine from others.
func (s *service) warnOfUnreadableAddresses() {
	if err := s.guard.CheckOwn(); err != nil {
		s.logger.Warn("webhooks, callbacks and messages to public addresses fail; a sandbox must allow AF_NETLINK", slog.Any("error", err))
	}
}

// addPush adds the channel to browsers. Call it once the database is open, whose folder has the key.
func (s *service) addPush() error {
	s.warnOfMissingLinks()
	options := channels.PushOptions{ExternalURL: s.ExternalURL, Client: s.caller, CheckURL: s.guard.CheckURL, NowMs: assembly.NowMs}
	var err error
	if path := s.pushKeyFile(); path != "" {
		if options.Key, err = channels.LoadPushKey(path); err != nil {
			return console.Usage("%w; name another file with --push-key-file", err)
		}
	}
	if s.channels, err = channels.WithPush(s.channels, options); err != nil {
		return console.Usage("%w; name its file with --push-key-file", err)
	}
	if s.Channels != "" && len(s.channels) == 0 {
		s.logger.Warn("nobody can be notified: the file of --channels has no channels, and there is no key for browsers (--push-key-file)")
	}
	return nil
}

// notifyAfter returns how long a request is open before people are told of it, 0 for never.
func (s *service) notifyAfter() time.Duration {
	if s.Channels == "" && s.pushKeyFile() == "" {
		return 0
	}
	return s.NotifyAfter
}
