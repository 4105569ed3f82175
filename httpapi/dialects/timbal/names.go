package timbal

import (
	"context"
	"net/http"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Results of a resume with a client-chosen id (docs/spec/timbal.md#names).
const (
	// namedDecided: the segment begins with a decision.
	namedDecided = "decided"
	// namedShown: nothing was decided.
	namedShown = "shown"
	// namedRefused: the segment is not in the log.
	namedRefused = "refused"
)

// name is the id that a client chose for its resume, in its context.
type name struct {
	id string
	// digest is the digest of the call: the same call again gets the same segment.
	digest   string
	parentID string
}

// as returns the name of a resume with that result.
func (n *name) as(how string) *runs.SegmentName {
	if n == nil {
		return nil
	}
	return &runs.SegmentName{SegmentID: n.id, Call: strings.Join([]string{how, n.digest, n.parentID}, " ")}
}

// nameOf reads a name's record. ok is false for the record of a run.
func nameOf(record *model.IdempotencyRecord) (found name, how string, ok bool) {
	parts := strings.Split(record.Fingerprint, " ")
	if record.EventID == 0 || len(parts) != 3 {
		return name{}, "", false
	}
	return name{id: record.IdempotencyKey, digest: parts[1], parentID: parts[2]}, parts[0], true
}

// newName returns the name in a call, nil for none. Its digest is computed after the map is read;
// see name.describe.
func newName(given *call) (*name, error) {
	if given.runID == "" {
		return nil, nil
	}
	if !refusal.ValidID(given.runID) {
		return nil, badContextID()
	}
	return &name{id: given.runID, parentID: given.parentID}, nil
}

// describe computes the digest of a call about a run. Sensitive values, and values of unknown ids,
// are left out: a stored digest would reveal a short secret.
func (n *name) describe(given *call, runID string, all []*resumeEntry) error {
	values := map[string]api.JSON{}
	for _, entry := range all {
		if !entry.sensitive() {
			values[entry.id] = entry.value
		}
	}
	description := []any{runID, given.parentID, given.resumes}
	for _, member := range given.resume {
		description = append(description, []any{member.Name, values[member.Name]})
	}
	digest, err := document.Digest(description)
	if err != nil {
		return unprocessable("the body has no canonical form")
	}
	n.digest = digest
	return nil
}

// sensitive reports whether only the worker may see the value.
func (a *resumeEntry) sensitive() bool {
	return a.approval != nil && len(a.approval.SensitivePaths) > 0 || a.question != nil && model.Sensitive(a.question)
}

func badContextID() error {
	return unprocessable("context.id must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
}

// repeated returns the segment of an earlier identical call, nil for none. Errors: 409 when the id
// is in use. A call that was refused is decided again.
func (f *face) repeated(ctx context.Context, r *resumption) (*segment, error) {
	record, err := f.Store.Reader(ctx).Named(ctx, r.name.id)
	if refusal.CodeOf(err) == api.CodeRunNotFound {
		if _, err = f.Store.Reader(ctx).Run(ctx, r.name.id); refusal.CodeOf(err) == api.CodeRunNotFound {
			return nil, nil
		}
		if err == nil {
			err = f.idInUse(ctx, r.name.id)
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	known, how, ok := nameOf(record)
	if !ok || known.digest != r.name.digest || record.RunID != r.record.Run.RunID {
		return nil, f.idInUse(ctx, r.name.id)
	}
	if how == namedRefused {
		return nil, nil
	}
	r.replayed = how == namedDecided
	return f.beginNamed(ctx, r, segmentID{runID: record.RunID, after: record.EventID, name: &known, how: how})
}

// beginNamed returns the segment of an existing name.
func (f *face) beginNamed(ctx context.Context, r *resumption, id segmentID) (*segment, error) {
	s, err := f.segmentAfter(ctx, id, r.record)
	if err != nil {
		return nil, err
	}
	s.notes, s.warnings = r.notes, r.warnings
	s.begin()
	return s, nil
}

// decidedSegment returns the segment that begins with the decision of a named call.
func (f *face) decidedSegment(ctx context.Context, r *resumption) (*segment, error) {
	record, err := f.Store.Reader(ctx).Named(ctx, r.name.id)
	if err != nil {
		return nil, err
	}
	return f.beginNamed(ctx, r, segmentID{runID: record.RunID, after: record.EventID, name: r.name, how: namedDecided})
}

// giveName names the segment after an event; 0 is the newest. Without a name, or when the run has
// the maximum number of names, it returns a generated id. Errors: 409 when the id was taken
// meanwhile.
func (f *face) giveName(ctx context.Context, r *resumption, after int64, how string) (segmentID, error) {
	id := segmentID{runID: r.record.Run.RunID, after: after}
	switch how {
	case namedShown:
		id.suffix = newSuffix()
	case namedRefused:
		id.suffix = refusedPrefix + newSuffix()
	}
	if r.name == nil {
		return id, nil
	}
	reply, err := f.Store.Do(ctx, &runs.NameSegment{RunID: id.runID, Segment: *r.name.as(how), AfterEventID: after})
	switch {
	case refusal.CodeOf(err) == api.CodeIDConflict:
		return id, f.idInUse(ctx, r.name.id)
	case err != nil:
		return id, err
	case reply.More:
		r.warnings = append(r.warnings, "the run has as many names as it may have, so context.id was not taken")
		return id, nil
	}
	named := segmentID{runID: id.runID, after: reply.LastEventID, name: r.name, how: how}
	if reply.Replayed {
		record, err := f.Store.Reader(ctx).Named(ctx, r.name.id)
		if err != nil {
			return id, err
		}
		named.after = record.EventID
	}
	return named, nil
}

// idInUse refuses an id of a run or an earlier resume. An id can be used only once, even if its run
// is terminal.
func (f *face) idInUse(ctx context.Context, id string) error {
	record, err := f.Store.Reader(ctx).Run(ctx, id)
	if refusal.CodeOf(err) == api.CodeRunNotFound {
		return refuse(http.StatusConflict, "Run id '%s' is already in use: another resume has it.", id)
	}
	if err != nil {
		return err
	}
	if model.Terminal(record.Run.Status) {
		return refuse(http.StatusConflict, "Run id '%s' was used by a run that is over, and an id is used once.", id)
	}
	return refuse(http.StatusConflict, "Run id '%s' is already in use by a running run.", id)
}
