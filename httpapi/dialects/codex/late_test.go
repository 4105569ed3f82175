package codex_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// testLate checks a tool input whose questions another dialect answers one by one: it stays open
// here until the last one. Package test/faces checks the replies to all other losers.
func testLate(t *testing.T, service, other *replica) {
	r := service.attached(t, questions(question("q1", "")))
	requestID := service.requestID(t, r)
	for _, text := range []string{"prod", "slowly"} {
		require.Equal(t, requestID, service.requestID(t, r))
		shown := service.get(t, "/api/clarify/pending?session_id="+r.session).Want(http.StatusOK)
		service.post(t, "/api/clarify/respond", fmt.Sprintf(`{"session_id":%q,"clarify_id":%q,"response":%q}`,
			r.session, shown.TextAt("pending", "clarify_id"), text)).Want(http.StatusOK)
	}
	before := service.recorded(t, r)
	for _, body := range []string{
		`{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":["x"]}}}`,
		`{"decision":"accept"}`, `{"decision":"accept","response":null}`, `{"decision":"decline"}`, `{"decision":"cancel"}`,
	} {
		// A machine gets the same reply as a person.
		other.reply(t, requestID, body, dialecttest.Header("X-Actor", "supervisor")).
			Is(http.StatusNotFound, fmt.Sprintf(`{"status":"not_found","requestId":%q}`, requestID))
	}
	require.Equal(t, before, service.recorded(t, r))
}

// testRaces checks that exactly one of many concurrent decisions on two replicas counts.
func testRaces(t *testing.T, service, other *replica) {
	replicas := []*replica{service, other}
	race := func(t *testing.T, send func(i int) *answer) (won int) {
		t.Helper()
		const calls = 100
		statuses := make([]int, calls)
		var group sync.WaitGroup
		start := make(chan struct{})
		for i := range calls {
			group.Go(func() {
				<-start
				statuses[i] = send(i).Status
			})
		}
		close(start)
		group.Wait()
		for i, status := range statuses {
			switch status {
			case http.StatusOK, http.StatusAccepted:
				won++
			default:
				require.Contains(t, []int{http.StatusNotFound, http.StatusConflict, http.StatusBadRequest}, status, "call %d", i)
			}
		}
		return won
	}

	t.Run("100 decisions, half of them on /v1", func(t *testing.T) {
		r := service.waiting(t, approvals(approval("a1", "")))
		approvalID := service.approvalID(t, r)
		won := race(t, func(i int) *answer {
			if i%4 < 2 {
				return replicas[i%2].post(t, "/v1/runs/"+r.id+"/approvals", `{"resolutions":[{"request_id":"a1","behavior":"deny"}]}`)
			}
			return replicas[i%2].post(t, "/api/approvals/"+approvalID+"/decision", `{"decision":"accept","scope":"session"}`)
		})
		require.Equal(t, 1, won)
		service.recorded(t, r)
	})

	t.Run("100 times the same answer to a clarification", func(t *testing.T) {
		r := service.clarifying(t)
		requestID := service.requestID(t, r)
		won := race(t, func(i int) *answer {
			return replicas[i%2].post(t, "/api/tool-input/"+requestID+"/decision", `{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":["x"]}}}`)
		})
		require.Equal(t, 1, won)
	})
}

// stale is a store whose readings are old: all that it has shown, it shows again.
type stale struct {
	runs.Store
	mu    sync.Mutex
	shown map[string]model.PendingRequest
}

func (s *stale) Within(reads.Scope) reads.Reader { return s }

func (s *stale) RequestByHandle(ctx context.Context, handle string) (*model.PendingRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, there := s.shown[handle]; there {
		return &known, nil
	}
	found, err := s.Store.RequestByHandle(ctx, handle)
	if err == nil {
		s.shown[handle] = *found
	}
	return found, err
}

// TestDoorDecides checks that the door determines the winner, regardless of earlier reads.
func TestDoorDecides(t *testing.T) {
	t.Parallel()
	service := serve(t, &stale{Store: dialecttest.SQLite(t), shown: map[string]model.PendingRequest{}})
	const yes = `{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":["x"]}}}`
	bodies := []string{yes, `{"decision":"decline"}`, `{"decision":"cancel"}`}

	r := service.waiting(t, approvals(approval("a1", "")))
	approvalID := service.approvalID(t, r)
	service.decide(t, approvalID, yes).Want(http.StatusOK)
	for _, asking := range []run{service.waiting(t, questions(question("q1", ""))), service.clarifying(t)} {
		requestID := service.requestID(t, asking)
		service.reply(t, requestID, yes).Want(http.StatusOK)
		for _, body := range bodies {
			service.decide(t, approvalID, body).Is(http.StatusNotFound, fmt.Sprintf(`{"status":"not_found","approvalId":%q}`, approvalID))
			service.reply(t, requestID, body).Is(http.StatusNotFound, fmt.Sprintf(`{"status":"not_found","requestId":%q}`, requestID))
		}
	}
}
