package gate

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// proxied is a transport with the replies of a service and, between them, of a proxy without a
// backend, which are "404" and "500". "503" asks for a pause of 30 seconds.
type proxied struct {
	*testing.T
	replies []string // each "call reply", where call is the end of the path
}

func (p *proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	called := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	require.NotEmpty(p, p.replies, "%s is called", called)
	call, reply, _ := strings.Cut(p.replies[0], " ")
	p.replies = p.replies[1:]
	require.Equal(p, call, called, "then %s", p.replies)
	recorder := httptest.NewRecorder()
	switch {
	case reply == "404":
		recorder.WriteHeader(http.StatusNotFound)
	case reply == "500":
		recorder.WriteHeader(http.StatusInternalServerError)
	case reply == "503":
		recorder.Header().Set("Retry-After", "30")
		recorder.WriteHeader(http.StatusServiceUnavailable)
	case strings.Contains(reply, `"code":"run_not_found"`):
		recorder.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(recorder, reply)
	case strings.Contains(reply, `"code"`):
		recorder.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(recorder, reply)
	default:
		_, _ = io.WriteString(recorder, reply)
	}
	return recorder.Result(), nil
}

// gate returns a gate for run "r", and what it says.
func (p *proxied) gate() (*gate, *bytes.Buffer) {
	said := &bytes.Buffer{}
	opened, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: p}), client.WithoutMultiplexing())
	require.NoError(p, err)
	return &gate{
		Client: opened, terminal: &console.Console{Stderr: said}, noun: "exec", lease: time.Minute,
		params: client.CreateRunParams{RunID: "r", SessionID: "s"},
	}, said
}

// A proxy without a backend ends no wait: not before the claim, and not while the request is open.
func TestAWaitOutlastsAProxyWithoutABackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const (
			claim   = `claim {"run":{"run_id":"r","status":"running"},"lease":{"fence":"1"}}`
			running = `r {"run_id":"r","status":"running"}`
		)
		p := &proxied{t, []string{
			"claim 404", "r 404", "r 500", running, "claim 500", running, claim,
			"resume 404", "resume 500", `resume {"after":"0","open":1}`,
			"resume 404", `resume {"after":"0","open":0,"cancel_requested":true}`,
			"r 404", `r {"run_id":"r","status":"cancelled"}`,
		}}
		g, said := p.gate()
		g.raised.Store(true)
		view, err := g.drive(t.Context(), &api.RunView{RunID: "r", Status: api.StatusRunning}, nil,
			func(context.Context, *api.Claim) (bool, error) { return false, nil })
		require.NoError(t, err)
		require.Equal(t, api.StatusCancelled, view.Status)
		require.Empty(t, p.replies)
		require.Equal(t, 5, strings.Count(said.String(), "lost the connection"), said)
		require.Equal(t, 5, strings.Count(said.String(), "the service is back"), said)
	})
}

// Reads that succeed do not make the claims between them faster.
func TestClaimsThatFailArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &proxied{T: t}
		for range 20 {
			p.replies = append(p.replies, "claim 500", `r {"run_id":"r","status":"running"}`)
		}
		p.replies = append(p.replies, "claim 500", `r {"run_id":"r","status":"cancelled"}`)
		g, _ := p.gate()
		begun := time.Now()
		_, err := g.drive(t.Context(), &api.RunView{RunID: "r", Status: api.StatusRunning}, nil,
			func(context.Context, *api.Claim) (bool, error) { return false, nil })
		require.NoError(t, err)
		require.Greater(t, time.Since(begun), 10*time.Second)
	})
}

// A proxy without a backend does not say that another process has the run of a command.
func TestACommandKeepsItsRunBehindAProxyWithoutABackend(t *testing.T) {
	t.Parallel()
	const (
		renewed = `heartbeat {"expires_at_ms":1,"cancel_requested":false}`
		lost    = `heartbeat {"code":"lease_lost"}`
		again   = `claim {"run":{"run_id":"r","status":"running"},"lease":{"fence":"2"},"checkpoint":{"attempt_id":"mine"}}`
	)
	p := &proxied{T: t}
	g, _ := p.gate()
	k := &keeper{gate: g, fence: "1", attemptID: "mine"}
	for _, replies := range [][]string{
		{"heartbeat 404"}, {"heartbeat 500"}, {renewed}, {lost, "claim 404"}, {lost, "claim 500"}, {lost, again},
	} {
		p.replies = replies
		require.False(t, k.renew(t.Context()))
		require.False(t, k.takenOver, "%s", replies)
		require.Empty(t, p.replies)
	}
	require.Equal(t, "2", k.fence)
	p.replies = []string{`heartbeat {"code":"run_not_found"}`}
	require.False(t, k.renew(t.Context()))
	require.True(t, k.takenOver)
}

// A pause that the service asks for ends with the next renewal of the lease: while the request is open,
// and while the command runs.
func TestALeaseOutlastsALongRetryAfter(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(*gate) (stop func()){
		"open": func(g *gate) func() {
			ctx, cancel := context.WithCancelCause(context.Background())
			go g.renew(ctx, cancel)
			return func() { cancel(nil) }
		},
		"command": func(g *gate) func() { return (&keeper{gate: g, fence: "1"}).keep(func() {}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &proxied{t, []string{"heartbeat 503", `heartbeat {"expires_at_ms":1,"cancel_requested":false}`}}
				g, _ := p.gate()
				stop := keep(g)
				<-time.After(g.lease * 3 / 4)
				synctest.Wait()
				left := p.replies
				stop()
				require.Empty(t, left, "not renewed before the lease has expired")
			})
		})
	}
}

// A request that a proxy without a backend did not withdraw may be open.
func TestAProxyWithoutABackendWithdrawsNothing(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{"404": "could not be withdrawn", `{"code":"run_not_found"}`: ""} {
		p := &proxied{t, []string{"cancel " + reply}}
		g, _ := p.gate()
		err := g.withdraw(t.Context(), console.SignalError{Signal: syscall.SIGINT})
		if want == "" {
			require.Equal(t, console.ExitWith(console.SignalCode(syscall.SIGINT)), err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// A proxy without a backend does not say that the decision of a key's next run is unread.
func TestAProxyWithoutABackendDoesNotMakeAKeyNew(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]error{"404": client.ErrNotFound, `{"code":"run_not_found"}`: nil} {
		p := &proxied{T: t}
		g, _ := p.gate()
		g.key, g.named = "k", func(string) {}
		g.name(call{}, 1)
		p.replies = []string{g.params.RunID + " " + reply}
		generation, err := g.unspent(t.Context(), call{}, 0)
		require.ErrorIs(t, err, want)
		if want == nil {
			require.Equal(t, 1, generation)
		}
	}
}
