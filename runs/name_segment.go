package runs

import "github.com/holdpoint/holdpoint/runs/refusal"

// NameSegment gives what of a run follows its newest event an id that a caller chose. It decides
// nothing.
//
// Reply: LastEventID, the event after which the segment begins; Replayed, also when the same call
// has named it before; LastEventID is then 0. More when the run has MaxRunNames already: nothing
// is named. Errors: invalid_request, run_not_found, id_conflict.
type NameSegment struct {
	RunID   string
	Segment SegmentName
	// AfterEventID is an event of the run after which the segment begins instead, 0 for the newest.
	AfterEventID int64
}

// Spec implements Command.
func (c *NameSegment) Spec() Spec {
	return Spec{Name: "NameSegment", Actions: chats, Target: TargetNamed, Settles: true, Size: oneRow}
}

// Needs implements Command.
func (c *NameSegment) Needs() Needs {
	return Needs{RunID: c.RunID, SegmentID: c.Segment.SegmentID, CountNames: true}
}

func (c *NameSegment) prepare(*Call, IDSource) error {
	var faults refusal.Faults
	c.Segment.check(&faults)
	return faults.Err()
}

func (c *NameSegment) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if known, err := w.findSegment(&c.Segment, c.RunID); known || err != nil {
		return Reply{Replayed: known, ReplayRunID: c.RunID}, err
	}
	if w.state.NameCounts[c.RunID] >= MaxRunNames {
		return Reply{More: true}, nil
	}
	after := run.LastEventID
	if c.AfterEventID >= run.FirstEventID && c.AfterEventID < after {
		after = c.AfterEventID
	}
	w.nameAfter(&c.Segment, run, after)
	return Reply{LastEventID: after}, nil
}
