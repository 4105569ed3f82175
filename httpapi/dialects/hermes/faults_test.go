package hermes_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// troubled is a store to which something happens between a look-up and the decision.
type troubled struct {
	runs.Store
	before atomic.Pointer[func() error]
	reads  atomic.Int64
	broken atomic.Pointer[error]
}

func (s *troubled) Within(reads.Scope) reads.Reader { return s }

func (s *troubled) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	switch runs.Unwrap(command).(type) {
	case *runs.ResolveApprovals, *runs.AnswerQuestion:
		if before := s.before.Swap(nil); before != nil {
			if err := (*before)(); err != nil {
				return runs.Reply{}, err
			}
		}
	}
	return s.Store.Do(ctx, command)
}

func (s *troubled) PendingRequests(ctx context.Context, q reads.RequestQuery) ([]model.PendingRequest, error) {
	s.reads.Add(1)
	if broken := s.broken.Load(); broken != nil {
		return nil, *broken
	}
	return s.Store.PendingRequests(ctx, q)
}

func (s *troubled) then(before func() error) { s.before.Store(&before) }

func notRelayed(choice string, relayed bool, code, text string) string {
	return fmt.Sprintf("{\n  \"ok\": false,\n  \"choice\": %q,\n  \"relayed\": %t,\n  \"code\": %q,\n  \"error\": %q\n}", choice, relayed, code, text)
}

// TestBetweenLookUpAndDecision checks docs/spec/hermes.md#late-approval, and that a click without
// an id is about the oldest approval at the time of the call.
func TestBetweenLookUpAndDecision(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		store := &troubled{Store: database.Open(t)}
		s := serve(t, store)
		gone := notRelayed("once", false, "gateway_run_unavailable", "The run has ended; there is nothing left to approve.")
		for _, id := range []bool{true, false} {
			click := func(made run) string {
				if !id {
					return `"choice":"once"`
				}
				return `"choice":"once","approval_id":"` + made.handle(t, "a1") + `"`
			}
			made := s.waiting(t, approvals("a1"))
			store.then(func() error {
				_, err := store.Store.Do(t.Context(), &runs.CancelRun{RunID: made.RunID})
				return err
			})
			s.respond(t, made.SessionID, click(made)).is(http.StatusConflict, gone)
			if id {
				s.respond(t, made.SessionID, click(made)).is(http.StatusOK, cleared("once"))
			}

			worker := s.attached(t)
			held := s.raise(t, worker, approvals("a1"))
			store.then(func() error {
				_, err := store.Store.Do(t.Context(), &runs.Complete{RunID: held.RunID, Fence: 1})
				return err
			})
			s.respond(t, held.SessionID, click(held)).is(http.StatusConflict, gone)

			settle := func(made run) func() error {
				return func() error {
					_, err := store.Store.Do(t.Context(), &runs.ResolveApprovals{
						RunID: made.RunID, Resolutions: []runs.ApprovalDecision{{RequestID: "a1", Behavior: api.BehaviorDeny}},
					})
					return err
				}
			}
			made = s.waiting(t, approvals("a1"))
			store.then(settle(made))
			s.respond(t, made.SessionID, click(made)).is(http.StatusOK, cleared("once"))

			made = s.waiting(t, approvals("a1"))
			store.then(func() error {
				if err := settle(made)(); err != nil {
					return err
				}
				_, err := store.Store.Do(t.Context(), &runs.CancelRun{RunID: made.RunID})
				return err
			})
			s.respond(t, made.SessionID, click(made)).is(http.StatusOK, cleared("once"))

			made = s.waiting(t, approvals("a1", "a2"))
			store.then(settle(made))
			got := s.respond(t, made.SessionID, click(made))
			got.is(http.StatusOK, other("once"))
			require.Empty(t, got.Header.Get("X-Approval-Id"))
			require.Len(t, s.now(t, made).PendingApprovals, 1, "the next one is not touched")

			for _, trouble := range []error{runs.ErrUnavailable, runs.ErrClosed} {
				store.then(func() error { return fmt.Errorf("write: %w", trouble) })
				got := s.respond(t, made.SessionID, `"choice":"once"`)
				require.Contains(t, got.Text, `"code": "gateway_approval_relay_failed"`)
			}
			store.then(func() error { return fmt.Errorf("write: %w", runs.ErrUnavailable) })
			s.respond(t, made.SessionID, `"choice":"deny"`).is(http.StatusBadGateway,
				notRelayed("deny", true, "gateway_approval_relay_failed", "the database did not answer; the call may or may not have taken effect"))
			s.respond(t, made.SessionID, `"choice":"deny"`).is(http.StatusOK, chose("deny"))

			answer := `"response":"x"`
			asked := s.waiting(t, questions(free("q1"), free("q2")))
			if id {
				answer += `,"clarify_id":"` + asked.handle(t, "q1") + `"`
			}
			store.then(func() error {
				_, err := store.Store.Do(t.Context(), &runs.AnswerQuestion{RunID: asked.RunID, Resolution: runs.QuestionAnswer{
					RequestID: "q1", Answers: []api.UserQuestionAnswer{{QuestionID: "q", FreeformAnswer: "first"}},
				}})
				return err
			})
			s.clarify(t, asked.SessionID, answer).is(http.StatusConflict, stale)
			require.Len(t, s.now(t, asked).PendingQuestions, 1)
			store.then(func() error { return fmt.Errorf("write: %w", runs.ErrUnavailable) })
			s.clarify(t, asked.SessionID, `"response":"x"`).
				is(http.StatusServiceUnavailable, failed("the database did not answer; the call may or may not have taken effect"))
		}
	})
}

