package hermes_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// countingStore counts the open requests that were read.
type countingStore struct {
	runs.Store
	requests atomic.Int64
}

func (s *countingStore) Within(reads.Scope) reads.Reader { return s }

func (s *countingStore) PendingRequests(ctx context.Context, q reads.RequestQuery) ([]model.PendingRequest, error) {
	found, err := s.Store.PendingRequests(ctx, q)
	s.requests.Add(int64(len(found)))
	return found, err
}

// manyOpen raises many approvals of 8 KB in its own session.
func manyOpen(tb testing.TB, store runs.Store, count int) (sessionID string) {
	tb.Helper()
	sessionID = runs.NewID(runs.PrefixSession)
	do := func(command runs.Command) runs.Reply {
		reply, err := store.Do(context.Background(), command)
		require.NoError(tb, err)
		return reply
	}
	made := do(&runs.CreateRun{
		SessionID: sessionID, SessionGiven: true, RunID: runs.NewID(runs.PrefixRun), Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
	}).Run.Run
	for left := count; left > 0; {
		part := api.Suspension{Hold: true}
		for ; left > 0 && len(part.Approvals) < 90; left-- {
			part.Approvals = append(part.Approvals, api.ApprovalRequest{
				ID: fmt.Sprintf("a-%d", left), ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"` + strings.Repeat("x", 8_000) + `"}`),
			})
		}
		do(&runs.Suspend{RunID: made.RunID, Fence: made.Fence, Suspension: part})
	}
	return sessionID
}

// To show one approval, and to decide about it, the others are not read.
func TestOneIsReadToShowOne(t *testing.T) {
	t.Parallel()
	counting := &countingStore{Store: dialecttest.SQLite(t)}
	s := serve(t, counting)
	session := manyOpen(t, counting, 90)
	shown := s.pendingApproval(t, session)
	require.Contains(t, shown.Text, `"pending_count": 90`)
	s.respond(t, session, `"choice":"once"`).is(http.StatusOK, chose("once"))
	s.respond(t, session, fmt.Sprintf(`"choice":"once","approval_id":%q`, shown.head())).is(http.StatusOK, other("once"))
	require.Contains(t, s.pendingApproval(t, session).Text, `"pending_count": 89`)
	require.LessOrEqual(t, counting.requests.Load(), int64(3))
}

// A stream of questions shows the oldest and counts the others, without reading them.
func TestOneQuestionIsReadToShowOne(t *testing.T) {
	t.Parallel()
	counting := &countingStore{Store: dialecttest.SQLite(t)}
	s := serve(t, counting)
	made := s.attached(t)
	asked := make([]string, 40)
	for i := range asked {
		asked[i] = free(fmt.Sprintf("q%d", i))
	}
	now := s.raise(t, made, questions(asked...))
	counting.requests.Store(0)
	stream := s.follow(t, "/api/clarify/stream", made.SessionID)
	stream.shows("initial", now.handle(t, "q0"), 40)
	s.clarify(t, made.SessionID, `"response":"because"`).is(http.StatusOK, took("because"))
	stream.shows("clarify", now.handle(t, "q1"), 39)
	require.LessOrEqual(t, counting.requests.Load(), int64(4), "the first, the answer's, and the second")
}

// BenchmarkPending shows the oldest of 900 open approvals of 8 KB each.
func BenchmarkPending(b *testing.B) {
	store := dialecttest.SQLite(b)
	s := serve(b, store)
	session := manyOpen(b, store, 900)
	for b.Loop() {
		answer, err := s.Client.Get(s.Server.URL + path("/api/approval/pending", session))
		require.NoError(b, err)
		require.Equal(b, http.StatusOK, answer.StatusCode)
		require.NoError(b, answer.Body.Close())
	}
}
