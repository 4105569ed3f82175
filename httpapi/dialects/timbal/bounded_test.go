package timbal_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/timbal"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// countingStore counts the events that were read.
type countingStore struct {
	runs.Store
	events atomic.Int64
}

func (s *countingStore) Within(reads.Scope) reads.Reader { return s }

func (s *countingStore) EventsWithin(ctx context.Context, q reads.EventQuery) ([]model.Event, bool, error) {
	events, more, err := s.Store.EventsWithin(ctx, q)
	s.events.Add(int64(len(events)))
	return events, more, err
}

func (s *countingStore) read() int64 { return s.events.Swap(0) }

// The cost of a late segment of a long log, or of a late page of a long segment, depends only on
// its own size.
func TestReadsAreOfWhatIsShown(t *testing.T) {
	t.Parallel()
	counting := &countingStore{Store: dialecttest.SQLite(t)}
	s := serve(t, counting)
	stream := s.open(t, "/stream", `{}`)
	stream.next()
	stream.Leave()
	w := s.claim(t, stream.runID)
	steps := make([]string, 1000)
	for i := range steps {
		steps[i] = fmt.Sprintf(`{"type":"step","n":%d}`, i)
	}
	for range 4 {
		w.append(steps...)
	}

	// A client continues from its cursor, while the run continues.
	page := s.events(t, w.runID, "?limit=2000&after=3000")
	require.Len(t, page.body["events"], 1001)
	counting.read()
	for n := range 3 {
		w.append(`{"type":"step"}`)
		page = s.events(t, w.runID, fmt.Sprintf("?after=%d", 4001+n))
		require.Equal(t, float64(4002+n), dialecttest.At(page.body, "events", 0, "seq"))
		require.Len(t, page.body["events"], 1)
		require.LessOrEqual(t, counting.read(), int64(20))
	}
	// Another one that was elsewhere has the same frames.
	again := s.events(t, w.runID, "?limit=2&after=3999")
	require.Equal(t, 3998.0-3000+1, dialecttest.At(again.body, "events", 0, "data", "n").(float64)+1)
	require.Equal(t, 4001.0, again.body["next_cursor"])
	require.LessOrEqual(t, counting.read(), int64(1100))

	// The events after a decision, at the end of the log.
	w.wait(approval("a"))
	open := s.events(t, w.runID, "?after=4004")
	handle := dialecttest.At(open.body, "events", 0, "data", "approval_id").(string)
	counting.read()
	segment := s.open(t, "/stream", resumeBody(t, w.runID, handle, "true"))
	require.Equal(t, "START", segment.next().kind())
	segment.Leave()
	w.again()
	w.append(`{"type":"late"}`)
	shown := s.events(t, segment.runID, "")
	require.Len(t, shown.body["events"], 2)
	require.Equal(t, "LATE", dialecttest.At(shown.body, "events", 1, "data", "type"))
	require.LessOrEqual(t, counting.read(), int64(40))
}

// Events of the maximum size: a page ends early and continues.
func TestLargeEvents(t *testing.T) {
	s := serve(t, dialecttest.SQLite(t))
	stream := s.open(t, "/stream", `{}`)
	stream.next()
	stream.Leave()
	w := s.claim(t, stream.runID)
	const large = 24
	text := strings.Repeat("x", 1<<19-1000)
	for range large {
		w.append(`{"type":"step","text":"` + text + `"}`)
	}
	w.wait(approval("a"))
	var cursor float64
	shown, pages := 0, 0
	for done := false; !done; pages++ {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("/runs/%s/events?limit=2000&after=%.0f", w.runID, cursor), http.NoBody)
		request.Host = "localhost"
		reply := httptest.NewRecorder()
		reply.Body.Grow(8 << 20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s.API.Handler().ServeHTTP(reply, request)
		runtime.ReadMemStats(&after)
		t.Logf("%d MiB allocated for a reply of %d KiB", (after.TotalAlloc-before.TotalAlloc)>>20, reply.Body.Len()>>10)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(160<<20))
		require.LessOrEqual(t, reply.Body.Len(), 5<<20)
		var page map[string]any
		require.NoError(t, json.Unmarshal(reply.Body.Bytes(), &page))
		shown += len(page["events"].([]any))
		cursor, done = page["next_cursor"].(float64), page["done"] == true
	}
	require.Equal(t, 1+large+2, shown)
	require.Equal(t, large/8, pages, "eight a page, and the end with the last")
	require.Equal(t, http.StatusNoContent, s.do(t, http.MethodPost, "/cancel/"+w.runID, "").Status)
}

// BenchmarkLateSegment lists the events after a decision, and the newest frames of the run before
// it, after 50,000 events of a worker.
func BenchmarkLateSegment(b *testing.B) {
	store := dialecttest.SQLite(b)
	s := serve(b, store)
	do := func(command runs.Command) runs.Reply {
		reply, err := store.Do(context.Background(), command)
		require.NoError(b, err)
		return reply
	}
	fence := do(&runs.CreateRun{
		SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
	}).Run.Run.Fence
	steps := make([]api.JSON, 250)
	for i := range steps {
		steps[i] = api.JSON(`{"type":"step","text":"a line that a worker writes"}`)
	}
	for range 200 {
		do(&runs.AppendEvents{RunID: "r", Fence: fence, Events: steps})
	}
	do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: api.Suspension{Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`1`)}}}})
	do(&runs.ResolveApprovals{
		RunID: "r", Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorAllow}}, Actor: runs.Actor{Name: "ann", Via: timbal.Via},
	})
	record, err := store.Run(context.Background(), "r")
	require.NoError(b, err)
	for name, path := range map[string]string{
		"segment": fmt.Sprintf("/runs/r~%d/events", record.Run.LastEventID), "page": "/runs/r/events?after=49990&limit=5",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				answer, err := s.Client.Get(s.Server.URL + path)
				require.NoError(b, err)
				require.Equal(b, http.StatusOK, answer.StatusCode)
				require.NoError(b, answer.Body.Close())
			}
		})
	}
}
