//go:build faults

package crash

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/test/rig"
)

// post is a request received by an endpoint.
type post struct{ id, kind, session string }

// killer is an endpoint that records its requests. While armed, it kills the service before it
// answers, so that the service has no record of the post.
type killer struct {
	*httptest.Server
	mu    sync.Mutex
	got   []post
	armed *rig.Process
	// unanswered are the ids of the requests during which it killed the service.
	unanswered []string
	// status is the status of its answers.
	status int
}

func newKiller(t *testing.T) *killer {
	t.Helper()
	k := &killer{status: http.StatusOK}
	k.Server = httptest.NewServer(k)
	t.Cleanup(k.Close)
	return k
}

func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var body struct {
		Type string `json:"type"`
		Data struct {
			SessionID string `json:"session_id"`
		} `json:"data"`
	}
	if json.Unmarshal(text, &body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	k.mu.Lock()
	k.got = append(k.got, post{r.Header.Get("Webhook-Id"), body.Type, body.Data.SessionID})
	victim, status := k.armed, k.status
	if k.armed = nil; victim != nil {
		k.unanswered = append(k.unanswered, r.Header.Get("Webhook-Id"))
	}
	k.mu.Unlock()
	if victim != nil {
		victim.Kill()
		<-victim.Ended()
		return
	}
	w.WriteHeader(status)
}

func (k *killer) arm(victim *rig.Process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.armed = victim
}

func (k *killer) posts() []post {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.got)
}

// requireAgain requires that the request that killed the service was repeated.
func (k *killer) requireAgain(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	require.Len(t, k.unanswered, 1)
	count := 0
	for _, one := range k.got {
		if one.id == k.unanswered[0] {
			count++
		}
	}
	require.Greater(t, count, 1, "no answer was given to %s", k.unanswered[0])
}

// TestFanOutOfAKilledService kills the service between a commit and its deliveries to two webhooks
// and a callback, between the claim of a delivery and the post, and between each post and its
// record. Each endpoint gets everything at least once, in the order of the session's log, and
// repeats have the same id.
func TestFanOutOfAKilledService(t *testing.T) {
	rig.Databases(t, func(t *testing.T, database string) {
		endpoints := map[string]*killer{"one": newKiller(t), "two": newKiller(t)}
		callback := newKiller(t)
		service := &replica{plan: t.TempDir() + "/plan"}
		service.Process = rig.Start(t, rig.Options{
			Program: rig.Program(t, "failpoints"), Database: database, Args: []string{"--webhook-allow", "127.0.0.0/8", "--callback-allow", "127.0.0.0/8"},
			Env: []string{failpoint.Variable + "=" + service.plan, "HOLDPOINT_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
		})
		ctx := rig.Soon(t)
		person := service.ConnectPatiently()
		for _, endpoint := range endpoints {
			_, err := person.CreateWebhook(ctx, api.WebhookBody{URL: &endpoint.URL})
			require.NoError(t, err)
		}
		const token = "token-of-the-caller-0123456789"
		sessions := []string{"a", "b", "c", "d", "e", "f"}
		for _, session := range sessions {
			asked := rig.Approval("ask")
			asked.Callback = &api.Callback{URL: callback.URL, Token: token}
			_, err := person.CreateRun(ctx, client.CreateRunParams{
				SessionID: session, RunID: runOf(session), Input: "work", Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{asked}},
			})
			require.NoError(t, err)
		}
		nothingOwed(t, person)
		for i, arm := range []func() error{
			func() error { return service.arm("kill door.committed 1") },
			func() error { return service.arm("kill webhooks.claimed 1") },
			func() error { return service.arm("kill webhooks.posted 1") },
			func() error { endpoints["one"].arm(service.Process); return nil },
			func() error { endpoints["two"].arm(service.Process); return nil },
			func() error { callback.arm(service.Process); return nil },
		} {
			ctx := rig.Soon(t)
			require.NoError(t, arm())
			decided := make(chan error, 1)
			go func() {
				_, err := person.ResolveRunApprovals(ctx, runOf(sessions[i]), client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "ask", Behavior: api.BehaviorAllow}}})
				decided <- err
			}()
			select {
			case <-service.Ended():
			case <-ctx.Done():
				require.Fail(t, "the service does not die", sessions[i])
			}
			_ = os.Remove(service.plan) // it is armed in one round alone
			require.NoError(t, service.Restart())
			require.NoError(t, service.AwaitReady())
			require.NoError(t, <-decided)
		}
		nothingOwed(t, person)
		ctx = rig.Soon(t)
		for name, endpoint := range endpoints {
			for _, session := range sessions {
				require.Equal(t, logOf(ctx, t, person, session), distinct(t, endpoint.posts(), session), "%s, session %s", name, session)
			}
		}
		for _, session := range sessions {
			require.Equal(t, []string{"request_settled"}, distinct(t, callback.posts(), session))
		}
		for _, one := range []*killer{endpoints["one"], endpoints["two"], callback} {
			one.requireAgain(t)
		}
		for _, effect := range effects(ctx, t, person, api.EffectFailed) {
			require.Fail(t, "given up", effect.EffectID)
		}
	})
}

