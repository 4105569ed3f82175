package channels

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// A push service that has too much to do says when to come again.
func TestAPushServiceAsksForAPause(t *testing.T) {
	t.Parallel()
	pause := (*runs.RetryAfterError)(nil)
	require.ErrorAs(t, pushAnswer(egress.Answer{Status: http.StatusTooManyRequests, RetryAfter: "600"}), &pause)
	require.EqualValues(t, 600_000, pause.Ms)
	require.EqualError(t, pushAnswer(egress.Answer{Status: http.StatusBadGateway}), "status 502")
	require.ErrorIs(t, pushAnswer(egress.Answer{Status: http.StatusGone, RetryAfter: "600"}), notify.ErrGone)
	require.NoError(t, pushAnswer(egress.Answer{Status: http.StatusCreated}))
}
