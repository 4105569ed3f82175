package timbal

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// A segmentID is what a client takes for the id of a run. It is
//
//	<run>                      the run from its beginning
//	<run>~<event>              the run after the decision that this event reports
//	<run>~<event>.<8 hex>      the same for a resume that decided nothing
//	<run>~<event>.x<8 hex>     a resume that was refused; nothing of it is in the log
//
// where <event> is a number of the session's log. No run has a "~" in its id: a caller
// that chooses the id of its run cannot take the id of another run's segment. A resume uses the id
// chosen by its client instead, if any: a unique record reserves it.
type segmentID struct {
	runID string
	// after is the event after which the segment begins, 0 for the whole run.
	after int64
	// name is nil unless a client chose the id. how is then the result of its resume.
	name *name
	how  string
	// suffix distinguishes resumes that decided nothing.
	suffix string
}

// segmentMark separates the run from the event. [refusal.ValidID] refuses it in ids.
const segmentMark = wire.PartMark

// suffixLength is the number of hexadecimal digits of a suffix.
const suffixLength = 8

// refusedPrefix begins the suffix of a refused resume. It is not a hexadecimal digit.
const refusedPrefix = "x"

func (s segmentID) String() string {
	switch {
	case s.name != nil:
		return s.name.id
	case s.after == 0:
		return s.runID
	case s.suffix == "":
		return s.runID + segmentMark + strconv.FormatInt(s.after, 10)
	default:
		return s.runID + segmentMark + strconv.FormatInt(s.after, 10) + "." + s.suffix
	}
}

// refused reports whether the id's segment is not in the log.
func (s segmentID) refused() bool {
	return s.how == namedRefused || strings.HasPrefix(s.suffix, refusedPrefix)
}

func newSuffix() string {
	var random [suffixLength / 2]byte
	_, _ = rand.Read(random[:]) // never fails, as its documentation says
	return hex.EncodeToString(random[:])
}

// splitID parses an id of a segment that begins after an event.
func splitID(id string) (segmentID, bool) {
	runID, rest, marked := strings.Cut(id, segmentMark)
	if !marked || !refusal.ValidID(runID) {
		return segmentID{}, false
	}
	number, suffix, found := strings.Cut(rest, ".")
	after, err := strconv.ParseInt(number, 10, 64)
	if err != nil || after <= 0 || strconv.FormatInt(after, 10) != number || found && !isSuffix(suffix) {
		return segmentID{}, false
	}
	return segmentID{runID: runID, after: after, suffix: suffix}, true
}

func isSuffix(suffix string) bool {
	digits, err := hex.DecodeString(strings.TrimPrefix(suffix, refusedPrefix))
	return err == nil && len(digits) == suffixLength/2
}

// find returns the run of an id and the beginning of its segment (docs/spec/timbal.md#run-ids).
// Errors: run_not_found.
func (f *face) find(ctx context.Context, id string) (segmentID, *model.RunRecord, error) {
	if refusal.ValidID(id) {
		record, err := f.Store.Reader(ctx).Run(ctx, id)
		if refusal.CodeOf(err) != api.CodeRunNotFound {
			return segmentID{runID: id}, record, err
		}
		return f.findNamed(ctx, id)
	}
	split, ok := splitID(id)
	if !ok {
		return segmentID{}, nil, refusal.UnknownRun(wire.Shown(id))
	}
	record, err := f.Store.Reader(ctx).Run(ctx, split.runID)
	if err != nil {
		return segmentID{}, nil, err
	}
	if split.after < record.Run.FirstEventID || split.after > record.Run.LastEventID {
		return segmentID{}, nil, refusal.UnknownRun(wire.Shown(id))
	}
	return split, record, nil
}

// findNamed is find for an id that a client chose for its resume.
func (f *face) findNamed(ctx context.Context, id string) (segmentID, *model.RunRecord, error) {
	named, err := f.Store.Reader(ctx).Named(ctx, id)
	if err != nil {
		return segmentID{}, nil, err
	}
	found, how, ok := nameOf(named)
	if !ok {
		return segmentID{}, nil, refusal.UnknownRun(id)
	}
	record, err := f.Store.Reader(ctx).Run(ctx, named.RunID)
	return segmentID{runID: named.RunID, after: named.EventID, name: &found, how: how}, record, err
}
