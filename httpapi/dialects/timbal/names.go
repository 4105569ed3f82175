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

// How a resume that its client has named went (docs/spec/timbal.md#names).
const (
	// namedDecided: the segment begins with what was decided.
	namedDecided = "decided"
	// namedShown: nothing was decided.
	namedShown = "shown"
	// namedRefused: what was shown is not in the log.
	namedRefused = "refused"
)

// name is what a client calls its resume: the id in its context.
type name struct {
	id string
	// digest is that of the call: the same call again is answered with the same segment.
	digest   string
	parentID string
}

// as returns the name for a resume that went so.
func (n *name) as(how string) *runs.SegmentName {
	if n == nil {
		return nil
	}
	return &runs.SegmentName{SegmentID: n.id, Call: strings.Join([]string{how, n.digest, n.parentID}, " ")}
}

// nameOf reads the record of a name. ok is false for that of a run.
func nameOf(record *model.IdempotencyRecord) (found name, how string, ok bool) {
	parts := strings.Split(record.Fingerprint, " ")
	if record.EventID == 0 || len(parts) != 3 {
		return name{}, "", false
	}
	return name{id: record.IdempotencyKey, digest: parts[1], parentID: parts[2]}, parts[0], true
}

// newName returns the name that a call gives to what follows it, nil for none. Its digest is
// made once the map is read; see name.describe.
func newName(given *call) (*name, error) {
	if given.runID == "" {
		return nil, nil
	}
	if !refusal.ValidID(given.runID) {
		return nil, badContextID()
	}
	return &name{id: given.runID, parentID: given.parentID}, nil
}

// describe makes the digest of a call about a run. Of what is sensitive, and of ids that name
// nothing, the values are left out: a digest that is stored tells a short secret.
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

// sensitive reports whether the value is shown to nobody but the worker.
func (a *resumeEntry) sensitive() bool {
	return a.approval != nil && len(a.approval.SensitivePaths) > 0 || a.question != nil && model.Sensitive(a.question)
}

func badContextID() error {
	return unprocessable("context.id must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
}

// repeated returns the segment that the same call has begun before, nil for none. Errors: 409
// when the id is in use. A call that was refused decides again.
func (f *face) repeated(ctx context.Context, r *resumption) (*segment, error) {
	record, err := f.Store.Named(ctx, r.name.id)
	if refusal.CodeOf(err) == api.CodeRunNotFound {
		if _, err = f.Store.Run(ctx, r.name.id); refusal.CodeOf(err) == api.CodeRunNotFound {
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

// beginNamed returns the segment of a name that was given.
func (f *face) beginNamed(ctx context.Context, r *resumption, id segmentID) (*segment, error) {
	s, err := f.segmentAfter(ctx, id, r.record)
	if err != nil {
		return nil, err
	}
	s.notes, s.warnings = r.notes, r.warnings
	s.begin()
	return s, nil
}

// decidedSegment returns the segment that begins with a decision that has the name of its call.
func (f *face) decidedSegment(ctx context.Context, r *resumption) (*segment, error) {
	record, err := f.Store.Named(ctx, r.name.id)
	if err != nil {
		return nil, err
	}
	return f.beginNamed(ctx, r, segmentID{runID: record.RunID, after: record.EventID, name: r.name, how: namedDecided})
}

// giveName names what of the run follows an event, 0 for its newest. Without a name, and when the
// run has as many as it may have, it returns an id that the service has made. Errors: 409 when
// the id was taken in the meantime.
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
		record, err := f.Store.Named(ctx, r.name.id)
		if err != nil {
			return id, err
		}
		named.after = record.EventID
	}
	return named, nil
}

// idInUse refuses an id that a run, or what followed a resume, has. An id is used once, also when
// the run is terminal.
func (f *face) idInUse(ctx context.Context, id string) error {
	record, err := f.Store.Run(ctx, id)
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
