package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// SegmentName is an id that a caller chose for the part of a run that follows the call.
type SegmentName struct {
	SegmentID string
	// Call distinguishes a repeated call from another call with the same id. The rest of its content
	// belongs to the API layer, which reads it back from the record's Fingerprint.
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

// named returns the record of a caller-chosen id, nil when the id is unused.
func (w *workingCopy) named(id string) *model.IdempotencyRecord {
	return w.state.Records[model.NameKey(id)]
}

// findSegment reports whether the same call has already named the segment. Errors: id_conflict when
// a run or another call uses the id.
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

// nameSegment names the part of a run after its newest event.
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
