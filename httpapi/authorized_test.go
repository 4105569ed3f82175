package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// later runs a call concurrently with the test and returns its reply.
func later(call func() *reply) <-chan *reply {
	done := make(chan *reply, 1)
	go func() {
		defer close(done) // even if the call has failed the test
		done <- call()
	}()
	return done
}

func soon(t *testing.T, replies <-chan *reply) *reply {
	t.Helper()
	select {
	case answer, ok := <-replies:
		require.True(t, ok, "the call failed")
		return answer
	case <-time.After(50 * time.Second): // held replies end by themselves after a minute
		require.FailNow(t, "the reply is held although there is something to tell")
		return nil
	}
}

// testHeldReplies tests the calls that are answered once something happens. The result must be the
// same whether the change comes before or after the service holds the reply, so the order is
// random.
func testHeldReplies(t *testing.T, a *rig) {
	parallel(t, "input waits until the run waits", func(t *testing.T) {
		session, agent := a.name("session"), a.name("agent")
		held := later(func() *reply {
			return a.post(t, "/v1/sessions/"+session+"/input", fmt.Sprintf(`{"input":"go","agent_id":%q}`, agent), wait(60))
		})
		claim := a.post(t, "/v1/runs/claim", fmt.Sprintf(`{"worker_id":"w","agent_ids":[%q],"wait_ms":60000}`, agent)).want(http.StatusOK)
		run, fence := claim.textAt("claims", 0, "run", "run_id"), claim.textAt("claims", 0, "lease", "fence")
		a.post(t, "/v1/runs/"+run+"/suspend", fmt.Sprintf(`{"fence":%q,"approvals":[%s]}`, fence, approval("a1"))).want(http.StatusOK)
		answer := soon(t, held).want(http.StatusOK)
		require.Equal(t, "waiting_for_approval", answer.at("status"))
		require.Equal(t, "wait=60", answer.header.Get("Preference-Applied"))
	})
	parallel(t, "input with no wait answers with what there is", func(t *testing.T) {
		answer := a.post(t, "/v1/sessions/"+a.name("session")+"/input", `{"input":"go"}`, wait(0)).want(http.StatusOK)
		require.Equal(t, "idle", answer.at("status"))
		require.Equal(t, "wait=0", answer.header.Get("Preference-Applied"))
		require.Len(t, answer.list("queued_run_ids"), 1)
	})
	parallel(t, "a run is shown when it is decided", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		held := later(func() *reply { return a.get(t, "/v1/runs/"+run.run+"?until=decided", wait(60)) })
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		require.Equal(t, "running", soon(t, held).want(http.StatusOK).at("status"))
		require.Equal(t, "running", a.get(t, "/v1/runs/"+run.run, wait(60)).want(http.StatusOK).at("status"), "decided is the default")
	})
	parallel(t, "a run is shown when it is over", func(t *testing.T) {
		run := a.claimed(t)
		held := later(func() *reply { return a.get(t, "/v1/runs/"+run.run+"?until=terminal", wait(1000)) })
		a.post(t, "/v1/runs/"+run.run+"/complete", fmt.Sprintf(`{"fence":%q,"output":[1]}`, run.fence)).want(http.StatusOK)
		answer := soon(t, held).want(http.StatusOK)
		require.Equal(t, "completed", answer.at("status"))
		require.Equal(t, "wait=60", answer.header.Get("Preference-Applied"), "a longer wait is cut")
	})
	parallel(t, "when the wait runs out the reply is the state as it is", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		answer := a.get(t, "/v1/runs/"+run.run, wait(1)).want(http.StatusOK)
		require.Equal(t, "waiting_for_approval", answer.at("status"))
		require.Equal(t, "wait=1", answer.header.Get("Preference-Applied"))
		a.get(t, "/v1/runs/"+run.run+"?until=done").refused(api.CodeBadRequest)
		for _, unreadable := range []string{"wait", "wait=-1", "wait=x", "respond-async"} {
			answer := a.get(t, "/v1/runs/"+run.run, header("Prefer", unreadable)).want(http.StatusOK)
			require.Empty(t, answer.header.Get("Preference-Applied"), "a preference is never an error")
		}
	})
	parallel(t, "a session-scoped decision waits until the run waits again", func(t *testing.T) {
		run := a.attached(t, `"approvals":[`+approval("a1")+`]`)
		held := later(func() *reply {
			return a.post(t, "/v1/sessions/"+run.session+"/approvals", allow("a1"), wait(60))
		})
		settled := a.get(t, "/v1/runs/"+run.run+"/resume?fence="+run.fence, wait(60)).want(http.StatusOK)
		require.Equal(t, "1", settled.at("after"))
		a.post(t, "/v1/runs/"+run.run+"/suspend", fmt.Sprintf(`{"fence":%q,"questions":[%s]}`, run.fence, question("q1"))).want(http.StatusOK)
		require.Equal(t, "waiting_for_user_question", soon(t, held).want(http.StatusOK).at("status"))

		held = later(func() *reply {
			return a.post(t, "/v1/sessions/"+run.session+"/questions", answer("q1", `"declined":true`), wait(60))
		})
		claim := func() *reply { return a.post(t, "/v1/runs/"+run.run+"/claim", `{"worker_id":"w2"}`) }
		var claimed *reply
		require.Eventually(t, func() bool { claimed = claim(); return claimed.status == http.StatusOK }, time.Minute, time.Millisecond)
		a.post(t, "/v1/runs/"+run.run+"/complete", fmt.Sprintf(`{"fence":%q}`, claimed.textAt("lease", "fence"))).want(http.StatusOK)
		require.Equal(t, "idle", soon(t, held).want(http.StatusOK).at("status"))
	})
	parallel(t, "a client that goes away is let go", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := a.try(t, http.MethodGet, "/v1/runs/"+run.run, "", wait(60), inContext(ctx))
			gone <- err
		}()
		cancel()
		require.ErrorIs(t, <-gone, context.Canceled)
	})
}

// TestDrainAnswersHeldReplies: a service that drains answers all held calls.
func TestDrainAnswersHeldReplies(t *testing.T) {
	t.Parallel()
	store := openSQLite(t)
	a := serve(t, store, newContract(t))
	run := a.attached(t, `"approvals":[`+approval("a1")+`]`)
	calls := []<-chan *reply{
		later(func() *reply { return a.get(t, "/v1/runs/"+run.run, wait(60)) }),
		later(func() *reply { return a.get(t, "/v1/runs/"+run.run+"/resume?fence="+run.fence, wait(60)) }),
		later(func() *reply { return a.post(t, "/v1/runs/claim", `{"worker_id":"w","wait_ms":60000}`) }),
		later(func() *reply {
			return a.post(t, "/v1/sessions/other/input", `{"input":1,"agent_id":"nobody"}`, wait(60))
		}),
	}
	a.get(t, "/readyz").want(http.StatusOK)
	a.handler.Drain()
	for _, call := range calls {
		soon(t, call).want(http.StatusOK)
	}
	a.get(t, "/readyz").refused("service_unavailable")
	a.get(t, "/livez").want(http.StatusOK)
	a.post(t, "/v1/runs", `{"input":1}`).want(http.StatusAccepted)
}
