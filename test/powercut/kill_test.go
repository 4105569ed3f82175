//go:build unix && faults

package powercut

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// A service on an SQLite file is killed at random moments, under load and while it
// starts. Each time the file is whole, everything that was acknowledged is in it once,
// and the service goes on.
//
// What a killed process has written is kept by the system, so this shows that no moment
// leaves the file in a state that cannot be gone on from. It does not show that
// anything has reached the disk; see the tests of power cuts.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	random := chance(t)
	file := newDatabase(t)
	service := rig.Start(t, rig.Options{Database: file.url()})
	var all []rig.History
	acknowledged := 0
	for round := range rounds(t) {
		traffic := rig.StartTraffic(t, rig.TrafficOptions{
			Name: fmt.Sprintf("round-%d", round), Services: []string{service.URL()}, Clients: 16,
		})
		pass(random, 20*time.Millisecond, 600*time.Millisecond)
		service.Kill()
		traffic.Stop()
		requireWhole(t, file)
		if random.IntN(3) == 0 {
			require.NoError(t, service.Restart())
			pass(random, time.Millisecond, 80*time.Millisecond)
			service.Kill()
			requireWhole(t, file)
		}
		service.Resume()
		history := traffic.History()
		history.RequireKept(t, service, "round %d", round)
		acknowledged += history.Acknowledged()
		all = append(all, history)
	}
	t.Logf("%d decisions were acknowledged in %d rounds", acknowledged, len(all))
	require.Positive(t, acknowledged)
	// What a round found is still there after those that followed it.
	for round, history := range all {
		history.RequireKept(t, service, "round %d", round)
	}
	service.Stop()
	requireWhole(t, file)
}

// requireWhole shows that SQLite and the doctor find nothing wrong with a file that
// nobody has open.
func requireWhole(t *testing.T, file database) {
	t.Helper()
	require.Equal(t, "ok", file.read(t).integrity(t))
	rig.RequireHealthy(t, file.url())
}
