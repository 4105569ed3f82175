//go:build unix && faults

package failover

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// standbyName is what synchronous_standby_names holds.
const standbyName = "standby"

// lanes is how many deciding transactions a replica has at once at least. Commands above their caller's share have connections
// next to the lanes.
const lanes = 2

// pair is a primary with a standby, and two replicas of the service that know both.
type pair struct {
	primary, standby *rig.Cluster
	replicas         []*rig.Process
	urls             []string
}

// database is the URL that the replicas are given: whichever of the two takes writes.
func (p *pair) database() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/holdpoint?sslmode=disable&target_session_attrs=read-write",
		p.primary.Port(), p.standby.Port())
}

// startPair starts clusters whose replication is synchronous, or asynchronous when no
// name of a standby is given.
func startPair(t *testing.T, synchronousStandbyNames, synchronousCommit string) *pair {
	t.Helper()
	p := &pair{}
	p.primary = rig.NewCluster(t, rig.ClusterOptions{Settings: map[string]string{
		"synchronous_standby_names": synchronousStandbyNames, "synchronous_commit": synchronousCommit,
	}})
	require.NoError(t, p.primary.Start())
	p.standby = startStandby(t, p.primary)
	state := "sync"
	if synchronousStandbyNames == "" {
		state = "async"
	}
	require.NoError(t, p.primary.AwaitStandby(standbyName, state))
	_, err := p.primary.CreateDatabase("holdpoint")
	require.NoError(t, err)
	p.replicas, p.urls = rig.StartReplicas(t, 2, rig.Options{Database: p.database()})
	return p
}

// startStandby starts a standby that does not rest long before it looks for its primary
// or its promotion again.
func startStandby(t *testing.T, primary *rig.Cluster) *rig.Cluster {
	t.Helper()
	return rig.NewStandby(t, primary, standbyName, rig.ClusterOptions{Settings: map[string]string{"wal_retrieve_retry_interval": "100ms"}})
}

// requireStillRunning shows that the replicas are the processes that were started.
func requireStillRunning(t *testing.T, replicas []*rig.Process) {
	t.Helper()
	for _, replica := range replicas {
		select {
		case <-replica.Ended():
			require.Fail(t, "a replica ended", replica.Log())
		default:
		}
	}
}

// losses are how a primary is lost under load, and what the standby does meanwhile.
var losses = []struct {
	name              string
	synchronousCommit string
	lose              func(*testing.T, *pair)
}{
	{name: "at any moment", synchronousCommit: "on", lose: func(_ *testing.T, p *pair) {
		p.primary.Kill()
	}},
	{name: "while commits wait for the standby", synchronousCommit: "remote_apply", lose: loseWaitingCommits},
}

// loseWaitingCommits lets commits reach the standby that the primary acknowledges to nobody: the
// standby has them on its disk and applies nothing, which they wait for. Whether a run or a decision
// is among these few commits is left to chance; the test logs how many were.
func loseWaitingCommits(t *testing.T, p *pair) {
	t.Helper()
	primary, err := pgx.Connect(t.Context(), p.primary.URL("postgres"))
	require.NoError(t, err)
	standby, err := pgx.Connect(t.Context(), p.standby.URL("postgres"))
	require.NoError(t, err)
	_, err = standby.Exec(t.Context(), `SELECT pg_wal_replay_pause()`)
	require.NoError(t, err)
	rig.Await(t, func() bool {
		var waiting int
		err := primary.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&waiting)
		require.NoError(t, err)
		return waiting >= lanes*len(p.replicas)
	})
	var written string
	require.NoError(t, primary.QueryRow(t.Context(), `SELECT pg_current_wal_flush_lsn()::text`).Scan(&written))
	rig.Await(t, func() (received bool) {
		err := standby.QueryRow(t.Context(), `SELECT pg_last_wal_receive_lsn() >= $1::pg_lsn`, written).Scan(&received)
		require.NoError(t, err)
		return received
	})
	require.NoError(t, primary.Close(t.Context()))
	p.primary.Kill()
	_, err = standby.Exec(t.Context(), `SELECT pg_wal_replay_resume()`)
	require.NoError(t, err)
	require.NoError(t, standby.Close(t.Context()))
}

