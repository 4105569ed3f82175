package channels

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// refusedCall returns the failure of a call that the guard refused.
func refusedCall(failure string, err error) error {
	if errors.Is(err, egress.ErrUnreadable) {
		return errors.New(failure + ": the addresses of this machine cannot be read")
	}
	return errors.New(failure + "; see --webhook-allow")
}

// refusalOf returns the failure of an answer, with the pause for which the receiver asks.
func refusalOf(answer egress.Answer) error {
	nowMs := time.Now().UnixMilli() //nolint:forbidigo // A receiver may name a date; nothing is decided by it.
	if pauseMs := answer.PauseMs(nowMs); pauseMs > 0 {
		return fmt.Errorf("status %d: %w", answer.Status, &runs.RetryAfterError{Ms: pauseMs})
	}
	return fmt.Errorf("status %d", answer.Status)
}
