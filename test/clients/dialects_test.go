//go:build unix

package clients

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// thread folds what a client of the codex dialect sees into what is open for it.
type thread struct {
	open map[string]bool
	// raised and settled count the events of each item.
	raised, settled map[string]int
}

func foldThread(t *testing.T, frames []received) *thread {
	t.Helper()
	seen := &thread{open: map[string]bool{}, raised: map[string]int{}, settled: map[string]int{}}
	for _, frame := range frames {
		switch frame.Type {
		case "lists":
			var lists struct {
				Approvals []struct {
					ID string `json:"approvalId"`
				} `json:"approvals"`
				Inputs []struct {
					ID string `json:"requestId"`
				} `json:"inputs"`
			}
			require.NoError(t, json.Unmarshal([]byte(frame.Data), &lists))
			seen.open = map[string]bool{}
			for _, item := range lists.Approvals {
				seen.open[item.ID] = true
			}
			for _, item := range lists.Inputs {
				seen.open[item.ID] = true
			}
		case "approval", "tool_user_input_requested":
			seen.raised[frame.ID]++
			seen.open[frame.ID] = true
		case "approval_resolved", "tool_user_input_resolved":
			seen.settled[frame.ID]++
			delete(seen.open, frame.ID)
		}
	}
	return seen
}

// awaitThread waits until what the client knows satisfies.
func (r *reader) awaitThread(what string, satisfied func(*thread) bool) *thread {
	r.t.Helper()
	var last *thread
	r.await(what, func(frames []received, _ int) bool {
		last = foldThread(r.t, frames)
		return satisfied(last)
	})
	return last
}

// TestAWebSocketClientKnowsWhatIsOpen reads the codex dialect with npm's ws, through
// kills, cuts and a change of replica: what it shows as open is what is open.
func TestAWebSocketClientKnowsWhatIsOpen(t *testing.T) {
	t.Parallel()
	needNode(t)
	database := postgrestest.URL(t)
	replicas, _ := rig.StartReplicas(t, 2, rig.Options{Database: database})
	one, other := replicas[0], replicas[1]
	w := newWork(t, one, other)
	way := rig.NewLine(t, one.Address())
	before := w.raise()
	r := inNode(t, "ws.mjs", "http://"+way.Address(), session)
	r.awaitThread("what was open before it came", func(seen *thread) bool { return len(seen.open) == 2 })
	w.settle(before)
	r.awaitThread("what was settled", func(seen *thread) bool { return len(seen.open) == 0 })

	// Every event once, each prompt before its end, while the line holds.
	w.wait()
	seen := r.awaitThread("five waits", func(seen *thread) bool { return len(seen.open) == 0 && len(seen.settled) == 2+2*5 })
	for id, count := range seen.settled {
		require.Equal(t, 1, count, id)
	}
	require.Len(t, seen.raised, 2*5)
	for id, count := range seen.raised {
		require.Equal(t, 1, count, id)
	}

	// Raised while nobody listens; settled while nobody listens.
	way.Cut()
	missed := w.raise()
	require.NoError(t, way.Lead(other.Address()))
	r.awaitThread("what was raised meanwhile", func(seen *thread) bool { return len(seen.open) == 2 })
	way.Cut()
	w.settle(missed)
	require.NoError(t, way.Lead(one.Address()))
	r.awaitConnections(3)
	r.awaitThread("nothing is shown as open", func(seen *thread) bool { return len(seen.open) == 0 })

	last := w.raise()
	r.awaitThread("the last one", func(seen *thread) bool { return len(seen.open) == 2 })
	connections := r.connections()
	one.Kill()
	one.Resume()
	r.awaitConnections(connections + 1)
	r.awaitThread("it is still there", func(seen *thread) bool { return len(seen.open) == 2 })
	w.use(other)
	w.settle(last)
	r.awaitThread("and then it is not", func(seen *thread) bool { return len(seen.open) == 0 })
}

// TestABrowserShowsTheHeadOfTheQueue reads the approvals stream of the hermes dialect
// in a browser through a kill.
func TestABrowserShowsTheHeadOfTheQueue(t *testing.T) {
	t.Parallel()
	rig.Need(t, browserNames...)
	service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
	w := newWork(t, service)
	r := inBrowser(t, service.URL(), "/api/approval/stream?session_id="+session)
	shows := func(kind, pending string) func([]received, int) bool {
		return func(frames []received, _ int) bool {
			if len(frames) == 0 {
				return false
			}
			last := frames[len(frames)-1]
			return last.Type == kind && strings.HasPrefix(last.Data, fmt.Sprintf(`{"pending":%s`, pending))
		}
	}
	r.await("nothing at first", shows("initial", "null"))
	open := w.raise()
	r.await("the prompt", shows("approval", `{"approval_id":`))
	service.Kill()
	service.Resume()
	r.await("the prompt, after the kill", shows("initial", `{"approval_id":`))
	w.settle(open)
	r.await("that it is settled", shows("approval", "null"))
}
