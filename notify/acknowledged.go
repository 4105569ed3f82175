package notify

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// maxHoldMs bounds how long a message is held back before the service looks at the request again.
const maxHoldMs = 60_000

// gone returns the people who acknowledged a request and have no credential any more.
func (s *Service) gone(ctx context.Context, request *model.Request) ([]string, error) {
	if s.options.HasCredential == nil {
		return nil, nil
	}
	var gone []string
	for _, a := range request.Acknowledgements() {
		has, err := s.options.HasCredential(ctx, a.By, a.ViaPrincipal)
		if err != nil {
			return nil, err
		}
		if !has {
			gone = append(gone, a.By)
		}
	}
	return gone, nil
}

// maxSnoozeHoldMs is maxHoldMs for the message to a person who snoozes the request.
const maxSnoozeHoldMs = 3_600_000

// heldBack returns a *runs.PutOffError while somebody else is looking at the request, or while the
// person snoozes it and somebody else of the deciders can be notified.
func (s *Service) heldBack(ctx context.Context, request *model.Request, principal string, deciders []string) error {
	if request.Acknowledgement == nil {
		return nil
	}
	nowMs, err := s.options.Reader.NowMs(ctx)
	if err != nil {
		return err
	}
	gone, err := s.gone(ctx, request)
	if err != nil {
		return err
	}
	if untilMs := request.SnoozedAt(nowMs)[principal]; untilMs != 0 {
		others, err := s.anyReachable(ctx, request, deciders, nowMs)
		if err != nil {
			return err
		}
		if others {
			return &runs.PutOffError{Ms: min(untilMs-nowMs, maxSnoozeHoldMs)}
		}
	}
	untilMs := int64(0)
	for _, a := range request.AcknowledgedAt(nowMs) {
		if a.By != principal && !slices.Contains(gone, a.By) {
			untilMs = max(untilMs, a.UntilMs)
		}
	}
	if untilMs == 0 {
		return nil
	}
	return &runs.PutOffError{Ms: min(untilMs-nowMs, maxHoldMs)}
}

// anyReachable reports whether one of the deciders has a verified address on a channel and does not snooze the request.
func (s *Service) anyReachable(ctx context.Context, request *model.Request, deciders []string, nowMs int64) (bool, error) {
	snoozed := request.SnoozedAt(nowMs)
	addresses, err := s.options.Store.Addresses(ctx, deciders)
	return slices.ContainsFunc(s.inOrder(addresses), func(a *Address) bool { return snoozed[a.Principal] == 0 }), err
}
