package timbal

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
)

// resumeEntry is an entry of a resume map with the request that it answers.
type resumeEntry struct {
	id    string
	value api.JSON

	request *model.Request
	// approval or question is the shown request.
	approval *api.ApprovalRequest
	question *api.UserQuestionRequest
	// one is the structured question that is answered, questionID its id; nil for an approval, a
	// typed question, and a cancel.
	structured *api.UserQuestion
	questionID string
	// cancelsRun says that the entry cancels the run.
	cancelsRun bool
	reason     string
}

// readResume finds the requests of a resume map's entries. Entries for other ids are ignored with a
// warning (docs/spec/timbal.md#partial-resume).
func (f *face) readResume(ctx context.Context, record *model.RunRecord, resume kit.Object) (all []*resumeEntry, warnings []string, err error) {
	below := map[string]bool{} // sessions, and whether they are below the run's: a map may name one a thousand times
	for _, e := range resume {
		entry := &resumeEntry{id: e.Name, value: e.Value}
		// An invalid cancel is refused, whatever it is about.
		if entry.reason, entry.cancelsRun, err = readCancel(e.Value); err != nil {
			return nil, nil, err
		}
		handle, questionID := splitWaitID(e.Name)
		if entry.request, err = f.requestOf(ctx, record, handle, below); err != nil {
			return nil, nil, err
		}
		if !entry.resolveID(questionID) {
			warnings = append(warnings, fmt.Sprintf("resume id %s is unknown to this run and was ignored", wire.Shown(e.Name)))
			continue
		}
		all = append(all, entry)
	}
	return all, warnings, nil
}

// requestOf returns a run's request by its handle, or an approval of a session below the run's, or
// nil. It looks up what is not in below.
func (f *face) requestOf(ctx context.Context, record *model.RunRecord, handle string, below map[string]bool) (*model.Request, error) {
	for i := range record.Requests {
		if record.Requests[i].Handle == handle {
			return &record.Requests[i], nil
		}
	}
	request, err := f.FindRequest(ctx, handle)
	if request == nil || request.RunID == record.Run.RunID {
		return request, err
	}
	if request.Kind != model.KindApproval || request.SessionID == record.Run.SessionID {
		return nil, nil
	}
	is, known := below[request.SessionID]
	if !known {
		if is, err = f.IsWithin(ctx, request.SessionID, record.Run.SessionID); err != nil {
			return nil, err
		}
		below[request.SessionID] = is
	}
	if !is {
		return nil, nil
	}
	return request, nil
}

// shownID is the shown id of the entry's wait.
func (a *resumeEntry) shownID() string {
	if a.question != nil && len(a.question.Questions) > 1 {
		return a.request.Handle + ":" + a.questionID
	}
	return a.request.Handle
}

// resolveID finds the entry's question by its id, and reports whether it is a shown one.
func (a *resumeEntry) resolveID(questionID string) bool {
	if a.request == nil || a.request.Kind == model.KindClarification {
		return false
	}
	if a.request.Kind == model.KindApproval {
		approval := a.request.Approval()
		a.approval = &approval
		return questionID == "" && a.id == a.request.Handle
	}
	question := a.request.Question()
	a.question = &question
	if a.id == a.request.Handle {
		if len(question.Questions) == 1 {
			a.structured, a.questionID = &question.Questions[0], question.Questions[0].ID
		}
		return len(question.Questions) <= 1 || a.cancelsRun
	}
	for i := range question.Questions {
		if len(question.Questions) > 1 && question.Questions[i].ID == questionID {
			a.structured, a.questionID = &question.Questions[i], questionID
			return true
		}
	}
	return false
}

// dropKnown drops answers from before the parent began, with a warning. Clients send such answers
// again.
func (f *face) dropKnown(ctx context.Context, id segmentID, all []*resumeEntry, warnings []string) ([]*resumeEntry, []string, error) {
	if id.after == 0 {
		return all, warnings, nil
	}
	var before *history
	kept := all[:0]
	for _, entry := range all {
		if entry.request.Open() && entry.request.PartialAnswers == nil {
			kept = append(kept, entry)
			continue
		}
		if before == nil {
			var err error
			if before, err = f.historyAt(ctx, id.runID, id.after); err != nil {
				return nil, nil, err
			}
		}
		if before.answered(entry.request.RequestID, entry.questionID) {
			warnings = append(warnings, fmt.Sprintf("resume id %s was answered before this run began; what was recorded then holds", wire.Shown(entry.id)))
			continue
		}
		kept = append(kept, entry)
	}
	return kept, warnings, nil
}
