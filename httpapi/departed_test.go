package httpapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// interruptedReads is a store in which the next read of a run fails once armed.
type interruptedReads struct {
	runs.Store
	armed atomic.Bool
	read  func(context.Context) error
}

func (s *interruptedReads) Within(reads.Scope) reads.Reader { return s }

func (s *interruptedReads) Run(ctx context.Context, runID string) (*model.RunRecord, error) {
	if s.armed.CompareAndSwap(true, false) {
		return nil, s.read(ctx)
	}
	return s.Store.Run(ctx, runID)
}

// A claim with sensitive values is read again before it is handed over. If the read fails, the next worker has the
// run at once. The service logs an error unless the read failed because the caller left.
func TestClaimThatIsNotHandedOverIsReleased(t *testing.T) {
	t.Parallel()
	for name, leaves := range map[string]bool{"the caller leaves": true, "the database does not answer": false} {
		parallel(t, name, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			store := &interruptedReads{Store: openSQLite(t), read: func(ctx context.Context) error {
				if !leaves {
					return runs.ErrUnavailable
				}
				leave()
				<-ctx.Done()
				return ctx.Err()
			}}
			var logged lockedBuffer
			service := serve(t, store, newContract(t), func(o *httpapi.Options) {
				o.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError}))
			})
			held := service.claimed(t)
			service.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","questions":[
				{"id":"q","tool_call_id":"c","sensitive":true,"questions":[{"id":"one","question":"One?"}]}]}`).want(http.StatusOK)
			service.post(t, "/v1/runs/"+held.run+"/questions", `{"resolution":{"request_id":"q","answers":[{"question_id":"one","freeform_answer":"`+secret+`"}]}}`).want(http.StatusAccepted)
			claim := `{"worker_id":"w2","wait_ms":30000,"agent_ids":["` + service.get(t, "/v1/runs/"+held.run).textAt("agent_id") + `"]}`

			store.armed.Store(true)
			call, err := http.NewRequestWithContext(ctx, http.MethodPost, service.server.URL+"/v1/runs/claim", strings.NewReader(claim))
			require.NoError(t, err)
			call.Header.Set("Content-Type", "application/json")
			reply, err := service.server.Client().Do(call)
			if leaves {
				require.ErrorIs(t, err, context.Canceled)
			} else {
				require.NoError(t, err)
				require.NoError(t, reply.Body.Close())
				require.Equal(t, http.StatusServiceUnavailable, reply.StatusCode)
			}

			claims := service.post(t, "/v1/runs/claim", claim).want(http.StatusOK).list("claims")
			require.Len(t, claims, 1)
			require.Equal(t, !leaves, strings.Contains(logged.String(), "a claimed run was released"), logged.String())
		})
	}
}