// TestADatabaseThatDoesNotAnswer checks that failed reads are answered with 503, and that they end
// a stream before it shows outdated data.
func TestADatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	store := &troubled{Store: dialecttest.SQLite(t)}
	s := serve(t, store)
	made := s.waiting(t, approvals("a1"))
	stream := s.follow(t, "/api/approval/stream", made.SessionID)
	stream.shows("initial", made.handle(t, "a1"), 1)

	broken := fmt.Errorf("read: %w", runs.ErrUnavailable)
	store.broken.Store(&broken)
	told := "the database did not answer; the call may or may not have taken effect"
	for _, kind := range []string{"approval", "clarify"} {
		got := s.get(t, path("/api/"+kind+"/pending", made.SessionID))
		got.is(http.StatusServiceUnavailable, failed(told))
		require.Equal(t, "1", got.Header.Get("Retry-After"))
	}
	s.get(t, path("/api/clarify/stream", made.SessionID)).is(http.StatusServiceUnavailable, failed(told))
	s.respond(t, made.SessionID, `"choice":"once"`).is(http.StatusBadGateway, notRelayed("once", true, "gateway_approval_relay_failed", told))
	_, err := store.Do(t.Context(), &runs.CancelRun{RunID: made.RunID})
	require.NoError(t, err)
	stream.Ends()
	store.broken.Store(nil)
	s.follow(t, "/api/approval/stream", made.SessionID).shows("initial", "", 0)
}

// TestOneReadForAllWhoFollow checks that a change is read once for all followers.
func TestOneReadForAllWhoFollow(t *testing.T) {
	t.Parallel()
	store := &troubled{Store: dialecttest.SQLite(t)}
	s := serve(t, store)
	worker := s.attached(t)
	streams := make([]*reader, 40)
	before := store.reads.Load()
	for i := range streams {
		streams[i] = s.follow(t, "/api/approval/stream", worker.SessionID)
		streams[i].shows("initial", "", 0)
	}
	require.Equal(t, int64(1), store.reads.Load()-before, "the snapshot is shared as well")
	before = store.reads.Load()
	made := s.raise(t, worker, approvals("a1"))
	for _, stream := range streams {
		stream.shows("approval", made.handle(t, "a1"), 1)
	}
	require.LessOrEqual(t, store.reads.Load()-before, int64(2))
}

// TestStreamsAreCounted checks that these streams count towards the limit of streams.
func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	s := serve(t, store, func(options *httpapi.Options) { options.Limits.MaxStreams = 1 })
	s.follow(t, "/api/approval/stream", "s").shows("initial", "", 0)
	got := s.get(t, path("/api/clarify/stream", "s"))
	got.is(http.StatusServiceUnavailable, failed("this process serves 1 streams, the maximum; try again"))
}
