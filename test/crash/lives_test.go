//go:build faults

package crash

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// livedAgain are the scenarios that are tried with ids that an earlier session and run had.
var livedAgain = []string{"create, claim and suspend", "suspend", "claim by id", "resolve one", "complete", "end a session"}

// TestMatrixWithIDsUsedAgain kills the service in calls about a session and a run whose ids were used before and whose
// rows retention deleted. On Postgres one replica deletes them and begins the next life, and the one that is called and
// killed remembers the last one.
func TestMatrixWithIDsUsedAgain(t *testing.T) {
	t.Parallel()
	for _, engine := range rig.Engines {
		t.Run(engine.Name, func(t *testing.T) {
			t.Parallel()
			database := engine.Database(t)
			s := startService(t, database, replicasOn[engine.Name], "--keep-runs", "1h", "--keep-rules", "1h", "--idempotency-retention", "1h")
			s.idsUsedAgain = true
			for i := range scenarios {
				sc := &scenarios[i]
				if !slices.Contains(livedAgain, sc.name) {
					continue
				}
				id := fmt.Sprintf("again-%d", i)
				points, _, err := s.record(t, sc, id)
				require.NoError(t, err, sc.name)
				require.Contains(t, points, afterCommit, sc.name)
				for _, at := range []point{afterCommit, points[len(points)/3], afterCommit} {
					s.forget(t, database, id)
					_, err := s.kill(t, sc, id, at)
					require.NoError(t, err, "%s, killed at %s", sc.name, at)
				}
			}
			s.requireHealthy(t, database)
		})
	}
}

// forget has retention delete the session of a trial, in the replica that is not called next, where there are two.
func (s *service) forget(t *testing.T, database, id string) {
	t.Helper()
	deleting := s.replicas[(s.turn+1)%len(s.replicas)]
	deleting.Kill()
	<-deleting.Ended()
	makeOld(t, database)
	require.NoError(t, deleting.Restart())
	require.NoError(t, deleting.AwaitReady())
	people := deleting.Connect()
	rig.Await(t, func() bool {
		_, err := people.GetSession(t.Context(), "session-"+id)
		return err != nil
	}, "session %s is not deleted", id)
}
