package runs

import "github.com/holdpoint/holdpoint/runs/refusal"

// NameSegment names the part of a run after its newest event, with an id that the caller chose. It
// decides nothing.
//
// Reply: LastEventID, the event after which the segment begins. Replayed, with a LastEventID of 0,
// when the same call already named it. More when the run already has MaxRunNames, and nothing is
// named. Errors: invalid_request, run_not_found, id_conflict.
type NameSegment struct {
	RunID   string
	Segment SegmentName
	// AfterEventID is the run's event after which the segment begins; 0 for the newest.
	AfterEventID int64
}

// Spec implements Command.
func (c *NameSegment) Spec() Spec {
	return Spec{Name: "NameSegment", Actions: chats, Target: TargetNamed, Settles: true, size: oneRow}
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
