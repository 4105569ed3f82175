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
//	<run>:<event>              the run after the decision that this event reports
//	<run>:<event>.<8 hex>      the same for a resume that decided nothing
//	<run>:<event>.x<8 hex>     a resume that was refused; nothing of it is in the log
//
// where <event> is a number of the session's log. A run may have an id that looks like
// one of the latter; then it is that run.
type segmentID struct {
	runID string
	// after is the event after which the segment begins, 0 for the whole run.
	after int64
	// mark tells resumes apart that decided nothing.
	mark string
}

// markLength is that of the random part of a mark, in hexadecimal digits.
const markLength = 8

// refusedMark begins the marks of refused resumes. It is no hexadecimal digit.
const refusedMark = "x"

func (s segmentID) String() string {
	switch {
	case s.after == 0:
		return s.runID
	case s.mark == "":
		return s.runID + ":" + strconv.FormatInt(s.after, 10)
	default:
		return s.runID + ":" + strconv.FormatInt(s.after, 10) + "." + s.mark
	}
}

// refused reports whether what was shown under the id is not in the log.
func (s segmentID) refused() bool { return strings.HasPrefix(s.mark, refusedMark) }

func newMark() string {
	var random [markLength / 2]byte
	_, _ = rand.Read(random[:]) // never fails, as its documentation says
	return hex.EncodeToString(random[:])
}

// splitID reads an id as one that begins after an event.
func splitID(id string) (segmentID, bool) {
	at := strings.LastIndexByte(id, ':')
	if at < 0 || !refusal.ValidID(id[:at]) {
		return segmentID{}, false
	}
	number, mark, marked := strings.Cut(id[at+1:], ".")
	after, err := strconv.ParseInt(number, 10, 64)
	if err != nil || after <= 0 || strconv.FormatInt(after, 10) != number || marked && !isMark(mark) {
		return segmentID{}, false
	}
	return segmentID{runID: id[:at], after: after, mark: mark}, true
}

func isMark(mark string) bool {
	digits, err := hex.DecodeString(strings.TrimPrefix(mark, refusedMark))
	return err == nil && len(digits) == markLength/2
}

// find returns the run that an id names, and from where. Any run's own id is one
// (decisions.md 3). Errors: run_not_found.
func (f *face) find(ctx context.Context, id string) (segmentID, *model.RunRecord, error) {
	if refusal.ValidID(id) {
		record, err := f.Store.Run(ctx, id)
		if err == nil || refusal.CodeOf(err) != api.CodeRunNotFound {
			return segmentID{runID: id}, record, err
		}
	}
	split, ok := splitID(id)
	if !ok {
		return segmentID{}, nil, refusal.UnknownRun(wire.Shown(id))
	}
	record, err := f.Store.Run(ctx, split.runID)
	if err != nil {
		return segmentID{}, nil, err
	}
	if split.after < record.Run.FirstEventID || split.after > record.Run.LastEventID {
		return segmentID{}, nil, refusal.UnknownRun(wire.Shown(id))
	}
	return split, record, nil
}
