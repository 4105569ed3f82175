package codex_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// testLate holds the column of codex in the race table: whatever came before, and on
// whatever face, a decision that comes after it finds nothing.
func testLate(t *testing.T, service, other *replica) {
	for name, win := range map[string]func(t *testing.T, r run){
		"allowed on /v1": func(t *testing.T, r run) {
			service.post(t, "/v1/runs/"+r.id+"/approvals", `{"resolutions":[{"request_id":"a1","behavior":"allow"}]}`).Want(http.StatusAccepted)
		},
		"denied on /v1": func(t *testing.T, r run) {
			service.post(t, "/v1/sessions/"+r.session+"/approvals", `{"resolutions":[{"request_id":"a1","behavior":"deny"}]}`).Want(http.StatusOK)
		},
		"allowed on another dialect": func(t *testing.T, r run) {
			service.post(t, "/api/approval/respond", fmt.Sprintf(`{"session_id":%q,"approval_id":%q,"choice":"once"}`, r.session, service.approvalID(t, r))).Want(http.StatusOK)
		},
		"accepted here": func(t *testing.T, r run) {
			service.decide(t, service.approvalID(t, r), `{"decision":"accept"}`).Want(http.StatusOK)
		},
		"cancelled here": func(t *testing.T, r run) {
			service.decide(t, service.approvalID(t, r), `{"decision":"cancel"}`).Want(http.StatusOK)
		},
		"the run was cancelled": func(t *testing.T, r run) {
			service.post(t, "/v1/runs/"+r.id+"/cancel", `{}`).Want(http.StatusOK)
		},
		"the session was interrupted": func(t *testing.T, r run) {
			service.post(t, "/v1/sessions/"+r.session+"/interrupt", `{}`).Want(http.StatusOK)
		},
		"the session has ended": func(t *testing.T, r run) {
			service.post(t, "/v1/sessions/"+r.session+"/end", `{}`).Want(http.StatusOK)
		},
		"the worker took it back": func(t *testing.T, r run) {
			service.post(t, "/v1/runs/"+r.id+"/requests/a1/withdraw", fmt.Sprintf(`{"fence":%q}`, r.fence)).Want(http.StatusOK)
		},
		"the run is over": func(t *testing.T, r run) {
			service.post(t, "/v1/runs/"+r.id+"/complete", fmt.Sprintf(`{"fence":%q}`, r.fence)).Want(http.StatusOK)
		},
	} {
		t.Run("approval: "+name, func(t *testing.T) {
			r := service.attached(t, approvals(approval("a1", "")))
			approvalID := service.approvalID(t, r)
			win(t, r)
			before := service.recorded(t, r)
			for _, body := range []string{`{"decision":"accept"}`, `{"decision":"decline"}`, `{"decision":"cancel"}`, `{"decision":"accept","scope":"session"}`} {
				// A machine is told no more than a person, and neither is told to try again.
				other.decide(t, approvalID, body, dialecttest.Header("X-Actor", "supervisor")).
					Is(http.StatusNotFound, fmt.Sprintf(`{"status":"not_found","approvalId":%q}`, approvalID))
			}
			require.Equal(t, before, service.recorded(t, r))
		})
	}

	for name, win := range map[string]func(t *testing.T, r run){
		"answered on /v1": func(t *testing.T, r run) {
			service.post(t, "/v1/runs/"+r.id+"/questions",
				`{"resolution":{"request_id":"q1","answers":[{"question_id":"where","selected_option_ids":["p"]},{"question_id":"how","freeform_answer":"x"}]}}`).Want(http.StatusAccepted)
		},
		"answered on another dialect, one question after the other": func(t *testing.T, r run) {
			requestID := service.requestID(t, r)
			for _, text := range []string{"prod", "slowly"} {
				shown := service.get(t, "/api/clarify/pending?session_id="+r.session).Want(http.StatusOK)
				require.Equal(t, requestID, service.requestID(t, r))
				service.post(t, "/api/clarify/respond", fmt.Sprintf(`{"session_id":%q,"clarify_id":%q,"response":%q}`,
					r.session, shown.TextAt("pending", "clarify_id"), text)).Want(http.StatusOK)
			}
		},
		"cancelled on /v1": func(t *testing.T, r run) {
			service.post(t, "/v1/runs/"+r.id+"/questions/q1/cancel", `{}`).Want(http.StatusOK)
		},
		"declined here": func(t *testing.T, r run) {
			service.reply(t, service.requestID(t, r), `{"decision":"decline"}`).Want(http.StatusOK)
		},
		"the session has ended": func(t *testing.T, r run) {
			service.post(t, "/v1/sessions/"+r.session+"/end", `{}`).Want(http.StatusOK)
		},
		"the run is over": func(t *testing.T, r run) {
			service.post(t, "/v1/runs/"+r.id+"/fail", fmt.Sprintf(`{"fence":%q,"error":"x"}`, r.fence)).Want(http.StatusOK)
		},
	} {
		t.Run("tool input: "+name, func(t *testing.T) {
			r := service.attached(t, questions(question("q1", "")))
			requestID := service.requestID(t, r)
			win(t, r)
			before := service.recorded(t, r)
			for _, body := range []string{
				`{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":["x"]}}}`,
				`{"decision":"accept"}`, `{"decision":"accept","response":null}`, `{"decision":"decline"}`, `{"decision":"cancel"}`,
			} {
				other.reply(t, requestID, body, dialecttest.Header("X-Actor", "supervisor")).
					Is(http.StatusNotFound, fmt.Sprintf(`{"status":"not_found","requestId":%q}`, requestID))
			}
			require.Equal(t, before, service.recorded(t, r))
		})
	}

	t.Run("a deadline that nobody has swept", func(t *testing.T) {
		past := time.Now().Add(300 * time.Millisecond).UnixMilli()
		r := service.waiting(t, approvals(approval("a1", fmt.Sprintf(`"expires_at_ms":%d`, past))))
		approvalID := service.approvalID(t, r)
		require.Eventually(t, func() bool {
			now, err := service.Store.NowMs(t.Context())
			return err == nil && now >= past
		}, 5*time.Second, 10*time.Millisecond)
		service.decide(t, approvalID, `{"decision":"accept"}`).Want(http.StatusNotFound)
		require.Equal(t, api.OutcomeExpired, service.recorded(t, r).Outcome)
	})
}

// testRaces holds that of many decisions at once, on two replicas, one counts.
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

	t.Run("100 decisions about an approval", func(t *testing.T) {
		r := service.waiting(t, approvals(approval("a1", "")))
		approvalID := service.approvalID(t, r)
		decisions := []string{"accept", "decline", "cancel"}
		won := race(t, func(i int) *answer {
			return replicas[i%2].post(t, "/api/approvals/"+approvalID+"/decision", `{"decision":"`+decisions[i%3]+`"}`)
		})
		require.Equal(t, 1, won)
		service.recorded(t, r)
	})

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

	t.Run("100 answers", func(t *testing.T) {
		r := service.waiting(t, questions(question("q1", "")))
		requestID := service.requestID(t, r)
		won := race(t, func(i int) *answer {
			return replicas[i%2].post(t, "/api/tool-input/"+requestID+"/decision", fmt.Sprintf(`{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":["%d"]}}}`, i))
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

// TestDoorDecides holds that it is the door that says who came first, whatever was read
// before it.
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
