package serve

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// logged is a log that tests can read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Every stream of every face accepts a ticket, and no log shows one.
func TestEveryStreamTakesATicket(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	log := &logged{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	keyring := auth.NewKeyring(auth.Options{Tokens: store, Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return 1 }, Logger: logger})
	command := Command{Dialects: dialects.Names(), DefaultAgent: "default", RelayAlways: "exact"}
	hub := watch.NewHub()
	unsubscribe := store.Subscribe(hub.Publish)
	service := httpapi.New(httpapi.Options{Store: store, Hub: hub, Keyring: keyring, Faces: command.faces(nil), Logger: logger, LogRequests: true})
	server := httptest.NewServer(service.Handler())
	t.Cleanup(func() {
		service.Drain()
		server.Close()
		unsubscribe()
		require.NoError(t, store.Close())
	})
	made, _, err := keyring.Create(t.Context(), &api.CreateTokenBody{Name: "x", Role: api.RoleAdmin}, "user:test", "")
	require.NoError(t, err)
	open := func(ctx context.Context, address string) *http.Response {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		require.NoError(t, err)
		reply, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		return reply
	}
	post := func(path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+made.Secret)
		reply, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer reply.Body.Close()
		require.Less(t, reply.StatusCode, 300, path)
		text, err := io.ReadAll(reply.Body)
		require.NoError(t, err)
		return string(text)
	}
	post("/v1/runs", `{"run_id":"r","session_id":"s","input":1,"suspend":{"questions":[{"id":"q","tool_call_id":"q","response_schema":{}}]}}`)
	var tickets []string
	paths := []string{
		"/v1/stream?fields=summary", "/v1/sessions/s/stream", "/v1/runs/r/stream", "/kheish/v1/sessions/s/stream", "/kheish/v1/runs/r/stream",
		"/api/approval/stream?session_id=s", "/api/clarify/stream?session_id=s", "/api/stream?threadId=s",
	}
	for _, face := range service.Faces() {
		for _, route := range face.Routes {
			require.True(t, !route.Stream || slices.ContainsFunc(paths, func(path string) bool {
				path, _, _ = strings.Cut(path, "?")
				return (&wire.Face{Routes: []wire.Route{route}}).IsStream(path)
			}), "no ticket for %s is tried here", route.Path)
		}
	}
	for _, path := range paths {
		var ticket api.StreamTicket
		require.NoError(t, json.Unmarshal([]byte(post("/v1/stream-tickets", `{"path":"`+path+`"}`)), &ticket))
		tickets = append(tickets, ticket.Ticket)
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		address := server.URL + path + join + "ticket=" + ticket.Ticket
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if strings.HasPrefix(path, "/api/stream") {
			conn, reply, err := websocket.Dial(ctx, strings.Replace(address, "http:", "ws:", 1), nil)
			require.NoError(t, err, "%s: %v", path, reply)
			_, first, err := conn.Read(ctx)
			require.NoError(t, err)
			require.Contains(t, string(first), `"ready"`)
			require.NoError(t, conn.CloseNow())
		} else {
			stream := open(ctx, address)
			require.Equal(t, http.StatusOK, stream.StatusCode, path)
			reader := bufio.NewReader(stream.Body)
			_, err := reader.ReadString('\n')
			require.NoError(t, err, path)
			if path == "/kheish/v1/sessions/s/stream" {
				// Calls for the stream are made by its caller.
				post("/v1/runs/r/cancel", `{}`)
				for line := ""; !strings.HasPrefix(line, "event: run_updated"); {
					line, err = reader.ReadString('\n')
					require.NoError(t, err)
				}
			}
			_ = stream.Body.Close()
		}
		again := open(ctx, address)
		_, _ = io.Copy(io.Discard, again.Body)
		_ = again.Body.Close()
		require.Equal(t, withoutCredential(path), again.StatusCode, path)
		cancel()
	}
	service.Drain()
	server.Close()
	require.Contains(t, log.String(), "path=/v1/stream ")
	for _, ticket := range tickets {
		require.NotContains(t, log.String(), ticket[len(auth.SecretPrefix):][:8])
	}
}
