package runs

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// lookUp answers a keyed call from its record: done is true when it was seen
// before. The target of the call is target, or, when that is empty, the run that
// the record names.
func (w *workingCopy) findRecord(key *model.RecordKey, target string, canonical []byte) (reply Reply, done bool, err error) {
	if key == nil {
		return Reply{}, false, nil
	}
	record, there := w.state.Records[*key]
	if !there {
		return Reply{}, false, nil
	}
	if target == "" {
		target = record.RunID
	}
	if record.Fingerprint != fingerprint(key.Operation, target, canonical) {
		return Reply{}, true, refusal.New(api.CodeIdempotencyConflict, "run operation idempotency key was reused with a different request payload")
	}
	return Reply{Replayed: true, ReplayRunID: record.RunID}, true, nil
}

// recordKey returns the key of a keyed call, or nil for one without a key.
func recordKey(operation model.Operation, scope, key string) *model.RecordKey {
	if key == "" {
		return nil
	}
	return &model.RecordKey{Operation: operation, Scope: scope, IdempotencyKey: key}
}

// validIDs drops what cannot be the id of anything, so that a hostile text never
// reaches a database.
func validIDs(ids ...string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return !refusal.ValidID(id) })
}

// prepareKey trims and checks an optional key.
func prepareKey(key *string) error {
	if *key == "" {
		return nil
	}
	checked, err := refusal.CheckIdempotencyKey(*key)
	*key = checked
	return err
}

// record remembers a keyed call together with its effect.
func (w *workingCopy) writeRecord(key model.RecordKey, fingerprint, runID string) {
	w.changes.Records = append(w.changes.Records, &model.IdempotencyRecord{
		RecordKey: key, Fingerprint: fingerprint,
		SessionID: w.state.SessionID, RunID: runID, CreatedAtMs: w.nowMs,
	})
}
