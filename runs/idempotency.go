package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// digestOf identifies a payload, so that the very same call is known again.
func digestOf(value any) (string, error) {
	digest, err := document.Digest(value)
	if err != nil {
		return "", refusal.Invalid(api.Fault{Detail: "has no canonical JSON form"})
	}
	return digest, nil
}

// fingerprint hashes a canonical body together with the operation and the target.
// The three are put together in the order of RFC 8785. The target is an id, whose
// characters need no escaping.
func fingerprint(operation model.Operation, target string, canonicalBody []byte) string {
	var b strings.Builder
	b.Grow(len(canonicalBody) + len(target) + 64)
	b.WriteString(`{"body":`)
	b.Write(canonicalBody)
	b.WriteString(`,"operation":"` + string(operation) + `","target":"` + target + `"}`)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

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

// canonicalBody returns the RFC 8785 form of a body for its fingerprint. What
// cannot be written so was refused when the body was read.
func canonicalBody(body any) ([]byte, error) {
	canonical, err := document.Canonical(body)
	if err != nil {
		return nil, refusal.Invalid(api.Fault{Detail: "has no canonical JSON form"})
	}
	return canonical, nil
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
