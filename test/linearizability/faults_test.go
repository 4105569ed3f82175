//go:build unix && faults

package linearizability

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/test/rig"
)

// replica is a process of the service and the lines to and from it.
type replica struct {
	*rig.Process
	// calls is the line from its callers, database the one to Postgres.
	calls, database *rig.Line
}

// nemesis injects faults, one after the other.
type nemesis struct {
	random   *rand.Rand
	cluster  *rig.Cluster
	replicas []*replica
	// calm is the time between two faults.
	calm time.Duration
	// first are the faults that have not happened yet.
	first []fault
	// done counts the faults by name; it is read after run.
	done map[string]int
}

func newNemesis(seed uint64, s *service) *nemesis {
	n := &nemesis{
		random: rand.New(rand.NewPCG(seed, 0)), cluster: s.cluster, replicas: s.replicas, calm: time.Second / 2,
		first: slices.Clone(faults), done: map[string]int{},
	}
	n.random.Shuffle(len(n.first), func(i, j int) { n.first[i], n.first[j] = n.first[j], n.first[i] })
	return n
}

// fault is a failure that is repaired when strike returns.
type fault struct {
	name   string
	strike func(ctx context.Context, n *nemesis) error
}

// faults are all kinds of faults.
var faults = []fault{
	{"kill a replica", killReplica},
	{"kill Postgres", killPostgres},
	{"kill one backend of Postgres", killBackend},
	{"restart Postgres", restartPostgres},
	{"freeze a replica past its leases", freezeReplica},
	{"turn the clock of a replica", turnClock},
	{"cut a replica from Postgres", onLine(database, 1, func(l *rig.Line, _ *rand.Rand) error { l.Cut(); return nil })},
	{"lose what Postgres answers", onLine(database, 1, func(l *rig.Line, _ *rand.Rand) error { return l.LoseReplies() })},
	{"break connections to Postgres", breakConnections},
	{"delay a replica's statements", onLine(database, 1, delay)},
	{"cut callers from a replica", onLine(calls, 1, func(l *rig.Line, _ *rand.Rand) error { l.Cut(); return nil })},
	{"lose what a replica answers", onLine(calls, 4, func(l *rig.Line, _ *rand.Rand) error { return l.LoseReplies() })},
	{"swallow what a replica answers", onLine(calls, 1, func(l *rig.Line, _ *rand.Rand) error { return l.SwallowReplies() })},
	{"delay calls", onLine(calls, 1, delay)},
}

// run injects faults until a context ends, and each kind at least once. Everything is repaired when
// it returns.
func (n *nemesis) run(ctx, until context.Context) error {
	for len(n.first) > 0 || until.Err() == nil {
		if pause(ctx, n.calm); ctx.Err() != nil {
			return ctx.Err()
		}
		chosen := faults[n.random.IntN(len(faults))]
		if len(n.first) > 0 {
			chosen, n.first = n.first[0], n.first[1:]
		}
		if err := chosen.strike(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", chosen.name, err)
		}
		n.done[chosen.name]++
	}
	return nil
}

func (n *nemesis) replica() *replica { return n.replicas[n.random.IntN(len(n.replicas))] }

// between returns a time between two bounds in milliseconds.
func (n *nemesis) between(leastMs, mostMs int) time.Duration {
	return time.Duration(leastMs+n.random.IntN(mostMs-leastMs)) * time.Millisecond
}

func killReplica(ctx context.Context, n *nemesis) error {
	r := n.replica()
	r.Kill()
	pause(ctx, n.between(0, 500))
	return errors.Join(r.Restart(), r.AwaitReady())
}

func killPostgres(ctx context.Context, n *nemesis) error {
	n.cluster.Kill()
	pause(ctx, n.between(0, 300))
	return n.cluster.Start()
}

func restartPostgres(_ context.Context, n *nemesis) error {
	return errors.Join(n.cluster.Stop(), n.cluster.Start())
}

// killBackend kills one process of the server, which then ends all others and recovers in place.
func killBackend(ctx context.Context, n *nemesis) error {
	conn, err := pgx.Connect(ctx, n.cluster.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, `SELECT pid FROM pg_stat_activity WHERE datname = 'holdpoint' ORDER BY pid`)
	if err != nil {
		return err
	}
	backends, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil || len(backends) == 0 {
		return err
	}
	switch err := syscall.Kill(backends[n.random.IntN(len(backends))], syscall.SIGKILL); {
	case errors.Is(err, syscall.ESRCH):
		return nil
	case err != nil:
		return err
	}
	// The server still answers until it has noticed. Then it ends this connection too.
	noticing, cancel := context.WithTimeout(context.WithoutCancel(ctx), rig.Patience)
	defer cancel()
	_, _ = conn.WaitForNotification(noticing)
	return n.cluster.AwaitReady()
}

func freezeReplica(ctx context.Context, n *nemesis) error {
	r := n.replica()
	r.Freeze()
	pause(ctx, n.between(leaseMs+100, leaseMs+600))
	r.Thaw()
	return nil
}

// turnClock changes a replica's clock by up to a day.
func turnClock(_ context.Context, n *nemesis) error {
	r := n.replica()
	wrong := time.Duration(n.random.IntN(2*24*60*60)-24*60*60) * time.Second
	r.Kill()
	return errors.Join(r.Restart(rig.ClockAhead(wrong)), r.AwaitReady())
}

func database(r *replica) *rig.Line { return r.database }
func calls(r *replica) *rig.Line    { return r.calls }

func delay(l *rig.Line, random *rand.Rand) error { return l.Delay(20 + random.IntN(150)) }

// onLine returns a fault that harms one of a replica's lines this many times within about a second.
func onLine(which func(*replica) *rig.Line, times int, harm func(*rig.Line, *rand.Rand) error) func(context.Context, *nemesis) error {
	return func(ctx context.Context, n *nemesis) error {
		l := which(n.replica())
		for i := range times {
			if i > 0 {
				pause(ctx, n.between(200, 1000)/time.Duration(2*times))
			}
			if err := harm(l, n.random); err != nil {
				return err
			}
			pause(ctx, n.between(200, 1000)/time.Duration(2*times))
			if err := l.Mend(); err != nil {
				return err
			}
		}
		return nil
	}
}

// breakConnections repeatedly ends a replica's connections to Postgres, which may reconnect at
// once. The delayed replies often keep it from learning that it has committed.
func breakConnections(ctx context.Context, n *nemesis) error {
	l := n.replica().database
	for range 10 {
		if err := l.Delay(15); err != nil {
			return err
		}
		pause(ctx, n.between(50, 150))
		if err := l.Mend(); err != nil {
			return err
		}
	}
	return nil
}
