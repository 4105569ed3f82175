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

// decision is what a resume asks for: one command for all that it settles, and the
// answers to some questions of a request that has more. The latter settle nothing and
// come after it.
type decision struct {
	entries []*resumeEntry
	command *runs.DecideRequests
	parts   []*runs.AnswerQuestion
	// approvals and answers tell which entry a member of the command is made of.
	approvals []*resumeEntry
	answers   []*resumeEntry
	// invalid is why the run ends with an error instead (docs/spec/timbal.md#refused-value).
	invalid error
}

// empty reports whether nothing is decided.
func (d *decision) empty() bool { return d.command == nil && len(d.parts) == 0 }

// decide makes a decision of the entries. Values whose expires_at is not after nowMs are
// left out: their requests stay open and are shown again.
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

// add adds the entries about one request, which are several when it has several
// questions.
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
	// One that is settled is kept, so that a replay of the call has the same fingerprint
	// whenever it comes.
	if g.expiresAtMs != 0 && g.expiresAtMs <= nowMs && entry.request.Open() {
		return
	}
	command.Approvals = append(command.Approvals, resolution)
	d.approvals = append(d.approvals, entry)
}

// answersTo returns the answers to a structured request: those that are given and, when
// nothing is missing then, the partial ones. Those of a settled request are what was
// recorded, so that a replay of the call that settled it has the same fingerprint.
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
		clash = clash || isGiven && isKept
	}
	// A question that has an answer is refused another by the door, as a part.
	if len(all) < len(question.Questions) || clash {
		return own, false
	}
	return all, true
}

// expectedInLog lists what the log tells once the decision is made: requests, and
// questions of requests that have more.
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

// removeSeen takes what an event tells off the list of what is expected, and reports
// whether nothing is left.
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
		// The last part of an answer settles the request.
		for _, answer := range resolution.Answers {
			delete(expected, [2]string{resolution.RequestID, answer.QuestionID})
		}
	}
	return len(expected) == 0
}
