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

// heldBack returns a *runs.PutOffError while somebody else is looking at the request.
func (s *Service) heldBack(ctx context.Context, request *model.Request, principal string) error {
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
