package timbal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// resumption is a resume in progress.
type resumption struct {
	given  *call
	parent segmentID
	record *model.RunRecord
	key    string
	// name is nil unless the client chose the id of the next segment.
	name  *name
	actor runs.Actor
	// replayed says that the call was seen before under its key.
	replayed bool
	notes    map[string]string
	warnings []string
}

// openResume finds the run of a resume. Errors: 404 when it does not exist.
func (f *face) openResume(ctx context.Context, given *call, key string, actor runs.Actor) (*resumption, error) {
	if given.parentID == "" {
		return nil, unprocessable("resume needs a parent_id")
	}
	parent, record, err := f.find(ctx, given.parentID)
	if refusal.CodeOf(err) == api.CodeRunNotFound {
		return nil, refuse(http.StatusNotFound, "%s", detailOf(err))
	}
	if err != nil {
		return nil, err
	}
	chosen, err := newName(given)
	if err != nil {
		return nil, err
	}
	return &resumption{
		given: given, parent: parent, record: record, key: key, name: chosen, actor: actor, notes: map[string]string{},
	}, nil
}

func detailOf(err error) string {
	if refused := kit.RefusalOf(err); refused != nil {
		return refused.Detail
	}
	return err.Error()
}

// resume applies the answers in the map and returns the segment that begins with them.
func (f *face) resume(ctx context.Context, r *resumption) (*segment, error) {
	all, warnings, err := f.readResume(ctx, r.record, r.given.resume)
	if err != nil {
		return nil, err
	}
	if r.name != nil {
		if err := r.name.describe(r.given, r.record.Run.RunID, all); err != nil {
			return nil, err
		}
		if s, err := f.repeated(ctx, r); s != nil || err != nil {
			return s, err
		}
	}
	all, children := r.ofChildren(all)
	if all, warnings, err = f.dropKnown(ctx, r.parent, all, warnings); err != nil {
		return nil, err
	}
	r.warnings = append(r.warnings, warnings...)
	nowMs, err := f.Store.NowMs(ctx)
	if err != nil {
		return nil, err
	}
	d := decide(r.record.Run.RunID, all, r.key, r.actor, f.MaxRuleAgeMs, nowMs)
	if d.invalid != nil {
		return f.resumeFailed(ctx, r, d.invalid.Error())
	}
	if d.command != nil && d.command.CancelRequestID != "" {
		children = nil // the run ends, whatever else the map holds
	}
	if s, err := f.decideChildren(ctx, r, children, len(all), nowMs); s != nil || err != nil {
		return s, err
	}
	if len(d.parts) > 0 {
		r.keyByName(d)
	} else if d.command != nil {
		d.command.Segment = r.name.as(namedDecided)
	}
	if d.command != nil {
		reply, err := f.Store.Do(ctx, d.command)
		if refusal.CodeOf(err) == api.CodeIDConflict && r.name != nil {
			return nil, f.idInUse(ctx, r.name.id)
		}
		if err != nil {
			return f.resumeRefused(ctx, r, d, err)
		}
		r.replayed = reply.Replayed
		switch {
		case d.command.Segment != nil:
			return f.decidedSegment(ctx, r)
		case d.command.CancelRequestID != "":
			return f.segmentAtEnd(ctx, r, "")
		}
	}
	if refused, err := f.answerParts(ctx, r, d); err != nil {
		return nil, err
	} else if refused != nil {
		return f.resumeRefused(ctx, r, d, refused)
	}
	if d.empty() {
		return f.showOpen(ctx, r)
	}
	awaited := d.expectedInLog()
	log, err := f.historyUntil(ctx, r.record.Run.RunID, func(event *model.Event) bool { return removeSeen(awaited, event) })
	if err != nil {
		return nil, err
	}
	id, err := f.giveName(ctx, r, log.lastEventID, namedDecided)
	if taken, ok := errors.AsType[*kit.Error](err); ok && taken.Status == http.StatusConflict {
		r.warnings = append(r.warnings, fmt.Sprintf("context.id %s was taken in the meantime", r.name.id))
	} else if err != nil {
		return nil, err
	}
	return r.segment(log, id), nil
}

