package runs

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// findRecord looks up a keyed call. done says that the key was used before: reply is then the
// replay, or err is idempotency_conflict. target is the fingerprint's target; empty means the
// record's run. A record made from keyed, if given, matches too.
func (w *workingCopy) findRecord(key *model.RecordKey, target string, canonical, keyed []byte) (reply Reply, done bool, err error) {
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
	same := record.Fingerprint == fingerprint(key.Operation, target, canonical) ||
		keyed != nil && record.Fingerprint == fingerprint(key.Operation, target, keyed)
	if !same {
		return Reply{}, true, keyReused()
	}
	if run := w.state.Runs[record.RunID]; run != nil && run.SubmittedAtMs > record.CreatedAtMs {
		// Retention has deleted the key's run, and a new run has reused its id.
		return Reply{}, true, refusal.New(api.CodeIdempotencyConflict, "the idempotency key was used for an earlier run with the id %s, which is deleted; use another key", record.RunID)
	}
	return Reply{Replayed: true, ReplayRunID: record.RunID, LastEventID: record.EventID}, true, nil
}

func keyReused() error {
	return refusal.New(api.CodeIdempotencyConflict, "run operation idempotency key was reused with a different request payload")
}

// recordKey returns the key of an idempotency record, or nil for a call without a key.
func recordKey(operation model.Operation, scope, key string) *model.RecordKey {
	if key == "" {
		return nil
	}
	return &model.RecordKey{Operation: operation, Scope: scope, IdempotencyKey: key}
}

// heldKey is the optional idempotency key of a call about one run, of which only a digest is stored.
type heldKey struct {
	// digest is "" without a key. prefix distinguishes the kinds of calls.
	prefix, digest string
	// canonical is the body that the fingerprint covers.
	canonical []byte
}

// heldKeyOf prepares a key, which must not be empty, for a call with that body.
func heldKeyOf(prefix, key string, body map[string]string) (heldKey, error) {
	// A string always has a canonical form.
	digest, _ := document.Digest(key)
	canonical, err := canonicalBody(body)
	return heldKey{prefix, digest, canonical}, err
}

func (k *heldKey) recordKey(sessionID string) *model.RecordKey {
	if k.digest == "" {
		return nil
	}
	return recordKey(model.OperationRelease, sessionID, k.prefix+"/"+k.digest)
}

// find looks up the call's record; see findRecord.
func (k *heldKey) find(w *workingCopy, run *model.Run) (reply Reply, done bool, err error) {
	return w.findRecord(k.recordKey(run.SessionID), run.RunID, k.canonical, nil)
}

// write writes the record of a call with a key. eventID is its last event, or 0.
func (k *heldKey) write(w *workingCopy, run *model.Run, eventID int64) {
	if key := k.recordKey(run.SessionID); key != nil {
		w.writeRecord(*key, fingerprint(key.Operation, run.RunID, k.canonical), run.RunID).EventID = eventID
	}
}

// CallerScope returns the scope of a key whose call names no session. It includes the principal, so
// no caller can use another's keys by giving its name.
func CallerScope(principal, caller string) string {
	if principal == "" || principal == caller {
		return "caller/" + caller
	}
	// A principal has no slash, so the scopes cannot collide.
	return "caller/" + principal + "/" + caller
}

// validIDs returns the valid ids. Invalid ones match nothing, and must not reach a database,
// which may reject their bytes.
func validIDs(ids ...string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return !refusal.ValidID(id) })
}

// prepareKey trims and checks a key. An empty text means no key.
func prepareKey(key *string) error {
	if *key == "" {
		return nil
	}
	checked, err := refusal.CheckIdempotencyKey(*key)
	*key = checked
	return err
}

// writeRecord writes a call's idempotency record together with its effect, and returns the record.
func (w *workingCopy) writeRecord(key model.RecordKey, fingerprint, runID string) *model.IdempotencyRecord {
	record := &model.IdempotencyRecord{
		RecordKey: key, Fingerprint: fingerprint,
		SessionID: w.state.SessionID, RunID: runID, CreatedAtMs: w.nowMs,
	}
	// If the clock was set back, the record must not look like one of an earlier run with the id.
	if run := w.run(runID); run != nil {
		record.CreatedAtMs = max(record.CreatedAtMs, run.SubmittedAtMs)
	}
	w.changes.Records = append(w.changes.Records, record)
	return record
}
