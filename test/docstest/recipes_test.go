package docstest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/notify/channels"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// received is a request at a receiver of messages.
type received struct {
	path   string
	header http.Header
	body   string
}

// TestRecipesOfReceivers sends a message by each recipe of docs/http-messages.md, to a receiver that takes what the
// documentation of the real one asks for.
func TestRecipesOfReceivers(t *testing.T) {
	t.Parallel()
	const link = "https://holdpoint.example/l/hplink_1"
	const quoted = "Approval needed: \"a\"\n```@channel [Allow](https://elsewhere.example)\n\n" + link + "\n"
	const shown = "```\nApproval needed: \"a\"\n'''@channel [Allow](https://elsewhere.example)\n\n" + link + "\n```\n" + link
	id := ""
	checks := map[string]func(t *testing.T, r *received){
		"ops": func(t *testing.T, r *received) {
			t.Helper()
			require.Equal(t, "/ada", r.path)
			require.Equal(t, `Approval needed: "a"`, r.header.Get("Title"))
			require.Equal(t, link, r.header.Get("Click"))
			require.Equal(t, "Bearer the-secret", r.header.Get("Authorization"))
			require.Equal(t, r.header.Get("Idempotency-Key"), r.header.Get("X-Sequence-Id"))
			require.Equal(t, quoted, r.body)
		},
		"gotify": func(t *testing.T, r *received) {
			t.Helper()
			require.Equal(t, "/message", r.path)
			require.Equal(t, "ada", r.header.Get("X-Gotify-Key"))
			r.require(t, map[string]any{
				"title": `Approval needed: "a"`, "message": quoted, "priority": 5.0,
				"extras": map[string]any{"client::notification": map[string]any{"click": map[string]any{"url": link}}},
			})
		},
		"mattermost": func(t *testing.T, r *received) {
			t.Helper()
			require.Equal(t, "/the-secret", r.path)
			r.require(t, map[string]any{"channel": "ada", "text": shown})
		},
		"discord": func(t *testing.T, r *received) {
			t.Helper()
			require.Equal(t, "/the-secret", r.path)
			r.require(t, map[string]any{"content": shown, "allowed_mentions": map[string]any{"parse": []any{}}})
		},
		"discord-bot": func(t *testing.T, r *received) {
			t.Helper()
			require.Equal(t, "/api/v10/channels/ada/messages", r.path)
			require.Equal(t, "Bot the-secret", r.header.Get("Authorization"))
			require.Equal(t, "DiscordBot (https://github.com/holdpoint/holdpoint, 1)", r.header.Get("User-Agent"))
			r.require(t, map[string]any{
				"content": shown, "nonce": r.header.Get("Idempotency-Key")[:25], "enforce_nonce": true, "allowed_mentions": map[string]any{"parse": []any{}},
			})
		},
		"telegram": func(t *testing.T, r *received) {
			t.Helper()
			require.Equal(t, "/botthe-secret/sendMessage", r.path)
			r.require(t, map[string]any{"chat_id": "ada", "text": quoted, "link_preview_options": map[string]any{"is_disabled": true}})
		},
		"pagerduty": func(t *testing.T, r *received) {
			t.Helper()
			require.Equal(t, "/v2/enqueue", r.path)
			r.require(t, map[string]any{
				"routing_key": "the-secret", "event_action": "trigger", "dedup_key": r.header.Get("Idempotency-Key"), "client": "holdpoint", "client_url": link,
				"payload": map[string]any{"summary": `Approval needed: "a"`, "source": "holdpoint", "severity": "warning", "custom_details": map[string]any{"text": quoted}},
			})
		},
		"apprise": func(t *testing.T, r *received) {
			t.Helper()
			require.Equal(t, "/notify", r.path)
			r.require(t, map[string]any{"urls": "ada", "title": `Approval needed: "a"`, "body": quoted})
		},
	}
	outcomes := map[string]func(t *testing.T, r *received){
		"ops": func(t *testing.T, r *received) {
			t.Helper()
			require.Equal(t, id, r.header.Get("X-Sequence-Id"), "it takes the place of the message")
			require.Equal(t, "allowed by user:ada", r.body)
		},
		"pagerduty": func(t *testing.T, r *received) {
			t.Helper()
			r.require(t, map[string]any{"routing_key": "the-secret", "event_action": "resolve", "dedup_key": id})
		},
	}
	var tried, settled []string
	for _, b := range blocksOf(t) {
		if b.page != "docs/http-messages.md" || b.language != "yaml" {
			continue
		}
		requests := make(chan *received, 1)
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			requests <- &received{path: r.URL.Path, header: r.Header, body: string(body)}
		}))
		t.Cleanup(receiver.Close)
		for name, channel := range recipe(t, b, receiver.URL) {
			tried = append(tried, name)
			require.NoError(t, channel.Send(t.Context(), "ada", &notify.Message{ID: "m", Kind: "approval", Subject: `Approval needed: "a"`, Text: quoted, Link: link}), "%v", b)
			check := checks[name]
			require.NotNil(t, check, "%v: no test knows what %s takes", b, name)
			message := <-requests
			id = message.header.Get("Idempotency-Key")
			check(t, message)
			require.NoError(t, channel.Send(t.Context(), "ada", &notify.Message{ID: "m", Kind: "code", Subject: "s", Text: "Code: 123456"}), "%v", b)
			without := <-requests
			require.Contains(t, without.body, "Code: 123456")
			if settles, is := channel.(notify.Withdrawer); is {
				settled = append(settled, name)
				require.NoError(t, settles.Withdraw(t.Context(), "ada", &notify.SentMessage{MessageID: "m"}, &notify.Message{Kind: notify.KindSettled, Text: "allowed by user:ada"}))
				outcomes[name](t, <-requests)
			}
			if strings.HasPrefix(without.body, "{") {
				require.True(t, json.Valid([]byte(without.body)), "%v: a message without a link: %s", b, without.body)
			}
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(checks)), tried)
	require.ElementsMatch(t, slices.Collect(maps.Keys(outcomes)), settled)
}

// recipe loads a file of channels with the receiver at url in place of the real one.
func recipe(t *testing.T, b block, url string) map[string]notify.Channel {
	t.Helper()
	directory := t.TempDir()
	for _, match := range regexp.MustCompile(`secret_files: \{([a-z]+): ([a-z-]+)\}`).FindAllStringSubmatch(b.text, -1) {
		secret := "the-secret"
		if match[1] == "hook" {
			secret = url + "/the-secret"
		}
		require.NoError(t, os.WriteFile(filepath.Join(directory, match[2]), []byte(secret), 0o600))
	}
	file := filepath.Join(directory, "channels.yaml")
	require.NoError(t, os.WriteFile(file, []byte(regexp.MustCompile(`url: https://[a-z0-9.]+`).ReplaceAllString(b.text, "url: "+url)), 0o600))
	caller := egress.New(egress.Options{Guard: egress.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(caller.Close)
	loaded, err := channels.Load(file, caller)
	require.NoError(t, err, "%v", b)
	return loaded
}

// require compares the body, which must be JSON.
func (r *received) require(t *testing.T, want map[string]any) {
	t.Helper()
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.body), &got), r.body)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	require.Equal(t, want, got)
}
