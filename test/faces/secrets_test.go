package faces

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/telemetry/tracing"
	"github.com/holdpoint/holdpoint/telemetry/tracing/statements"
	"github.com/holdpoint/holdpoint/telemetry/tracing/tracingtest"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
)

// Secrets of every kind. Only the worker that holds the run may see them.
const (
	secretAnswer   = "hunter2-correct-horse"
	secretTyped    = "4711-battery-staple"
	secretInput    = "AKIA-input-of-a-tool"
	secretEdited   = "AKIA-input-of-a-person"
	secretPassword = "password-of-the-database"
)

// transcript records everything that is written to it.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// recording is a client with a token that records every reply, including streams.
type recording struct {
	next    http.RoundTripper
	token   string
	replies *transcript
}

func (r *recording) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+r.token)
	response, err := r.next.RoundTrip(request)
	if err != nil || r.replies == nil || response.StatusCode == http.StatusSwitchingProtocols {
		return response, err
	}
	_ = response.Header.Write(r.replies)
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(response.Body, r.replies), response.Body}
	return response, nil
}

// Sensitive values are shown, decided and streamed on every face. No reply, log line, span or
// database row contains one of them, a token, or a digest that would allow guessing a value.
func TestSecretsAreShownToTheWorkerAlone(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "data.db")
			database := "sqlite:" + file
			if engine == "postgres" {
				database = postgrestest.URL(t) + "&password=" + secretPassword
			}
			keys, err := sealing.Parse(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, sealing.KeyBytes)))
			require.NoError(t, err)
			logs, replies := &transcript{}, &transcript{}
			receiver := tracingtest.Start(t)
			tracer, err := tracing.New(t.Context(), tracing.Options{Endpoint: receiver.URL, Version: "test"})
			require.NoError(t, err)
			t.Cleanup(tracer.Close)
			service := inprocess.Start(t, database, inprocess.Options{
				WithoutExpiry: true, Sealer: keys, Closed: true,
				Tracer: tracer, Store: store.Options{Tracer: tracer, StatementTracer: statements.New(tracer.Tracer())},
				Logger: slog.New(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			made, _, err := service.Keyring.Create(t.Context(), &api.CreateTokenBody{Name: "all", Role: api.RoleAdmin}, "test", "")
			require.NoError(t, err)
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			shown := &Service{URL: service.URL, HTTP: &http.Client{Transport: &recording{transport, made.Secret, replies}}}
			worker := &Service{URL: service.URL, HTTP: &http.Client{Transport: &recording{transport, made.Secret, nil}}}
			for _, face := range All() {
				if Can(face, Choice, Answer) {
					passSecrets(t, shown, worker, face)
				}
			}
			for _, path := range []string{
				"/v1/sessions", "/v1/runs", "/v1/approvals", "/v1/questions", "/v1/decisions", "/v1/effects", "/v1/rules", "/v1/tokens", "/v1/me",
				"/v1/workers", "/readyz", "/v1/approvals?fields=summary",
			} {
				_, err := shown.Get(rig.Soon(t), path)
				require.NoError(t, err)
			}
			require.Contains(t, replies.String(), `"sensitive":true`)
			require.Contains(t, logs.String(), "/v1/runs", "the calls are logged")
			tracer.Close()
			require.Contains(t, receiver.Raw(), "command Suspend", "the calls are traced")
			places := map[string]string{"a reply": replies.String(), "the log": logs.String(), "the traces": receiver.Raw()}
			if engine == "sqlite" {
				for _, name := range []string{file, file + "-wal"} {
					text, err := os.ReadFile(name)
					require.NoError(t, err)
					places[filepath.Base(name)] = string(text)
				}
			}
			for place, text := range places {
				for _, secret := range []string{secretAnswer, secretTyped, secretInput, secretEdited, secretPassword, made.Secret} {
					for _, form := range []string{secret, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "=")} {
						require.Zero(t, strings.Count(text, form), "%s has %s", place, secret)
					}
				}
				for _, input := range []string{secretInput, secretEdited} {
					sum := sha256.Sum256([]byte(`{"command":"` + input + `"}`))
					require.Zero(t, strings.Count(text, hex.EncodeToString(sum[:])), "%s has the digest of an input", place)
				}
			}
		})
	}
}

// passSecrets has a worker ask for secrets that a face answers, with every stream open.
func passSecrets(t *testing.T, shown, worker *Service, face Face) {
	t.Helper()
	ctx := rig.Soon(t)
	scene, err := shown.Begin(ctx)
	require.NoError(t, err)
	defer scene.Chat.Close()
	for _, path := range []string{
		"/v1/stream", "/v1/sessions/" + scene.SessionID + "/stream", "/v1/runs/" + scene.RunID + "/stream",
		"/api/approval/stream?session_id=" + scene.SessionID, "/api/clarify/stream?session_id=" + scene.SessionID,
	} {
		stream, err := shown.Follow(ctx, path)
		require.NoError(t, err, path)
		defer stream.Close()
		go func() {
			for err := error(nil); err == nil; {
				_, _, err = stream.Next()
			}
		}()
	}
	own := *scene
	own.Service = worker
	prompts, _, err := own.Raise(ctx, false,
		Asked{Kind: Choice, ID: "q", With: map[string]any{"sensitive": true}},
		Asked{Kind: Typed, ID: "p", With: map[string]any{"sensitive": true, "response_schema": map[string]any{"type": "string"}}},
		Asked{Kind: Approval, ID: "a", With: map[string]any{"input": map[string]any{"command": secretInput}, "sensitive_paths": []string{"/command"}}})
	require.NoError(t, err)
	for _, prompt := range prompts {
		for _, other := range All() {
			if !other.Traits().InChat {
				_, err := other.Open(ctx, shown, prompt)
				require.NoError(t, err)
			}
		}
		what := Decision{Verb: Answer, Answers: []string{secretAnswer}}
		by := face
		switch prompt.Kind {
		case Typed:
			what.Answers = []string{secretTyped}
		case Approval:
			by, what = Native{}, Decision{Verb: AllowEdited, Edit: map[string]any{"command": secretEdited}}
		case Choice, Several, Clarification:
		}
		got, err := by.Decide(ctx, shown, prompt, what)
		require.NoError(t, err)
		require.True(t, by.Took(got), "%s: %d %s", by.Name(), got.Status, got.Body)
		// A late answer with another secret.
		_, err = by.Decide(ctx, shown, prompt, what)
		require.NoError(t, err)
	}
	claim, err := worker.TakeRun(ctx, scene.RunID)
	require.NoError(t, err)
	got := encode(claim.Resume)
	for _, secret := range []string{secretAnswer, secretTyped, secretEdited} {
		require.Contains(t, got, secret, "%s: the worker gets it", face.Name())
	}
	own.Fence = claim.Lease.Fence
	look := func() {
		for _, path := range []string{
			"/v1/runs/" + scene.RunID, "/v1/runs/" + scene.RunID + "/events", "/v1/sessions/" + scene.SessionID, "/v1/sessions/" + scene.SessionID + "/events",
			"/v1/decisions?session_id=" + scene.SessionID, "/v1/requests/" + prompts[0].Handle, "/v1/requests/" + prompts[2].Handle,
			"/api/threads/" + scene.SessionID + "/transcript", "/api/approvals?threadId=" + scene.SessionID,
		} {
			_, err := shown.Get(ctx, path)
			require.NoError(t, err)
		}
	}
	look()
	require.NoError(t, own.Complete(ctx))
	look()
}