// The primary is lost under load and its synchronous standby takes over. The replicas
// are not touched: they find the new primary by themselves. No acknowledged decision is
// missing, and none is applied twice, although callers repeat theirs.
func TestFailoverLosesNoAcknowledgedDecision(t *testing.T) {
	t.Parallel()
	for _, loss := range losses {
		t.Run(loss.name, func(t *testing.T) {
			t.Parallel()
			p := startPair(t, standbyName, loss.synchronousCommit)
			traffic := rig.StartTraffic(t, rig.TrafficOptions{Name: "run", Services: p.urls, Clients: 32})
			traffic.AwaitAcknowledged(t, 250)

			loss.lose(t, p)
			lost := time.Now()
			require.NoError(t, p.standby.Promote())
			promoted := time.Now()
			t.Logf("the standby is promoted %v after the loss", promoted.Sub(lost).Round(time.Millisecond))
			for number, replica := range p.replicas {
				first := requireGoesOn(t, traffic, number, promoted, replica)
				t.Logf("replica %d acknowledges its first decision %v after the loss", number, first.Sub(lost).Round(time.Millisecond))
			}
			traffic.AwaitAcknowledged(t, 250)
			require.NoError(t, traffic.Finish())
			requireStillRunning(t, p.replicas)

			history := traffic.History()
			t.Logf("%d decisions, %d acknowledged; %d runs and decisions acknowledged to a repeated call only", len(history.Decisions), history.Acknowledged(), history.Replayed())
			history.RequireKept(t, p.replicas[0])
			requireListening(t, p.standby, len(p.replicas))
			rig.RequireHealthy(t, p.standby.URL("holdpoint"))
		})
	}
}

// requireGoesOn waits until a replica has acknowledged a decision after a moment, and
// returns when it did.
func requireGoesOn(t *testing.T, traffic *rig.Traffic, number int, after time.Time, replica *rig.Process) (first time.Time) {
	t.Helper()
	rig.Await(t, func() (goesOn bool) {
		history := traffic.History()
		first, goesOn = history.FirstAcknowledged(number, after)
		return goesOn
	}, "replica %d does not go on: %s", number, replica.Log())
	return first
}

// listeners selects the server processes of the connections on which replicas listen: each
// holds a shared lock with this number.
const listeners = `
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND mode = 'ShareLock'
	AND (classid::bigint << 32) + objid::bigint = 7525352680930767732`

// requireListening shows that replicas hear of each other's commits again.
func requireListening(t *testing.T, server *rig.Cluster, replicas int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL("holdpoint"))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rig.Await(t, func() bool {
		var listening int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM ("+listeners+") AS l").Scan(&listening)
		return err == nil && listening == replicas
	}, "the replicas do not listen at the new primary")
}

// With asynchronous replication the primary acknowledges what the standby does not
// have. This shows that what the tests above find missing nowhere would be found.
func TestFailoverOfAnAsynchronousStandbyIsNoticed(t *testing.T) {
	t.Parallel()
	p := startPair(t, "", "on")
	traffic := rig.StartTraffic(t, rig.TrafficOptions{Name: "run", Services: p.urls})
	traffic.AwaitAcknowledged(t, 50)
	require.NoError(t, p.standby.Stop())
	traffic.AwaitAcknowledged(t, 50)
	traffic.Stop()
	p.primary.Kill()
	require.NoError(t, p.standby.Start())
	require.NoError(t, p.standby.Promote())

	history := traffic.History()
	problems := history.Problems(history.Read(t, p.replicas[0]))
	missing := 0
	for _, problem := range problems {
		if strings.Contains(problem, "was acknowledged and is missing") || strings.Contains(problem, "was acknowledged and is gone") {
			missing++
		}
	}
	require.GreaterOrEqual(t, missing, 50, "%v", problems)
	// What is left is whole all the same.
	rig.RequireHealthy(t, p.standby.URL("holdpoint"))
}
