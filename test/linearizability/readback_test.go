//go:build unix && faults

package linearizability

import (
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// logged is the content of a run's log.
type logged struct {
	// settled counts the resolutions by request and mark.
	settled   map[int]map[string]int
	outcomes  map[string]api.Outcome // by mark
	completed int
}

// requireReadBack reads the log of each run and finds in it every decision that was
// acknowledged, once, and no request that was settled twice.
func requireReadBack(t *testing.T, s *service, histories map[string][]porcupine.Operation) {
	t.Helper()
	reader := s.replicas[0].Connect()
	for runID, calls := range histories {
		var log *logged
		for _, call := range calls {
			in, out := call.Input.(input), call.Output.(output)
			if out.Unknown || out.Code != "" || in.Kind == callClaim {
				continue
			}
			if log == nil {
				log = readLog(t, reader, runID)
			}
			switch in.Kind {
			case callResolve, callAnswer, callCancelQuestion:
				for _, one := range in.Decisions {
					require.Equal(t, 1, log.settled[one.Slot][in.Mark], "%s of %s", requestID(one.Slot), runID)
					require.Equal(t, one.Outcome, log.outcomes[requestID(one.Slot)+in.Mark], "%s of %s", requestID(one.Slot), runID)
				}
			case callComplete:
				require.Equal(t, 1, log.completed, runID)
			case callCreate, callClaim, callHeartbeat, callRelease, callSuspend, callCancelRun, callRead:
			}
		}
		if log != nil {
			for slot, marks := range log.settled {
				for mark, times := range marks {
					require.Equal(t, 1, times*len(marks), "%s of %s was settled more than once, also by %s", requestID(slot), runID, mark)
				}
			}
		}
	}
}

func readLog(t *testing.T, reader *client.Client, runID string) *logged {
	t.Helper()
	log := &logged{settled: map[int]map[string]int{}, outcomes: map[string]api.Outcome{}}
	for entry, err := range reader.AllRunEvents(t.Context(), runID, client.EventListParams{}) {
		require.NoError(t, err, runID)
		eventType, resolutions, err := rig.ReadEvent(entry.Event)
		require.NoError(t, err, runID)
		for _, one := range resolutions {
			slot, mark := slotOf(one.RequestID), markOf(&one.Justification, one.ResolvedBy)
			if log.settled[slot] == nil {
				log.settled[slot] = map[string]int{}
			}
			log.settled[slot][mark]++
			log.outcomes[one.RequestID+mark] = one.Outcome
		}
		if eventType == string(api.EventCompleted) {
			log.completed++
		}
		require.NotEqual(t, string(api.EventFailed), eventType, runID)
	}
	return log
}
