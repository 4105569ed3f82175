package notify

import (
	"context"
	"math"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// presenceHoldMs bounds how long a message is held back before the service looks again whether its person has left
// the inbox.
const presenceHoldMs = 30_000

// SetPresence records that a person is looking at their inbox, for api.PresenceMs, and at which request, or that they
// have left it. It refuses a request that the caller cannot read with request_not_found.
func (s *Service) SetPresence(ctx context.Context, caller *auth.Identity, said *api.PresenceBody) error {
	person := reads.Viewer{Principal: caller.Principal}
	if !said.Visible {
		return s.options.Store.SetPresence(ctx, &person, 0, math.MaxInt64)
	}
	if said.Viewing != nil && *said.Viewing != "" {
		found, err := s.options.Reader.Within(reads.ScopeOf(caller)).DecisionByHandle(ctx, *said.Viewing)
		if err != nil {
			return err
		}
		if found.Request.Open() {
			person.Handle, person.SessionID, person.AgentID = found.Request.Handle, found.Request.SessionID, found.AgentID
		}
	}
	nowMs, err := s.options.Reader.NowMs(ctx)
	if err != nil {
		return err
	}
	keepAfterMs := nowMs
	if said.Viewing != nil {
		keepAfterMs = math.MaxInt64
	}
	return s.options.Store.SetPresence(ctx, &person, nowMs+api.PresenceMs, keepAfterMs)
}

// Viewers returns the people who have a request open in their inbox, by principal, at most api.MaxViewers.
func (s *Service) Viewers(ctx context.Context, nowMs int64) ([]reads.Viewer, error) {
	return s.options.Store.Viewers(ctx, nowMs, api.MaxViewers)
}

// atInbox returns a *runs.PutOffError while the person is looking at their inbox, unless an escalation was configured
// for the request, nil for several requests. If that cannot be read, the message is sent.
func (s *Service) atInbox(ctx context.Context, request *model.Request, principal string) error {
	if request != nil && request.Escalates() {
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
	if request != nil && request.DueAtMs != 0 {
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
