package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// MaxRunNames is how many names the parts of a run may be given by calls that decide nothing.
const MaxRunNames = 1_000

// SegmentName is an id that a caller chose for what of a run follows the call.
type SegmentName struct {
	SegmentID string
	// Call tells the same call made again from another one with the id. What else it says is the
	// face's, which reads it back from the record's Fingerprint.
	Call string
}

func (s *SegmentName) id() string {
	if s == nil {
		return ""
	}
	return s.SegmentID
}

func (s *SegmentName) check(faults *refusal.Faults) {
	if s != nil {
		faults.ID("/segment_id", s.SegmentID)
	}
}

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

// Needs implements Command.
func (c *NameSegment) Needs() Needs {
	return Needs{RunID: c.RunID, SegmentID: c.Segment.SegmentID, CountNames: true}
}

func (c *NameSegment) prepare(IDSource) error {
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

// named returns the record of an id that a caller has chosen, nil when nobody has.
func (w *workingCopy) named(id string) *model.IdempotencyRecord {
	return w.state.Records[model.NameKey(id)]
}

// findSegment reports whether the same call has named the segment. Errors: id_conflict when the id
// is that of a run, or was given by another call.
func (w *workingCopy) findSegment(segment *SegmentName, runID string) (known bool, err error) {
	record := w.named(segment.SegmentID)
	if record != nil && record.EventID != 0 && record.RunID == runID && record.Fingerprint == segment.Call {
		return true, nil
	}
	if record != nil || w.state.Runs[segment.SegmentID] != nil {
		return false, nameTaken(segment.SegmentID)
	}
	return false, nil
}

// nameSegment names what follows the newest event of a run.
func (w *workingCopy) nameSegment(segment *SegmentName, run *model.Run) {
	w.nameAfter(segment, run, run.LastEventID)
}

func (w *workingCopy) nameAfter(segment *SegmentName, run *model.Run, eventID int64) {
	w.changes.Records = append(w.changes.Records, &model.IdempotencyRecord{
		RecordKey: model.NameKey(segment.SegmentID), Fingerprint: segment.Call,
		SessionID: w.state.SessionID, RunID: run.RunID, EventID: eventID, CreatedAtMs: w.nowMs,
	})
}

func nameTaken(id string) error {
	return refusal.New(api.CodeIDConflict, "the id %s is in use", id)
}
