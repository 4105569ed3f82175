package notify

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// presenceHoldMs bounds how long a message is held back before the service looks again whether its person has left
// the inbox.
const presenceHoldMs = 30_000

// SetPresence records that a person is looking at their inbox, for api.PresenceMs, or that they have left it.
func (s *Service) SetPresence(ctx context.Context, principal string, visible bool) error {
	untilMs := int64(0)
	if visible {
		nowMs, err := s.options.Reader.NowMs(ctx)
		if err != nil {
			return err
		}
		untilMs = nowMs + api.PresenceMs
	}
	return s.options.Store.SetPresence(ctx, principal, untilMs)
}

// atInbox returns a *runs.PutOffError while the person is looking at their inbox, unless an escalation was configured
// for the request. If that cannot be read, the message is sent.
func (s *Service) atInbox(ctx context.Context, request *model.Request, principal string) error {
	if request.Escalates() {
		return nil
	}
	leftMs, nowMs, err := s.presence(ctx, principal)
	if err != nil {
		s.options.Logger.WarnContext(ctx, "the presence of a person cannot be read", errorAttr(err))
		return nil
	}
	if leftMs <= 0 || leftMs > api.PresenceMs { // later than that only if the clock was set back
		return nil
	}
	holdMs := min(leftMs, presenceHoldMs)
	if request.DueAtMs != 0 {
		// A person who leaves shortly before the deadline must still get the message in time.
		holdMs = min(holdMs, max((request.DueAtMs-nowMs)/2, 1_000))
	}
	return &runs.PutOffError{Ms: holdMs, Why: model.HeldAtInbox}
}

// presence returns how long a person still counts as looking at their inbox.
func (s *Service) presence(ctx context.Context, principal string) (leftMs, nowMs int64, err error) {
	untilMs, err := s.options.Store.Presence(ctx, principal)
	if err != nil || untilMs == 0 {
		return 0, 0, err
	}
	nowMs, err = s.options.Reader.NowMs(ctx)
	return untilMs - nowMs, nowMs, err
}
