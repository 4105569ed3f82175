//go:build unix && faults

package expiry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// dueVariable says how many requests fall due at once.
const dueVariable = "HOLDPOINT_EXPIRY_DUE"

const (
	defaultDue = 2_000
	// resolvers is how many people decide about other runs meanwhile.
	resolvers = 8
	// quiet is how long at least they decide before anything is due.
	quiet = 2 * time.Second
)

// Very many requests fall due at the same moment, on two replicas that both sweep.
// Each expires once and is on record once, and nobody who decides about another run
// meanwhile is refused. How long the sweep takes, and what a decision takes with and
// without it, is logged and not asserted.
func TestVeryManyDueAtOnce(t *testing.T) {
	t.Parallel()
	count := rig.EnvInt(t, dueVariable, defaultDue)
	database := postgrestest.URL(t, postgrestest.Durable())
	opened, err := store.Open(t.Context(), database, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	processes, _ := rig.StartReplicas(t, 2, rig.Options{Database: database})
	replicas := []*client.Client{processes[0].Connect(), processes[1].Connect()}

	people := startPeople(t, replicas)
	sessions, dueAtMs := fallDue(t, opened, count)
	rig.Await(t, func() bool {
		nowMs, err := opened.NowMs(t.Context())
		return err == nil && nowMs > dueAtMs
	}, "nothing falls due")
	for left := int64(-1); left != 0; {
		last := left
		rig.Await(t, func() bool {
			next, _, err := opened.NextDueAtMs(t.Context())
			require.NoError(t, err)
			left = next
			return left != last
		}, "what is due does not end")
	}
	decisions := people.stop()

	swept := expired(t, opened, sessions)
	require.Len(t, swept, count)
	lastAtMs := slices.Max(swept)
	require.GreaterOrEqual(t, slices.Min(swept), dueAtMs, "expired early")
	before, during := split(decisions, dueAtMs, lastAtMs)
	t.Logf("%d requests swept in %d ms", count, lastAtMs-dueAtMs)
	t.Logf("decisions before: %s", spread(before))
	t.Logf("decisions during: %s", spread(during))
	rig.RequireHealthy(t, database)
}

// fallDue makes runs that wait, all with one deadline, and returns that some time
// before it, and how the ids of their sessions begin. A slow machine needs more than
// one try.
func fallDue(t *testing.T, opened runs.Store, count int) (sessions string, dueAtMs int64) {
	t.Helper()
	for lead := quiet + time.Duration(count)*time.Millisecond/2; lead < 10*rig.Patience; lead *= 2 {
		nowMs, err := opened.NowMs(t.Context())
		require.NoError(t, err)
		sessions, dueAtMs = fmt.Sprintf("due-in-%v-", lead), nowMs+lead.Milliseconds()
		failed := rig.Concurrently(t.Context(), count, func(ctx context.Context, n int) error {
			_, err := opened.Do(ctx, &runs.CreateRun{
				SessionID: sessions + strconv.Itoa(n), SessionGiven: true, Input: api.JSON(`"work"`), Suspend: dueAt(dueAtMs),
			})
			return err
		})
		nowMs, err = opened.NowMs(t.Context())
		require.NoError(t, err)
		if failed == nil && dueAtMs-nowMs > quiet.Milliseconds()/2 {
			return sessions, dueAtMs
		}
	}
	require.Fail(t, "this machine is too slow to make so many runs before they fall due")
	return "", 0
}

func dueAt(expiresAtMs int64) *api.Suspension {
	suspension := rig.Approvals("deploy")
	suspension.Approvals[0].ExpiresAtMs = &expiresAtMs
	return suspension
}

// expired walks all rows and returns when each request that was due expired. Each is
// on record once.
func expired(t *testing.T, opened runs.Store, sessions string) (atMs []int64) {
	t.Helper()
	err := opened.(model.Walker).Walk(t.Context(), func(rows *model.SessionRows) error {
		if !strings.HasPrefix(rows.SessionID, sessions) {
			return nil
		}
		for request, err := range rows.Requests {
			if err != nil {
				return err
			}
			require.Equal(t, api.OutcomeExpired, request.Outcome, rows.SessionID)
			atMs = append(atMs, request.SettledAtMs)
		}
		resolved := 0
		for event, err := range rows.Events {
			if err != nil {
				return err
			}
			if event.Type == api.EventApprovalResolved {
				resolved++
			}
		}
		require.Equal(t, 1, resolved, rows.SessionID)
		return nil
	})
	require.NoError(t, err)
	return atMs
}

// decision is how long one decision took.
type decision struct {
	sentAtMs int64
	took     time.Duration
}

// people make runs that wait and decide about them, over and over.
type people struct {
	group   *errgroup.Group
	end     context.CancelFunc
	t       *testing.T
	mu      sync.Mutex
	decided []decision
}

func startPeople(t *testing.T, replicas []*client.Client) *people {
	t.Helper()
	ending, end := context.WithCancel(t.Context())
	p := &people{group: new(errgroup.Group), end: end, t: t}
	for n := range resolvers {
		p.group.Go(func() error {
			for ending.Err() == nil {
				if err := p.decide(t.Context(), replicas[n%2], replicas[(n+1)%2]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	t.Cleanup(end)
	return p
}

func (p *people) decide(ctx context.Context, maker, decider *client.Client) error {
	run, err := maker.CreateRun(ctx, client.CreateRunParams{Input: "work", Suspend: rig.Approvals("deploy")})
	if err != nil {
		return err
	}
	sent := time.Now()
	_, err = decider.ResolveRunApprovals(ctx, run.RunID, rig.Decide(rig.Allow("deploy")))
	took := time.Since(sent)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decided = append(p.decided, decision{sent.UnixMilli(), took})
	return err
}

// stop ends the deciding and returns what each decision took. None of them failed.
func (p *people) stop() []decision {
	p.t.Helper()
	p.end()
	require.NoError(p.t, p.group.Wait())
	return p.decided
}

// split parts the decisions of the time before the deadline from those that were sent
// during the sweep.
func split(all []decision, dueAtMs, lastAtMs int64) (before, during []decision) {
	for _, one := range all {
		switch {
		case one.sentAtMs < dueAtMs && one.sentAtMs > dueAtMs-quiet.Milliseconds()/2:
			before = append(before, one)
		case one.sentAtMs >= dueAtMs && one.sentAtMs <= lastAtMs:
			during = append(during, one)
		}
	}
	return before, during
}

func spread(decisions []decision) string {
	if len(decisions) == 0 {
		return "none"
	}
	slices.SortFunc(decisions, func(a, b decision) int { return int(a.took - b.took) })
	at := func(share float64) time.Duration {
		return decisions[min(int(share*float64(len(decisions))), len(decisions)-1)].took.Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v, longest %v of %d", at(.5), at(.99), at(1), len(decisions))
}
