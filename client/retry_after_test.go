package client_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
)

// A wait that outlasts outages outlasts a longer Retry-After, too, and asks no sooner than every
// MaxRetryAfter.
func TestAWaitOutlastsALongRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &script{statuses: []int{503, 429}, header: http.Header{"Retry-After": {"3600"}}}
		begin := time.Now()
		must(connect(t, service).WaitRun(t.Context(), "r", client.UntilDecided))(t)
		require.Equal(t, 2*time.Minute, time.Since(begin))
	})
}

// A worker does not ask for runs sooner than every MaxRetryAfter.
func TestAClaimHeedsALongRetryAfter(t *testing.T) {
	inBubble(t, func(b *rig) {
		begin := time.Now()
		b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
			refused := strings.HasSuffix(r.URL.Path, "/claim") && b.service.calls("/claim") < 3
			if refused {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			}
			return refused
		})
		b.handle("run", func(context.Context, *client.Task) error { return nil })
		b.completes("run")
		require.Equal(b, 2*time.Minute, time.Since(begin))
	})
}
