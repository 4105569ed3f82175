//go:build faults

package crash

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// A service that is killed during a post to a webhook repeats the post with the same id and body,
// and posts the following events after it.
func TestDeliveryOfAKilledServiceIsMadeAgain(t *testing.T) {
	rig.Databases(t, func(t *testing.T, database string) {
		type posted struct{ id, body string }
		var mu sync.Mutex
		var all []posted
		came := make(chan int, 100)
		release := make(chan struct{})
		endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			mu.Lock()
			all = append(all, posted{r.Header.Get("Webhook-Id"), string(body)})
			count := len(all)
			mu.Unlock()
			came <- count
			if count == 1 {
				select { // it is killed before it has the answer
				case <-r.Context().Done():
				case <-release:
				}
			}
		}))
		t.Cleanup(endpoint.Close)
		t.Cleanup(func() { close(release) })
		service := rig.Start(t, rig.Options{
			Database: database, Args: []string{"--webhook-allow", "127.0.0.0/8", "--callback-allow", "127.0.0.0/8"},
			Env: []string{"HOLDPOINT_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
		})
		ctx := rig.Soon(t)
		made, err := service.Connect().CreateWebhook(ctx, api.WebhookBody{URL: &endpoint.URL})
		require.NoError(t, err)
		require.NotEmpty(t, made.Secret)
		_, err = service.Connect().CreateRun(ctx, client.CreateRunParams{
			SessionID: "s", Input: "work", Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: approvals(1),
		})
		require.NoError(t, err)
		wait := func(count int) {
			t.Helper()
			for {
				select {
				case now := <-came:
					if now >= count {
						return
					}
				case <-ctx.Done():
					require.Fail(t, "the event is not posted")
				}
			}
		}
		wait(1)
		service.Kill()
		<-service.Ended()
		require.NoError(t, service.Restart())
		wait(4)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, all[0], all[1], "the event that was under way")
		require.Contains(t, all[1].body, `"accepted"`)
		require.Contains(t, all[2].body, `"started"`)
		require.Contains(t, all[3].body, `"waiting_for_approval"`)
		require.NotEqual(t, all[1].id, all[2].id)
	})
}
