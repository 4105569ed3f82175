package timbal

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// isLate reports whether the door refused because something was already settled.
func isLate(err error) bool {
	late := kit.LateOf(err)
	return late == kit.Settled || late == kit.RunOver
}

// resumeRefused returns the segment of a resume that the door refused as a whole. An error without
// a segment in this contract is returned.
func (f *face) resumeRefused(ctx context.Context, r *resumption, d *decision, err error) (*segment, error) {
	switch {
	case isLate(err):
		return f.resumeLate(ctx, r, d)
	case kit.Unfit(err) && d.command != nil && d.command.CancelRequestID != "":
		return nil, err
	case kit.Unfit(err):
		if text := d.wrongApproval(err); text != "" {
			return f.resumeFailed(ctx, r, text)
		}
		d.noteFaults(r.notes, err, nil)
		return f.showOpen(ctx, r)
	default:
		return nil, err
	}
}

// resumeLate shows the recorded decision (docs/spec/timbal.md#late-resume). Of several entries, the
// first that was already settled counts.
func (f *face) resumeLate(ctx context.Context, r *resumption, d *decision) (*segment, error) {
	for _, entry := range d.entries {
		found, err := f.Store.Reader(ctx).RequestByHandle(ctx, entry.request.Handle)
		if err != nil {
			return nil, err
		}
		request := &found.Request
		output := outputEvent{}
		switch request.Outcome {
		case "":
			if entry.structured == nil || !answeredPart(request.Question().PartialAnswers, entry.questionID) {
				continue
			}
			output.Status, output.Output = entry.claimedOutput()
		case api.OutcomeCancelled, api.OutcomeExpired:
			stopped := &stoppage{reason: reasonOf(new(request.Recorded()))}
			if entry.approval != nil {
				stopped.approvalID = entry.id
			}
			output.Status, output.Output = cancelledBy(stopped)
		case api.OutcomeAllowed, api.OutcomeDenied, api.OutcomeAnswered, api.OutcomeDeclined:
			output.Status, output.Output = entry.claimedOutput()
		}
		return f.refusedSegment(ctx, r, &output)
	}
	return f.showOpen(ctx, r)
}

func answeredPart(answers []api.UserQuestionAnswer, questionID string) bool {
	return slices.ContainsFunc(answers, func(answer api.UserQuestionAnswer) bool { return answer.QuestionID == questionID })
}

// claimedOutput is the output when another caller decided first.
func (a *resumeEntry) claimedOutput() (status, api.JSON) {
	made := statusOf(codeCancelled, reasonClaimed, messageClaimed)
	if a.approval != nil {
		return made, kit.Encode(stopOutput{ApprovalID: a.id, Status: reasonClaimed})
	}
	return made, kit.Encode(stopOutput{SuspensionID: a.id, Status: reasonClaimed})
}

// resumeFailed returns the segment of a resume with an invalid value.
func (f *face) resumeFailed(ctx context.Context, r *resumption, text string) (*segment, error) {
	return f.refusedSegment(ctx, r, &outputEvent{Status: statusOf(codeError, "", text), Error: &text})
}

// refusedSegment returns a segment with only its START and OUTPUT.
func (f *face) refusedSegment(ctx context.Context, r *resumption, output *outputEvent) (*segment, error) {
	record, err := f.Store.Reader(ctx).ClaimedRun(ctx, r.record.Run.RunID)
	if err != nil {
		return nil, err
	}
	nowMs, err := f.Store.NowMs(ctx)
	if err != nil {
		return nil, err
	}
	id, err := f.giveName(ctx, r, record.Run.LastEventID, namedRefused)
	if err != nil {
		return nil, err
	}
	s := &segment{
		id: id, parentID: r.given.parentID, agentID: record.Run.AgentID, warnings: r.warnings,
	}
	s.add(s.header(typeStart))
	output.Input, output.T0, output.T1 = withoutHistory(&record.Run), nowMs, nowMs
	s.addOutput(output)
	return s, nil
}

// wrongApproval explains what is wrong with decisions about approvals; "" when the error is about
// something else.
func (d *decision) wrongApproval(err error) string {
	var lines []string
	for _, fault := range kit.RefusalOf(err).Faults {
		if entry, rest := entryAt(fault.Pointer, "/approvals/", d.approvals); entry != nil {
			rest = strings.Replace(rest, "/updated_input", "/override_input", 1)
			lines = append(lines, fmt.Sprintf("resume %s%s: %s", entry.id, rest, fault.Detail))
		}
	}
	return strings.Join(lines, "; ")
}

// noteFaults collects the faults of a refused part, or of the command if part is nil, by the wait that is shown again.
func (d *decision) noteFaults(notes map[string]string, err error, part *runs.AnswerQuestion) {
	before := len(notes)
	for _, fault := range kit.RefusalOf(err).Faults {
		if entry, rest := entryAt(fault.Pointer, "/answers/", d.answers); entry != nil && notes[entry.shownID()] == "" {
			notes[entry.shownID()] = fault.Detail
			if place := strings.TrimPrefix(rest, "/value"); place != "" {
				notes[entry.shownID()] = place + ": " + fault.Detail
			}
		}
	}
	if len(notes) > before {
		return
	}
	code := refusal.CodeOf(err)
	for _, entry := range d.entries {
		if entry.approval != nil || part != nil && entry.request.RequestID != part.Resolution.RequestID {
			continue
		}
		if entry.structured != nil {
			if faultOf(entry.structured, new(answerTo(entry.structured, entry.value))) != code {
				continue
			}
		} else if code == api.CodeQuestionAnswerEmpty && document.Kind(entry.value) != 'n' {
			continue
		}
		notes[entry.shownID()] = strings.TrimPrefix(detailOf(err), "/resolution") // of a part's command
		return
	}
}

// entryAt returns the entry that a pointer into a list names, and the rest of the pointer.
func entryAt(pointer, list string, entries []*resumeEntry) (entry *resumeEntry, rest string) {
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