// keyByName makes a call's name its key if it has none. Partial answers are decided one by one and
// named afterwards, so a repeated call must find its earlier decisions.
func (r *resumption) keyByName(d *decision) {
	if r.name == nil || r.key != "" {
		return
	}
	r.key = "context.id " + r.name.id
	if d.command != nil {
		d.command.Key = r.key
	}
}

// answerParts records partial answers one by one, and keeps in d those that were recorded. refused is the refusal
// of an answer if nothing was decided.
func (f *face) answerParts(ctx context.Context, r *resumption, d *decision) (refused, err error) {
	kept := d.parts[:0]
	var late error
	var lateDetails []string
	for _, part := range d.parts {
		switch done, refused, err := f.answerPart(ctx, r, part); {
		case err != nil:
			return nil, err
		case done:
			kept = append(kept, part)
		case kit.Unfit(refused):
			d.noteFaults(r.notes, refused, part) // the others are decided
		case isLate(refused) || d.command != nil || len(kept) > 0:
			late = cmp.Or(late, refused)
			lateDetails = append(lateDetails, detailOf(refused))
		default:
			return refused, nil
		}
	}
	d.parts = kept
	if d.empty() && len(r.notes) == 0 && late != nil {
		return late, nil
	}
	r.warnings = append(r.warnings, lateDetails...) // other answers are decided
	return nil, nil
}

// answerPart records partial answers. Such a command has no key. A repeated call with a key finds
// its own answers and succeeds.
func (f *face) answerPart(ctx context.Context, r *resumption, part *runs.AnswerQuestion) (done bool, refused, err error) {
	_, err = f.Store.Do(ctx, part)
	if err == nil {
		return true, nil, nil
	}
	if refusal.CodeOf(err) == "" {
		return false, nil, err
	}
	if r.key == "" || !isLate(err) {
		return false, err, nil
	}
	record, readErr := f.Store.Reader(ctx).Run(ctx, part.RunID)
	if readErr != nil {
		return false, nil, readErr
	}
	for i := range record.Requests {
		request := &record.Requests[i]
		if request.RequestID != part.Resolution.RequestID {
			continue
		}
		known := request.Question().PartialAnswers
		if !request.Open() {
			known = request.Recorded().Answers
		}
		if same, masked := hasAnswers(known, part.Resolution.Answers); same {
			if masked {
				r.warnings = append(r.warnings, "a sensitive answer was recorded before and is not compared with this one")
			}
			r.replayed = true
			return true, nil, nil
		}
	}
	return false, err, nil
}

// hasAnswers reports whether all answers were recorded. The text of a sensitive answer is not compared; masked says
// that one of them is sensitive, so another person may have given it.
func hasAnswers(recorded, answers []api.UserQuestionAnswer) (all, masked bool) {
	for _, answer := range answers {
		at := slices.IndexFunc(recorded, func(known api.UserQuestionAnswer) bool {
			same := known.FreeformAnswer == answer.FreeformAnswer && slices.Equal(known.SelectedOptionIDs, answer.SelectedOptionIDs)
			return known.QuestionID == answer.QuestionID && (known.Sensitive || same)
		})
		if at < 0 {
			return false, false
		}
		masked = masked || recorded[at].Sensitive
	}
	return true, masked
}

// segment returns the segment that begins where the history ends.
func (r *resumption) segment(log *history, id segmentID) *segment {
	s := &segment{
		id: id, parentID: r.given.parentID, agentID: r.record.Run.AgentID, log: *log, notes: r.notes, warnings: r.warnings,
	}
	s.begin()
	return s
}

// showOpen returns the segment of a resume that decided nothing: it shows the open requests again,
// or the next events.
func (f *face) showOpen(ctx context.Context, r *resumption) (*segment, error) {
	if r.name != nil {
		id, err := f.giveName(ctx, r, 0, namedShown)
		if err != nil {
			return nil, err
		}
		if id.name != nil {
			return f.beginNamed(ctx, r, id)
		}
	}
	return f.segmentAtEnd(ctx, r, newSuffix())
}

// segmentAtEnd returns the segment that begins at the end of the log.
func (f *face) segmentAtEnd(ctx context.Context, r *resumption, suffix string) (*segment, error) {
	log, err := f.historyAtEnd(ctx, r.record.Run.RunID)
	if err != nil {
		return nil, err
	}
	return r.segment(log, segmentID{runID: r.record.Run.RunID, after: log.lastEventID, suffix: suffix}), nil
}
