//go:build faults

package crash

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/test/rig"
)

// The matrix can fail: these callers misbehave, and each is killed at a point where that shows.
func TestMatrixNoticesWhatIsWrong(t *testing.T) {
	t.Parallel()
	keyless := func(a *trial) error {
		params := a.params(nil, nil)
		params.RunID = "" // and the client generates a new key for every call
		_, err := a.client.CreateRun(a.ctx, params)
		return err
	}
	nothing := func(*trial) error { return nil }
	for _, test := range []struct {
		name string
		sc   scenario
		at   point
		want error
	}{
		{
			"a call that cannot be repeated",
			scenario{call: keyless, inForce: runsMade},
			point{"http.reply", 1},
			errTwice,
		},
		{
			"an acknowledgement that nobody sent",
			scenario{inForce: runsMade, call: func(a *trial) error { _ = keyless(a); return nil }},
			point{"door.decided", 1},
			errLost,
		},
		{
			"a caller who gives up",
			scenario{call: keyless, again: nothing, inForce: runsMade},
			point{"door.begun", 1},
			errDenied,
		},
		{
			"nothing wrong",
			scenario{
				call: waitingFor(approvals(1)), inForce: runsMade,
				finish: nothing, events: []string{"accepted", "started", "waiting_for_approval"},
			},
			point{"door.committed", 1},
			nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startService(t, rig.SQLite(t), 1)
			seen, err := s.kill(t, &test.sc, "first", test.at)
			require.ErrorIs(t, err, test.want)
			require.True(t, seen.killed)
			if test.want != nil {
				return
			}
			test.sc.events = append(test.sc.events, "completed")
			_, err = s.kill(t, &test.sc, "second", test.at)
			require.ErrorContains(t, err, "the run's log is")
			test.sc.inForce = recorded(map[string]api.Outcome{"ask-1": api.OutcomeAllowed})
			_, err = s.kill(t, &test.sc, "third", test.at)
			require.ErrorIs(t, err, errDenied)
		})
	}
}
