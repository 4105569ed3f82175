//go:build unix && faults

package linearizability

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// history records the calls of each run separately, because the model makes no promise about two
// runs.
type history struct {
	began time.Time

	mu    sync.Mutex
	calls map[string][]porcupine.Operation
}

func newHistory() *history {
	return &history{began: time.Now(), calls: map[string][]porcupine.Operation{}}
}

// clock returns the time since the start, which never goes back, and the time of day, which the
// database shares.
func (h *history) clock() (since, dayMs int64) {
	now := time.Now()
	return int64(now.Sub(h.began)), now.UnixMilli()
}

// call makes a call and records it. Callers are numbered from 0.
func (h *history) call(runID string, caller int, in input, do func() output) output {
	operation := porcupine.Operation{ClientId: caller}
	operation.Call, in.CallMs = h.clock()
	out := do()
	operation.Return, out.ReturnMs = h.clock()
	if out.Nothing {
		return out
	}
	operation.Input, operation.Output = in, out
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[runID] = append(h.calls[runID], operation)
	return out
}

// finish returns the calls of each run. Calls with an unknown outcome return at the end of
// the history, because they may have taken effect at any time until then.
func (h *history) finish() map[string][]porcupine.Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	finished := maps.Clone(h.calls)
	end, endMs := h.clock()
	for runID, calls := range finished {
		calls = slices.Clone(calls)
		for i := range calls {
			if out := calls[i].Output.(output); out.Unknown {
				out.ReturnMs = endMs
				calls[i].Output, calls[i].Return = out, end
			}
		}
		finished[runID] = calls
	}
	return finished
}
