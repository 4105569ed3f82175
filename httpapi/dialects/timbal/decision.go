package timbal

import (
	"errors"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// decision is the content of a resume: one command for everything that it settles, and partial
// answers to requests with more questions. The latter settle nothing and are sent after the
// command.
type decision struct {
	entries []*resumeEntry
	command *runs.DecideRequests
	parts   []*runs.AnswerQuestion
	// approvals and answers map the command's members to their entries.
	approvals []*resumeEntry
	answers   []*resumeEntry
	// invalid is why the run ends with an error instead (docs/spec/timbal.md#refused-value).
	invalid error
}

// empty reports whether nothing is decided.
func (d *decision) empty() bool { return d.command == nil && len(d.parts) == 0 }

// decide builds a decision from the entries. Values that expired by nowMs are dropped: their
// requests stay open and are shown again.
func decide(runID string, all []*resumeEntry, key string, actor runs.Actor, maxRuleAgeMs, nowMs int64) *decision {
	d := &decision{entries: all}
	for _, entry := range all {
		if entry.cancelsRun {
			d.command = &runs.DecideRequests{
				RunID: runID, CancelRequestID: entry.request.RequestID, CancelReason: entry.reason, Key: key, Actor: actor,
			}
			return d
		}
	}
	command := &runs.DecideRequests{RunID: runID, MaxRuleAgeMs: maxRuleAgeMs, Key: key, Actor: actor}
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, byNumber)
	for i := 0; i < len(sorted); {
		entry := sorted[i]
		end := i + 1
		for end < len(sorted) && sorted[end].request.Handle == entry.request.Handle {
			end++
		}
		d.add(command, sorted[i:end], nowMs)
		i = end
	}
	if len(command.Approvals)+len(command.Answers) > 0 {
		d.command = command
	}
	for _, part := range d.parts {
		part.RunID, part.Actor = runID, actor
	}
	return d
}

// add adds the entries about one request, of which there are several when it has several questions.
func (d *decision) add(command *runs.DecideRequests, about []*resumeEntry, nowMs int64) {
	first := about[0]
	if first.approval != nil {
		d.addApproval(command, first, nowMs)
		return
	}
	resolution := runs.QuestionAnswer{RequestID: first.request.RequestID}
	if first.structured == nil {
		resolution.Value = first.value
	} else {
		var whole bool
		if resolution.Answers, whole = answersTo(about); !whole {
			d.parts = append(d.parts, &runs.AnswerQuestion{Resolution: resolution, Partial: true})
			return
		}
		if document.Kind(first.value) != '"' && len(about) == 1 {
			resolution.RuntimePayload = first.value
		}
	}
	command.Answers = append(command.Answers, resolution)
	d.answers = append(d.answers, first)
}

func (d *decision) addApproval(command *runs.DecideRequests, entry *resumeEntry, nowMs int64) {
	g, err := readApprovalValue(entry.value)
	var resolution runs.ApprovalDecision
	if err == nil {
		resolution, err = g.resolution(entry.approval)
	}
	if err != nil {
		d.invalid = errors.Join(d.invalid, err)
		return
	}
	// Keep the value of a settled request, so that a replay of the call always has the same
	// fingerprint.
	if g.expiresAtMs != nil && *g.expiresAtMs <= nowMs && entry.request.Open() {
		return
	}
	command.Approvals = append(command.Approvals, resolution)
	d.approvals = append(d.approvals, entry)
}

// answersTo returns the answers to a structured request: the given ones and, when that completes
// it and none of them is sensitive, the earlier partial ones. For a settled request the recorded answers are used, so that a
// replay of the call that settled it has the same fingerprint.
func answersTo(about []*resumeEntry) (answers []api.UserQuestionAnswer, whole bool) {
	request, question := about[0].request, about[0].question
	known := question.PartialAnswers
	if !request.Open() {
		known = request.Recorded().Answers
	}
	given := map[string]api.UserQuestionAnswer{}
	for _, entry := range about {
		given[entry.questionID] = answerTo(entry.structured, entry.value)
	}
	kept := map[string]api.UserQuestionAnswer{}
	for _, answer := range known {
		if _, again := given[answer.QuestionID]; !again || request.Open() {
			kept[answer.QuestionID] = answer
		}
	}
	var own, all []api.UserQuestionAnswer
	clash := false
	for _, asked := range question.Questions {
		answer, isGiven := given[asked.ID]
		before, isKept := kept[asked.ID]
		if isGiven {
			own = append(own, answer)
			all = append(all, answer)
		} else if isKept {
			all = append(all, before)
		}
		clash = clash || isKept && (isGiven || before.Sensitive)
	}
	// The door refuses a second answer to a question if it is sent as a partial answer, and it alone has the text
	// of an earlier sensitive answer.
	if len(all) < len(question.Questions) || clash {
		return own, false
	}
	return all, true
}

// expectedInLog lists what the log will contain after the decision: requests, and questions of
// requests with more.
func (d *decision) expectedInLog() map[[2]string]bool {
	expected := map[[2]string]bool{}
	for _, list := range [][]*resumeEntry{d.approvals, d.answers} {
		for _, entry := range list {
			expected[[2]string{entry.request.RequestID}] = true
		}
	}
	for _, part := range d.parts {
		for _, answer := range part.Resolution.Answers {
			expected[[2]string{part.Resolution.RequestID, answer.QuestionID}] = true
		}
	}
	return expected
}

// removeSeen removes an event's content from the expected list, and reports whether the list is
// empty.
func removeSeen(expected map[[2]string]bool, event *model.Event) bool {
	change, err := kit.ChangeOf(event)
	if err != nil || !change.Decided() {
		return false
	}
	for _, id := range change.QuestionIDs {
		delete(expected, [2]string{change.RequestID, id})
	}
	for i := range change.Resolutions {
		resolution := &change.Resolutions[i]
		delete(expected, [2]string{resolution.RequestID})
		// The last partial answer settles the request.
		for _, answer := range resolution.Answers {
			delete(expected, [2]string{resolution.RequestID, answer.QuestionID})
		}
	}
	return len(expected) == 0
}
