//go:build linux && faults

package failover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// Three machines that Patroni looks after lose their leader under load, first with everything on it,
// then by the network, while it goes on. Nobody touches the replicas, and nobody promotes by hand. No
// acknowledged decision is missing, and none is applied twice, although callers repeat theirs.
func TestPatroniFailsOverUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := rig.NewPatroni(t)
	replicas, urls := rig.StartReplicas(t, 2, rig.Options{Database: cluster.CreateDatabase(t, "holdpoint")})
	cluster.AwaitStandbys(t)
	traffic := rig.StartTraffic(t, rig.TrafficOptions{Name: "run", Services: urls, Clients: 16})
	traffic.AwaitAcknowledged(t, 100)

	leader := cluster.AwaitLeader(t, nil)
	leader.Kill()
	requireTakenOver(t, cluster, leader, traffic, replicas, "was killed")
	require.NoError(t, leader.Start())
	cluster.AwaitStandbys(t)
	traffic.AwaitAcknowledged(t, 100)

	leader = cluster.AwaitLeader(t, nil)
	require.NoError(t, leader.Cut())
	requireTakenOver(t, cluster, leader, traffic, replicas, "was cut off")
	leader.AwaitDemoted(t)
	require.NoError(t, leader.Connect())
	cluster.AwaitStandbys(t)
	traffic.AwaitAcknowledged(t, 100)
	require.NoError(t, traffic.Finish())
	requireStillRunning(t, replicas)

	history := traffic.History()
	t.Logf("%d decisions, %d acknowledged; %d runs and decisions acknowledged to a repeated call only",
		len(history.Decisions), history.Acknowledged(), history.Replayed())
	for _, replica := range replicas {
		history.RequireKept(t, replica)
	}
	rig.RequireHealthy(t, cluster.URL("holdpoint"))
}

// requireTakenOver waits until another machine leads and both replicas have acknowledged a decision since.
func requireTakenOver(t *testing.T, cluster *rig.Patroni, lost *rig.PatroniMachine, traffic *rig.Traffic, replicas []*rig.Process, how string) {
	t.Helper()
	since := time.Now()
	cluster.AwaitLeader(t, lost)
	leads := time.Now()
	t.Logf("another machine leads %v after the leader %s", leads.Sub(since).Round(time.Millisecond), how)
	for number, replica := range replicas {
		first := requireGoesOn(t, traffic, number, leads, replica)
		t.Logf("replica %d acknowledges its first decision %v after the leader %s", number, first.Sub(since).Round(time.Millisecond), how)
	}
}
