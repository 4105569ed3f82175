//go:build unix && faults

package linearizability

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// The environment of these tests.
const (
	// durationVariable sets the minimum duration of the load, such as 45s or 2h. A run injects each
	// fault at least once, and continues until its load has covered everything.
	durationVariable = "HOLDPOINT_SOAK"
	// seedVariable repeats the choices of an earlier run.
	seedVariable = "HOLDPOINT_SOAK_SEED"
	// clocksVariable, when set, lets the clocks of replicas be turned. The program for it is
	// compiled with another standard library, which takes minutes.
	clocksVariable = "HOLDPOINT_WRONG_CLOCKS"
)

const (
	defaultDuration = 12 * time.Second
	// episode limits the recorded history before it is checked and forgotten, also by the service.
	episode = 15 * time.Second
	// overtime is how much longer a run may take to cover everything.
	overtime = 10 * time.Minute
)

func TestReplicasAreOneServiceWhateverFails(t *testing.T) {
	t.Parallel()
	rig.NeedPostgres(t)
	duration, seed := defaultDuration, rand.Uint64()
	if text := os.Getenv(durationVariable); text != "" {
		var err error
		duration, err = time.ParseDuration(text)
		require.NoError(t, err, "%s", durationVariable)
	}
	if text := os.Getenv(seedVariable); text != "" {
		_, err := fmt.Sscan(text, &seed)
		require.NoError(t, err, "%s", seedVariable)
	}
	t.Logf("%s=%d", seedVariable, seed)

	program := rig.Program(t)
	if os.Getenv(clocksVariable) != "" {
		program = rig.ProgramWithWrongClock(t)
	}
	s := start(t, program, 3)
	services := s.connect(t, 12)
	faults := newNemesis(seed, s)
	began, total := time.Now(), tally{}
	for left, lives := duration, 0; left > 0 || !total.complete() && left > -overtime; left, lives = duration-time.Since(began), lives+1 {
		if lives > 0 {
			way := forgets[lives%len(forgets)]
			way.forget(s, t)
			t.Logf("forgotten by %s", way.name)
		}
		work := &load{seed: seed, history: newHistory(), services: services, waits: 30 * time.Millisecond}
		if left <= 0 {
			left = defaultDuration
		}
		s.suffer(t, faults, work, min(left, episode))

		rig.RequireHealthy(t, s.url)
		histories := work.history.finish()
		total.add(tallyOf(histories))
		requireReadBack(t, s, histories)
		checking := time.Now()
		requireLinearizable(t, histories)
		if lives == 0 { // rows after the old copy are lost in a swap
			require.NotContains(t, s.logs(), "the database has lost what was acknowledged", "Postgres was killed and restarted, and had flushed everything")
		}
		t.Logf("after %s, with the checker at work for %s: %s",
			time.Since(began).Round(time.Second), time.Since(checking).Round(time.Millisecond), total)
	}
	t.Logf("faults: %v", faults.done)
	total.requireAll(t)
}

// suffer runs the load and the faults for a while.
func (s *service) suffer(t *testing.T, faults *nemesis, work *load, length time.Duration) {
	t.Helper()
	until, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	working, stop := context.WithCancel(t.Context())
	defer stop()
	var group errgroup.Group
	group.Go(func() error {
		defer stop()
		return faults.run(t.Context(), until)
	})
	group.Go(func() error {
		work.run(working)
		return nil
	})
	require.NoError(t, group.Wait(), "%s", s.logs())
}

// service is several replicas on one Postgres, with a line before and behind each.
type service struct {
	cluster  *rig.Cluster
	url      string
	replicas []*replica
	swaps    int // of the database for an older one
}

func start(t *testing.T, program string, replicas int) *service {
	t.Helper()
	s := &service{cluster: rig.NewCluster(t, rig.ClusterOptions{})}
	require.NoError(t, s.cluster.Start())
	var err error
	s.url, err = s.cluster.CreateDatabase("holdpoint")
	require.NoError(t, err)
	first := rig.Start(t, rig.Options{Program: program, Database: s.url})
	first.Kill()
	require.NoError(t, s.backUp(rig.Soon(t)))
	for range replicas {
		r := &replica{}
		r.database = rig.NewLine(t, fmt.Sprintf("127.0.0.1:%d", s.cluster.Port()))
		overLine, err := url.Parse(s.url)
		require.NoError(t, err)
		overLine.Host = r.database.Address()
		r.Process = rig.Start(t, rig.Options{
			Program: program, Database: overLine.String(), Args: []string{"--max-attempts", "1000"},
		})
		r.calls = rig.NewLine(t, r.Address())
		s.replicas = append(s.replicas, r)
	}
	return s
}

// connect returns clients of the replicas for each caller. They never retry on their own, because
// the history must record every call.
func (s *service) connect(t *testing.T, callers int) [][]*client.Client {
	t.Helper()
	connected := make([][]*client.Client, callers)
	for number := range connected {
		for _, r := range s.replicas {
			transport := &http.Transport{MaxIdleConnsPerHost: callers}
			c, err := client.New("http://"+r.calls.Address(), client.WithActor(callerName(number)),
				client.WithHTTPClient(&http.Client{Transport: sentOnce{transport}}),
				client.WithTimeout(callTimeout), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
			require.NoError(t, err)
			t.Cleanup(transport.CloseIdleConnections)
			connected[number] = append(connected[number], c)
		}
	}
	return connected
}

// sentOnce keeps net/http from sending a call again that has an Idempotency-Key and whose
// connection broke.
type sentOnce struct{ *http.Transport }

func (s sentOnce) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.WithContext(request.Context())
	request.GetBody = nil
	response, err := s.Transport.RoundTrip(request)
	if repeated, there := request.Context().Value(repeatedKey{}).(*bool); there && err == nil {
		*repeated = response.Header.Get("Idempotency-Replayed") == "true"
	}
	return response, err
}

type repeatedKey struct{}

// noticeRepeated lets sentOnce report whether the reply to a call is marked as repeated, which the
// client shows only for some calls.
func noticeRepeated(ctx context.Context) (context.Context, *bool) {
	repeated := new(bool)
	return context.WithValue(ctx, repeatedKey{}, repeated), repeated
}

// logs returns the logs of the replicas.
func (s *service) logs() (text string) {
	for i, r := range s.replicas {
		text += fmt.Sprintf("--- replica %d\n%s", i, r.Log())
	}
	return text
}
