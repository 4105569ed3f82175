package channels

import (
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// refusalOf returns the failure of an answer, with the pause for which the receiver asks.
func refusalOf(answer egress.Answer) error {
	nowMs := time.Now().UnixMilli() //nolint:forbidigo // A receiver may name a date; nothing is decided by it.
	if pauseMs := answer.PauseMs(nowMs); pauseMs > 0 {
		return fmt.Errorf("status %d: %w", answer.Status, &runs.RetryAfterError{Ms: pauseMs})
	}
	return fmt.Errorf("status %d", answer.Status)
}
