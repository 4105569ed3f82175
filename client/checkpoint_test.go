package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// A checkpoint whose JSON is null renews the lease and says nothing about decisions.
func TestNullIsNotACheckpoint(t *testing.T) {
	inBubble(t, func(b *rig) {
		var sent []string
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			b.service.setBefore(func(_ http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/heartbeat") {
					text, err := io.ReadAll(r.Body)
					assert.NoError(b, err)
					r.Body = io.NopCloser(bytes.NewReader(text))
					sent = append(sent, string(text))
				}
				return false
			})
			var none *int
			return errors.Join(
				task.SaveCheckpoint(ctx, nil), task.SaveCheckpoint(ctx, none), task.SaveCheckpoint(ctx, api.JSON("null")),
				task.SaveCheckpoint(ctx, 0), task.SaveCheckpoint(ctx, nil),
			)
		})
		b.completes("run")
		const renewal = `{"fence":"1","lease_ms":30000}`
		require.Equal(b, []string{renewal, renewal, renewal, `{"fence":"1","lease_ms":30000,"checkpoint":0}`, renewal}, sent)
		require.Equal(b, "0", string(b.service.record("run").Run.Checkpoint))
	})
}
