package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// hang blocks the counts of backlogs.
type hang struct {
	began, over chan struct{}
	once        sync.Once
}

func newHang(tb testing.TB) *hang {
	tb.Helper()
	h := &hang{began: make(chan struct{}), over: make(chan struct{})}
	tb.Cleanup(h.end)
	return h
}

func (h *hang) wait() {
	h.once.Do(func() { close(h.began) })
	<-h.over
}

func (h *hang) end() {
	select {
	case <-h.over:
	default:
		close(h.over)
	}
}

// TraceQueryStart blocks the count's statement, which holds its connection and its slot among
// lists.
func (h *hang) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "q.settled_number IS NULL AND (q.kind, q.session_id, q.run_id, q.request_id) > ") {
		h.wait()
	}
	return ctx
}

// TraceQueryEnd does nothing.
func (*hang) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// hangingReader has a count that never returns, without a statement.
type hangingReader struct{ *hang }

func (r hangingReader) Backlogs(context.Context) ([]model.Backlog, error) {
	r.wait()
	return nil, nil
}

// While a count for the limits of principals hangs, no call waits for it: decisions of every
// session succeed, new requests and runs are admitted up to a share, and views, lists and /readyz
// answer.
func TestACountThatHangsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	for engine, open := range map[string]func(*testing.T, *hang) (runs.Store, wire.BacklogReader){
		"sqlite": func(t *testing.T, h *hang) (runs.Store, wire.BacklogReader) {
			t.Helper()
			return openSQLite(t), hangingReader{h}
		},
		"postgres": func(t *testing.T, h *hang) (runs.Store, wire.BacklogReader) {
			t.Helper()
			store, err := postgres.Open(t.Context(), postgrestest.URL(t), postgres.Options{StatementTracer: h, ReadConnections: 4})
			require.NoError(t, err)
			t.Cleanup(func() {
				h.end()
				require.NoError(t, store.Close())
			})
			return store, store
		},
	} {
		parallel(t, engine, func(t *testing.T) {
			h := newHang(t)
			store, reader := open(t, h)
			a := serve(t, store, newContract(t), func(o *httpapi.Options) {
				o.Limits.Quota, o.Backlogs = wire.Quota{Prompts: 320, Queued: 320}, reader
			})
			t.Cleanup(h.end)
			first := a.waiting(t, `"approvals":[`+approval("a")+`]`)
			<-h.began
			const sessions = 10
			over := make([]<-chan *reply, sessions)
			for n := range over {
				over[n] = later(func() *reply {
					run := a.waiting(t, `"approvals":[`+approval("a")+`]`)
					path := "/v1/runs/" + run.run
					a.post(t, path+"/approvals", allow("a")).want(http.StatusAccepted)
					fence := a.post(t, path+"/claim", `{"worker_id":"w"}`).want(http.StatusOK).textAt("lease", "fence")
					return a.post(t, path+"/complete", fmt.Sprintf(`{"fence":%q}`, fence))
				})
			}
			for _, one := range over {
				soon(t, one).want(http.StatusOK)
			}
			for _, path := range []string{
				"/v1/runs/" + first.run, "/v1/sessions/" + first.session, "/v1/sessions/" + first.session + "/events",
				"/v1/runs", "/v1/sessions", "/v1/approvals", "/v1/decisions",
			} {
				a.get(t, path).want(http.StatusOK)
			}
			a.get(t, "/readyz").want(http.StatusOK)
			select {
			case <-h.over:
				require.Fail(t, "the count has ended")
			default:
			}
		})
	}
}
