package serve

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	assembly "github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// writing are the reads that are known to write, with the tables. A mailbox leases the
// messages that it shows, turns a message read too often into a dead letter, and a lease
// increments the version of its session. The audit log is sealed when it is read, and
// records the export.
var writing = map[string][]string{
	"/v1/sessions/{session_id}/mailbox":             {"messages", "sessions"},
	"/v1/sessions/{session_id}/mailbox/dead-letter": {"messages", "sessions"},
	"/v1/audit":        {"audit_entries", "sqlite_sequence"},
	"/v1/audit/export": {"audit_entries", "sqlite_sequence"},
}

// endless reads a reply but leaves an endless stream after its first bytes.
type endless struct {
	*httptest.ResponseRecorder
	leave func()
}

func (w *endless) Write(text []byte) (int, error) {
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		w.leave()
	}
	return w.ResponseRecorder.Write(text)
}

// Flush leaves a stream that sends only its headers first.
func (w *endless) Flush() {
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		w.leave()
	}
	w.ResponseRecorder.Flush()
}

// whole is a service with everything that serve has: dialects, webhooks, signatures and the
// review hook.
type whole struct {
	t      *testing.T
	path   string // of its database
	store  *sqlite.Store
	server *httpapi.Server
	secret string
}

func startWhole(t *testing.T) *whole {
	t.Helper()
	w := &whole{t: t, path: filepath.Join(t.TempDir(), "whole.db")}
	store, err := sqlite.Open(t.Context(), w.path, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	nowMs := func() int64 { return time.Now().UnixMilli() }
	keyring := auth.NewKeyring(auth.Options{Tokens: store, Mode: auth.Required, NewID: runs.NewID, NowMs: nowMs})
	command := Command{Dialects: dialects.Names(), DefaultAgent: "default", RelayAlways: "exact", ReviewHook: "http://127.0.0.1:1"}
	keys, err := sealing.Parse("k:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	require.NoError(t, err)
	private, err := signing.Generate()
	require.NoError(t, err)
	signatures, err := signing.New([]ed25519.PrivateKey{private}, store, nowMs)
	require.NoError(t, err)
	require.NoError(t, signatures.Publish(t.Context()))
	assembled := assembly.New(assembly.Options{
		Options: httpapi.Options{Keyring: keyring, Signing: signatures, Logger: slog.New(slog.DiscardHandler)},
		Store:   store, SecretKeys: keys, CallbackRoles: command.callbackRoles(),
	})
	t.Cleanup(assembled.Close)
	hooks := assembled.API.Webhooks()
	hub := watch.NewHub()
	t.Cleanup(store.Subscribe(hub.Publish))
	w.store = store
	w.server = httpapi.New(httpapi.Options{
		Store: store, Hub: hub, Keyring: keyring, Faces: command.faces(signatures), Hosts: []string{"*"}, Origins: []string{"https://page.example"},
		Reviewed: codex.ChangesFiles, Webhooks: hooks, Signing: signatures, Checkpoints: store, Journal: store,
		Notify:       notify.New(notify.Options{Store: store, Reader: store, NewID: runs.NewID, NowMs: nowMs}),
		PollInterval: 5 * time.Millisecond, KeepAlive: 5 * time.Millisecond,
	})
	t.Cleanup(w.server.Drain)
	made, _, err := keyring.Create(t.Context(), &api.CreateTokenBody{Name: "all", Role: api.RoleAdmin}, "user:test", "")
	require.NoError(t, err)
	w.secret = made.Secret
	return w
}

func (w *whole) call(method, path, body string) *httptest.ResponseRecorder {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+w.secret)
	if method == http.MethodOptions {
		r.Header.Set("Origin", "https://page.example")
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
	}
	answer := httptest.NewRecorder()
	w.server.Handler().ServeHTTP(&endless{answer, cancel}, r)
	require.Less(w.t, answer.Code, 500, "%s %s: %s", method, path, answer.Body)
	return answer
}

func (w *whole) post(path, body string) string {
	w.t.Helper()
	answer := w.call(http.MethodPost, path, body)
	require.Less(w.t, answer.Code, 300, "%s: %s", path, answer.Body)
	return answer.Body.String()
}

// first returns the group of a pattern in a text.
func first(t *testing.T, pattern, text string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.NotNil(t, found, "%s in %s", pattern, text)
	return found[1]
}

// No GET, HEAD or OPTIONS of any route writes anything, whatever is pending. The review
// hook's effect is written once, when the approval is raised.
func TestReadsWriteNothing(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	post, store := w.post, w.store

	// Approvals, one of a file change and one that has expired, and a question.
	waits := post("/v1/runs", `{"run_id":"waits","session_id":"s","agent_id":"default","input":{},"suspend":{"approvals":[
		{"id":"change","tool_call_id":"c1","tool_name":"apply_patch","input":{"patch":"x"},"metadata":{"method":"item/fileChange/requestApproval"}},
		{"id":"over","tool_call_id":"c2","tool_name":"bash","input":{"command":"ls"},"expires_after_ms":1}],
		"questions":[{"id":"q","tool_call_id":"c3","questions":[{"id":"x","question":"which?","options":[]}]}]}}`)
	question := `{"id":"asked","tool_call_id":"c","questions":[{"id":"x","question":"which?","options":[]}]}`
	// Two children: one answer is in the mailbox, the other is not delivered yet.
	post("/v1/sessions", `{"session_id":"parent","agent_id":"coder"}`)
	for _, child := range []string{"child", "late"} {
		post("/v1/sessions", `{"session_id":"`+child+`","agent_id":"helper","parent_session_id":"parent"}`)
		fence := first(t, `"fence":"([^"]+)"`, post("/v1/runs", `{"run_id":"of-`+child+`","session_id":"`+child+`","input":1,"claim":{"worker_id":"w"}}`))
		post("/v1/runs/of-"+child+"/clarifications", `{"fence":"`+fence+`","request":`+strings.Replace(question, "asked", "asked-"+child, 1)+`}`)
	}
	answer := func(child string) {
		post("/v1/sessions/parent/questions", `{"resolution":{"request_id":"asked-`+child+`","answers":[{"question_id":"x","freeform_answer":"y"}]}}`)
	}
	db, err := sql.Open("sqlite", "file:"+w.path)
	require.NoError(t, err)
	defer db.Close()
	count := func(query string) (n int) {
		require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n))
		return n
	}
	// committed changes if any other connection has committed.
	own, err := db.Conn(t.Context())
	require.NoError(t, err)
	committed := func() (version int64) {
		require.NoError(t, own.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&version))
		return version
	}
	owedReviews := "SELECT count(*) FROM effects WHERE kind = 'review_approval'"
	require.Equal(t, 1, count(owedReviews), "the raise leaves it pending")
	effects := loop.NewEffects(store, loop.EffectsOptions{Logger: slog.New(slog.DiscardHandler)})
	looping, stopLoop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- effects.Run(looping) }()
	answer("child")
	require.Eventually(t, func() bool { return count("SELECT count(*) FROM messages") == 1 }, time.Minute, 2*time.Millisecond)
	stopLoop()
	require.NoError(t, <-ended)
	answer("late")
	rule := first(t, `"rule_id":"([^"]+)"`, post("/v1/rules", `{"match":{"pattern_keys":["key"]}}`))
	token := first(t, `"token_id":"([^"]+)"`, post("/v1/tokens", `{"name":"other","role":"observer"}`))
	webhook := first(t, `"webhook_id":"([^"]+)"`, post("/v1/webhooks", `{"url":"https://example.com/hooks","enabled":false}`))

	digest := func(but ...string) string {
		tables, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
		require.NoError(t, err)
		defer tables.Close()
		hash := sha256.New()
		for tables.Next() {
			var name string
			require.NoError(t, tables.Scan(&name))
			if slices.Contains(but, name) {
				continue
			}
			rows, err := db.QueryContext(t.Context(), "SELECT * FROM \""+name+"\"")
			require.NoError(t, err)
			columns, err := rows.Columns()
			require.NoError(t, err)
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			for rows.Next() {
				require.NoError(t, rows.Scan(values...))
				for _, value := range values {
					fmt.Fprintf(hash, "%v\x00", *value.(*any))
				}
			}
			require.NoError(t, rows.Err())
			require.NoError(t, rows.Close())
		}
		require.NoError(t, tables.Err())
		return hex.EncodeToString(hash.Sum(nil))
	}
	before := digest()
	post("/v1/sessions", `{"session_id":"noticed"}`)
	require.NotEqual(t, before, digest(), "the digest sees what is written")
	before = digest()

	handle := first(t, `"handle":"([^"]+)"`, waits)
	version := committed()
	routes, read := map[string]bool{}, 0
	for _, face := range w.server.Faces() {
		for _, route := range face.Routes {
			routes[route.Path] = true
		}
	}
	for route := range routes {
		sessions, mayWrite := []string{"s"}, writing[route]
		if slices.Contains(mayWrite, "messages") {
			sessions = []string{"child", "late"}
		}
		beforeElsewhere := ""
		if mayWrite != nil {
			beforeElsewhere = digest(mayWrite...)
		}
		for _, session := range sessions {
			path := strings.NewReplacer("{session_id}", session, "{sessionId}", session, "{run_id}", "waits", "{handle}", handle, "{rule_id}", rule,
				"{token_id}", token, "{webhook_id}", webhook, "{agent_id}", "default", "{request_id}", "q", "{approvalId}", handle,
				"{requestId}", handle, "{relayId}", handle, "{message_id}", "m", "{effect_id}", "e", "{address_id}", "a", "{name}", "ops", "{secret}", auth.NewLinkSecret(), "*", "index").Replace(route)
			require.NotContains(t, path, "{", "a member of %s has no value here", route)
			for _, query := range []string{"", "?session_id=s&status=pending&limit=5&fence=1"} {
				for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
					if code := w.call(method, path+query, "").Code; method == http.MethodGet && code == http.StatusOK {
						read++
					}
				}
			}
			if mayWrite != nil {
				require.Equal(t, beforeElsewhere, digest(mayWrite...), path)
				before, version = digest(), committed()
				continue
			}
			require.Equal(t, version, committed(), "a read of %s wrote something", path)
		}
	}
	require.Equal(t, before, digest())
	require.Greater(t, read, 60, "routes that answered")
	require.Equal(t, 1, count(owedReviews))
}
