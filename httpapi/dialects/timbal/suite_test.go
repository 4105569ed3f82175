package timbal_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/dialects/timbal"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// openers open the database at an address, and addresses make one that is empty.
var (
	openers = map[string]func(testing.TB, string) runs.Store{
		"sqlite": func(tb testing.TB, address string) runs.Store {
			tb.Helper()
			store, err := sqlite.Open(context.Background(), address, sqlite.Options{})
			require.NoError(tb, err)
			return store
		},
		"postgres": func(tb testing.TB, address string) runs.Store {
			tb.Helper()
			store, err := postgres.Open(context.Background(), address, postgres.Options{})
			require.NoError(tb, err)
			return store
		},
	}
	addresses = map[string]func(testing.TB) string{
		"sqlite":   func(tb testing.TB) string { tb.Helper(); return tb.TempDir() + "/holdpoint.db" },
		"postgres": func(tb testing.TB) string { tb.Helper(); return postgrestest.URL(tb) },
	}
)

// service is the whole of httpapi with the dialect, and a worker's way to its store.
type service struct {
	server  *httptest.Server
	handler *httpapi.Server
	store   runs.Store
	client  *http.Client
	stop    func()
}

// serve starts a service that stops with the test, or before it.
func serve(tb testing.TB, store runs.Store) *service {
	tb.Helper()
	hub := watch.NewHub()
	dispatcher := claims.New(store, claims.Options{ScanInterval: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- dispatcher.Run(ctx) }()
	unsubscribe := store.Subscribe(hub.Publish)
	handler := httpapi.New(httpapi.Options{
		Store: store, Hub: hub, Claims: dispatcher, Version: "v0-test", KeepAlive: 300 * time.Millisecond,
		Dialects: []kit.Mount{timbal.New(timbal.Options{DefaultAgentID: "assistant"})},
	})
	server := httptest.NewServer(handler.Handler())
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	stopped := false
	s := &service{server: server, handler: handler, store: store, client: &http.Client{Transport: transport}}
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		handler.Drain()
		transport.CloseIdleConnections()
		server.Close()
		unsubscribe()
		cancel()
		require.NoError(tb, <-done)
		require.NoError(tb, store.Close())
	}
	tb.Cleanup(s.stop)
	return s
}

// TestTimbal runs every case against one service on every engine.
func TestTimbal(t *testing.T) {
	t.Parallel()
	for engine, open := range openers {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := serve(t, open(t, addresses[engine](t)))
			for _, one := range []struct {
				name string
				run  func(*testing.T, *service)
			}{
				{"an approval and an interaction", testAnApprovalAndAnInteraction},
				{"an approval alone", testAnApprovalAlone},
				{"what a worker appends", testWhatAWorkerAppends},
				{"how a run ends", testHowARunEnds},
				{"start", testStart},
				{"start again with its key", testStartAgainWithItsKey},
				{"a dropped client", testADroppedClient},
				{"keep alive", testKeepAlive},
				{"answer", testAnswer},
				{"answers to a structured question", testAnswersToAStructuredQuestion},
				{"answers that do not do", testAnswersThatDoNotDo},
				{"decisions about an approval", testDecisionsAboutAnApproval},
				{"decisions that do not do", testDecisionsThatDoNotDo},
				{"cancel by a request", testCancelByARequest},
				{"partial maps", testPartialMaps},
				{"unknown ids", testUnknownIds},
				{"refused resumes", testRefusedResumes},
				{"too late", testTooLate},
				{"too late for the clock", testTooLateForTheClock},
				{"a hundred resumes at once", testAHundredResumesAtOnce},
				{"resume again with its key", testResumeAgainWithItsKey},
				{"key of a refused resume", testKeyOfARefusedResume},
				{"follow what was decided elsewhere", testFollowWhatWasDecidedElsewhere},
				{"several questions", testSeveralQuestions},
				{"several questions at once", testSeveralQuestionsAtOnce},
				{"two segments", testTwoSegments},
				{"a long segment", testALongSegment},
				{"settled when raised", testSettledWhenRaised},
				{"attached worker", testAttachedWorker},
				{"a run of another face", testARunOfAnotherFace},
				{"run", testRun},
				{"events", testEvents},
				{"cancel", testCancel},
				{"live and read", testLiveAndRead},
				{"clarification", testClarification},
			} {
				t.Run(one.name, func(t *testing.T) {
					t.Parallel()
					one.run(t, s)
				})
			}
		})
	}
}

type option func(http.Header)

func key(value string) option { return func(h http.Header) { h.Set("Idempotency-Key", value) } }

func actor(name string) option { return func(h http.Header) { h.Set("X-Actor", name) } }

// send sends a request; body is JSON text.
func (s *service) send(ctx context.Context, t *testing.T, method, path, body string, options ...option) *http.Response {
	t.Helper()
	response, err := s.request(ctx, method, path, body, options...)
	require.NoError(t, err)
	return response
}

func (s *service) request(ctx context.Context, method, path, body string, options ...option) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.server.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, apply := range options {
		apply(request.Header)
	}
	return s.client.Do(request)
}

// reply is an answer that is no stream.
type reply struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

func (s *service) do(t *testing.T, method, path, body string, options ...option) *reply {
	t.Helper()
	answer, err := s.try(t, method, path, body, options...)
	require.NoError(t, err)
	return answer
}

func (s *service) try(t *testing.T, method, path, body string, options ...option) (*reply, error) {
	t.Helper()
	response, err := s.request(t.Context(), method, path, body, options...)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	answer := &reply{status: response.StatusCode, header: response.Header, text: strings.TrimSpace(string(text))}
	if strings.HasPrefix(answer.text, "{") {
		err = json.Unmarshal(text, &answer.body)
	}
	return answer, err
}

// later sends a request whose answer is held; what it returns waits for the answer.
func (s *service) later(t *testing.T, method, path, body string) func() *reply {
	t.Helper()
	type result struct {
		answer *reply
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := s.try(t, method, path, body)
		done <- result{answer, err}
	}()
	return func() *reply {
		t.Helper()
		got := <-done
		require.NoError(t, got.err)
		return got.answer
	}
}

// settled returns the resolution of a request.
func (s *service) settled(t *testing.T, handle string) (api.Outcome, api.Resolution) {
	t.Helper()
	found, err := s.store.RequestByHandle(t.Context(), handle)
	require.NoError(t, err)
	if found.Request.Open() {
		return "", api.Resolution{}
	}
	return found.Request.Outcome, found.Request.Recorded()
}

// events reads what a run showed.
func (s *service) events(t *testing.T, runID, query string) *reply {
	t.Helper()
	answer := s.do(t, http.MethodGet, "/runs/"+runID+"/events"+query, "")
	require.Equal(t, http.StatusOK, answer.status, "%s", answer.text)
	return answer
}

// sameInLog checks that the list of events shows what the stream showed. The parent is
// told apart: who asked is not in the log when it was not the newest run.
func (s *service) sameInLog(t *testing.T, events []*event) {
	t.Helper()
	runID := events[0].at("run_id").(string)
	answer := s.events(t, runID, "?limit=2000")
	list, _ := answer.body["events"].([]any)
	require.Len(t, list, len(events), "%s", answer.text)
	for i, one := range events {
		logged, _ := list[i].(map[string]any)
		require.Equal(t, float64(one.seq), logged["seq"])
		require.Equal(t, any(one.map_), logged["data"])
	}
	require.Equal(t, true, answer.body["done"])
	require.Equal(t, false, answer.body["expired"])
	require.Equal(t, float64(len(events)), answer.body["next_cursor"])
}
