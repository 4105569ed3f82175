package runs

import (
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// RewrapDataKey replaces the encrypted form of a run's data key. It changes nothing if the run has
// another data key by then, or none.
//
// Reply: Existing when nothing changed. Errors: run_not_found.
type RewrapDataKey struct {
	reads.RunKey
	Rewrapped string
}

// Spec implements Command.
func (c *RewrapDataKey) Spec() Spec {
	return Spec{Name: "RewrapDataKey", Actions: administers, Target: TargetNamed, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *RewrapDataKey) Needs() Needs { return Needs{SessionID: c.SessionID, RunID: c.RunID} }

func (c *RewrapDataKey) prepare(*Call, IDSource) error { return nil }

func (c *RewrapDataKey) decide(w *workingCopy) (Reply, error) {
	run := w.run(c.RunID)
	if run == nil {
		return Reply{}, refusal.UnknownRun(c.RunID)
	}
	if run.DataKey != c.DataKey {
		return Reply{Existing: true}, nil
	}
	run.DataKey = c.Rewrapped
	w.saveRun(run)
	return Reply{}, nil
}