// TestDeadLettersOfAKilledServiceAreNotDoubled kills the service while it delivers an event
// to a deleted endpoint, and again after its pending deliveries were dropped.
func TestDeadLettersOfAKilledServiceAreNotDoubled(t *testing.T) {
	rig.Databases(t, func(t *testing.T, database string) {
		gone := newKiller(t)
		gone.status = http.StatusGone
		service := rig.Start(t, rig.Options{
			Database: database, Args: []string{"--webhook-allow", "127.0.0.0/8", "--callback-allow", "127.0.0.0/8"},
			Env: []string{"HOLDPOINT_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
		})
		ctx := rig.Soon(t)
		person := service.ConnectPatiently()
		made, err := person.CreateWebhook(ctx, api.WebhookBody{URL: &gone.URL})
		require.NoError(t, err)
		gone.arm(service)
		_, _ = person.CreateRun(ctx, client.CreateRunParams{SessionID: "s", RunID: "r", Input: "work", Suspend: approvals(1)})
		select {
		case <-service.Ended():
		case <-ctx.Done():
			require.Fail(t, "nothing is posted")
		}
		require.NoError(t, service.Restart())
		require.NoError(t, service.AwaitReady())
		nothingOwed(t, person)
		ctx = rig.Soon(t)
		letters := effects(ctx, t, person, api.EffectFailed)
		require.Len(t, letters, len(logOf(ctx, t, person, "s")))
		webhook, err := person.GetWebhook(ctx, made.Webhook.WebhookID)
		require.NoError(t, err)
		require.Equal(t, "gone", webhook.DisabledReason)

		service.Kill()
		<-service.Ended()
		require.NoError(t, service.Restart())
		require.NoError(t, service.AwaitReady())
		require.Equal(t, letters, effects(ctx, t, person, api.EffectFailed))
		seen := map[string]bool{}
		for _, letter := range letters {
			require.False(t, seen[letter.EffectID], letter.EffectID)
			seen[letter.EffectID] = true
		}
	})
}

// effects returns the effects in a state that post somewhere.
func effects(ctx context.Context, t *testing.T, c *client.Client, state api.EffectState) []api.EffectView {
	t.Helper()
	var found []api.EffectView
	for effect, err := range c.AllEffects(ctx, client.EffectListParams{State: state}) {
		require.NoError(t, err)
		if effect.WebhookID != "" {
			found = append(found, effect)
		}
	}
	return found
}

// nothingOwed waits until everything is posted or given up. An unrecorded attempt is repeated once
// its claim has expired.
func nothingOwed(t *testing.T, c *client.Client) {
	t.Helper()
	require.Eventually(t, func() bool {
		page, err := c.ListEffects(t.Context(), client.EffectListParams{State: api.EffectPending})
		return err == nil && !slices.ContainsFunc(page.Items, func(one api.EffectView) bool { return one.WebhookID != "" })
	}, 4*time.Minute, 50*time.Millisecond)
}

// logOf returns the types of the events of a session.
func logOf(ctx context.Context, t *testing.T, c *client.Client, session string) []string {
	t.Helper()
	var kinds []string
	for entry, err := range c.AllRunEvents(ctx, runOf(session), client.EventListParams{}) {
		require.NoError(t, err)
		var event struct {
			Type string `json:"type"`
		}
		require.NoError(t, json.Unmarshal(entry.Event, &event))
		kinds = append(kinds, event.Type)
	}
	return kinds
}

func runOf(session string) string {
	if session == "s" {
		return "r"
	}
	return "run-" + session
}

// distinct returns the types received for a session, each id once. A repeat must be the newest of
// its session, because all earlier ones have been accepted.
func distinct(t *testing.T, posts []post, session string) []string {
	t.Helper()
	var kinds []string
	last := ""
	seen := map[string]bool{}
	for _, one := range posts {
		if one.session != session {
			continue
		}
		require.NotEmpty(t, one.id)
		if seen[one.id] {
			require.Equal(t, last, one.id, "%s came again after a later one", one.kind)
			continue
		}
		seen[one.id], last = true, one.id
		kinds = append(kinds, one.kind)
	}
	return kinds
}
