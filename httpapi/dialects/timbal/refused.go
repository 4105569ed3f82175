package timbal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// isLate reports whether the door refused because something was settled before.
func isLate(err error) bool {
	switch refusal.CodeOf(err) {
	case api.CodeRunStateConflict, api.CodeApprovalStateConflict, api.CodeApprovalNotPending,
		api.CodeQuestionStateConflict, api.CodeQuestionExpired, api.CodeQuestionRequestMismatch,
		api.CodeQuestionResolutionConflict:
		return true
	default:
		return false
	}
}

// isWrong reports whether the door refused because of an answer itself.
func isWrong(err error) bool {
	switch refusal.CodeOf(err) {
	case api.CodeInvalidRequest, api.CodeQuestionAnswerEmpty, api.CodeQuestionSingleSelect,
		api.CodeQuestionDuplicateOption, api.CodeQuestionOptionNotFound, api.CodeQuestionAnswerMissing,
		api.CodeQuestionUnknownAnswer, api.CodeQuestionDuplicateAnswer:
		return true
	default:
		return false
	}
}

// lost returns the segment of a resume that the door refused: nothing of it was
// decided. An error that has no form of its own on this wire is returned.
func (f *face) lost(ctx context.Context, r *resumption, d *decision, err error) (*segment, error) {
	switch {
	case isLate(err):
		return f.late(ctx, r, d)
	case isWrong(err) && d.command != nil && d.command.CancelRequestID != "":
		return nil, err
	case isWrong(err):
		if text := d.wrongApproval(err); text != "" {
			return f.failed(ctx, r, text)
		}
		d.note(r.notes, err)
		return f.attach(ctx, r)
	default:
		return nil, err
	}
}

// late answers by what is recorded (contracts/README.md 6.3): the first entry that was
// settled before tells how.
func (f *face) late(ctx context.Context, r *resumption, d *decision) (*segment, error) {
	for _, one := range d.all {
		found, err := f.Store.RequestByHandle(ctx, one.request.Handle)
		if err != nil {
			return nil, err
		}
		request := &found.Request
		output := outputEvent{}
		switch request.Outcome {
		case "":
			if one.one == nil || !answeredPart(request.Question().PartialAnswers, one.questionID) {
				continue
			}
			output.Status, output.Output = one.claimed()
		case api.OutcomeCancelled, api.OutcomeExpired:
			resolution := request.Recorded()
			stopped := &stoppage{reason: reasonOf(&resolution)}
			if one.approval != nil {
				stopped.approvalID = one.id
			}
			output.Status, output.Output = cancelledBy(stopped)
		case api.OutcomeAllowed, api.OutcomeDenied, api.OutcomeAnswered, api.OutcomeDeclined:
			output.Status, output.Output = one.claimed()
		}
		return f.refused(ctx, r, &output)
	}
	return f.attach(ctx, r)
}

func answeredPart(answers []api.UserQuestionAnswer, questionID string) bool {
	for i := range answers {
		if answers[i].QuestionID == questionID {
			return true
		}
	}
	return false
}

// claimed is for one who came too late (decisions.md 23).
func (a *asked) claimed() (status, api.JSON) {
	made := statusOf(codeCancelled, reasonClaimed, messageClaimed)
	if a.approval != nil {
		return made, encoded(claimedApprovalOutput{a.id, reasonClaimed})
	}
	return made, encoded(claimedOutput{a.id, reasonClaimed})
}

// failed returns the segment of a resume with a value that makes no sense.
func (f *face) failed(ctx context.Context, r *resumption, text string) (*segment, error) {
	return f.refused(ctx, r, &outputEvent{Status: statusOf(codeError, "", text), Error: &text})
}

// refused returns a segment of nothing but its START and OUTPUT.
func (f *face) refused(ctx context.Context, r *resumption, output *outputEvent) (*segment, error) {
	record, err := f.Store.ClaimedRun(ctx, r.record.Run.RunID)
	if err != nil {
		return nil, err
	}
	nowMs, err := f.Store.NowMs(ctx)
	if err != nil {
		return nil, err
	}
	s := &segment{
		id:       segmentID{runID: record.Run.RunID, after: record.Run.LastEventID, mark: refusedMark + newMark()},
		parentID: r.given.parentID, agentID: record.Run.AgentID, warnings: r.warnings,
	}
	s.add(s.header(typeStart))
	output.Input, output.T0, output.T1 = record.Run.Input, nowMs, nowMs
	s.addOutput(output)
	return s, nil
}

// wrongApproval returns what is wrong with decisions about approvals, in the words of
// this wire; "" when it is something else that is wrong.
func (d *decision) wrongApproval(err error) string {
	var lines []string
	for _, fault := range faultsOf(err) {
		if one, rest := at(fault.Pointer, "/approvals/", d.approvals); one != nil {
			rest = strings.Replace(rest, "/updated_input", "/override_input", 1)
			lines = append(lines, fmt.Sprintf("resume %s%s: %s", one.id, rest, fault.Detail))
		}
	}
	return strings.Join(lines, "; ")
}

// note notes what is wrong with answers, by the wait that is shown again.
func (d *decision) note(notes map[string]string, err error) {
	for _, fault := range faultsOf(err) {
		if one, rest := at(fault.Pointer, "/answers/", d.answers); one != nil && notes[one.shownID()] == "" {
			notes[one.shownID()] = fault.Detail
			if place := strings.TrimPrefix(rest, "/value"); place != "" {
				notes[one.shownID()] = place + ": " + fault.Detail
			}
		}
	}
	if len(notes) > 0 {
		return
	}
	code := refusal.CodeOf(err)
	for _, one := range d.all {
		if one.approval != nil {
			continue
		}
		if one.one != nil {
			answer := answerTo(one.one, one.value)
			if faultOf(one.one, &answer) != code {
				continue
			}
		} else if code == api.CodeQuestionAnswerEmpty && document.Kind(one.value) != 'n' {
			continue
		}
		notes[one.shownID()] = detailOf(err)
		return
	}
}

func faultsOf(err error) []api.Fault {
	var domain *refusal.Error
	if errors.As(err, &domain) {
		return domain.Faults
	}
	return nil
}

// at returns the entry that a pointer into a list names, and the rest of the pointer.
func at(pointer, list string, entries []*asked) (one *asked, rest string) {
	text, ok := strings.CutPrefix(pointer, list)
	if !ok {
		return nil, ""
	}
	digits, rest, found := strings.Cut(text, "/")
	if found {
		rest = "/" + rest
	}
	index, err := strconv.Atoi(digits)
	if err != nil || index < 0 || index >= len(entries) {
		return nil, ""
	}
	return entries[index], rest
}
