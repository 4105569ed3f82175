package timbal

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
)

// cancelType is the type of the tagged object that cancels a run (contracts/timbal.md
// 4.5).
const cancelType = "timbal.cancel"

// readCancel reads the tagged cancel. It is an error when its reason is no text.
func readCancel(e entry) (reason string, cancels bool, err error) {
	if document.Kind(e.value) != '{' {
		return "", false, nil
	}
	var kind, why api.JSON
	for _, member := range membersOf(e.value) {
		switch member.id {
		case "type":
			kind = member.value
		case "reason":
			why = member.value
		}
	}
	if document.Kind(kind) != '"' || textOf(kind) != cancelType {
		return "", false, nil
	}
	return reason, true, readText("the reason of a cancel", why, &reason)
}

// errBadGate is what a resume value for an approval is refused with.
var errBadGate = errors.New("resume value for an approval gate must be a bool, dict with a bool \"approved\", or a cancel")

// gate is a resume value for an approval.
type gate struct {
	approved bool
	reason   string
	comment  string
	override []entry
	// expiresAtMs is 0 when the decision does not expire.
	expiresAtMs int64
	// audit is the value as it was given, when it says more than a decision can.
	audit api.JSON
}

// readGate reads a decision about an approval.
func readGate(value api.JSON) (gate, error) {
	var g gate
	if document.Kind(value) == 't' || document.Kind(value) == 'f' {
		g.approved = document.Kind(value) == 't'
		return g, nil
	}
	if document.Kind(value) != '{' {
		return g, errBadGate
	}
	decided := false
	for _, member := range membersOf(value) {
		var err error
		null := document.Kind(member.value) == 'n'
		switch member.id {
		case "approved":
			decided = true
			err = json.Unmarshal(member.value, &g.approved)
			if null {
				err = errBadGate
			}
		case "reason":
			err = readText(member.id, member.value, &g.reason)
		case "comment":
			err = readText(member.id, member.value, &g.comment)
			g.audit = value
		case "override_input":
			if !null && document.Kind(member.value) != '{' {
				err = errBadGate
			}
			g.override = membersOf(member.value)
		case "expires_at":
			if !null {
				err = json.Unmarshal(member.value, &g.expiresAtMs)
				g.audit = value
			}
		case "approver_id", "decided_at", "metadata":
			if !null {
				g.audit = value
			}
		}
		if err != nil {
			return g, errBadGate
		}
	}
	if !decided {
		return g, errBadGate
	}
	return g, nil
}

// resolution returns the decision as the domain takes it. What replaces the input is
// checked behind the door.
func (g *gate) resolution(request *api.ApprovalRequest) (runs.ApprovalDecision, error) {
	resolution := runs.ApprovalDecision{
		RequestID: request.ID, Behavior: api.BehaviorDeny, Reason: g.reason, Justification: g.comment, RuntimePayload: g.audit,
	}
	if !g.approved {
		return resolution, nil
	}
	resolution.Behavior = api.BehaviorAllow
	if len(g.override) == 0 {
		return resolution, nil
	}
	if document.Kind(request.Input) != '{' {
		return resolution, errors.New("override_input: the proposed input is no object, so nothing can be merged over it")
	}
	resolution.UpdatedInput = merged(request.Input, g.override)
	return resolution, nil
}

// merged puts members over those of an object, one level deep.
func merged(input api.JSON, override []entry) api.JSON {
	members := membersOf(input)
	for _, over := range override {
		at := slices.IndexFunc(members, func(e entry) bool { return e.id == over.id })
		if at < 0 {
			members = append(members, over)
		} else {
			members[at].value = over.value
		}
	}
	return objectOf(members)
}

// answerTo reads a resume value as the answer to a structured question: a label, or
// else an option's id, selects; a list of them, bare or under "selected", selects
// several; any other text is free text, and so is the compact form of what is no text.
// Null, "" and an empty list are empty answers, which are refused (decisions.md 7).
func answerTo(question *api.UserQuestion, value api.JSON) api.UserQuestionAnswer {
	answer := api.UserQuestionAnswer{QuestionID: question.ID}
	texts, isList := selected(value)
	switch {
	case isList:
	case document.Kind(value) == '"':
		texts = []string{textOf(value)}
	case document.Kind(value) == 'n':
		return answer
	default:
		compact := jsontext.Value(slices.Clone(value))
		_ = compact.Compact() // it is JSON
		answer.FreeformAnswer = string(compact)
		return answer
	}
	var free []string
	for _, text := range texts {
		if id, ok := optionOf(question, text); ok {
			answer.SelectedOptionIDs = append(answer.SelectedOptionIDs, id)
		} else {
			free = append(free, text)
		}
	}
	answer.FreeformAnswer = strings.Join(free, ", ")
	return answer
}

// selected returns the texts of a list, or of an object that has nothing but one under
// "selected".
func selected(value api.JSON) (texts []string, isList bool) {
	if members := membersOf(value); len(members) == 1 && members[0].id == "selected" {
		value = members[0].value
	}
	if document.Kind(value) != '[' || json.Unmarshal(value, &texts) != nil {
		return nil, false
	}
	return texts, true
}

func textOf(value api.JSON) string {
	var text string
	_ = json.Unmarshal(value, &text) // it is a text
	return text
}

// optionOf returns the option that a text names: by its label, which is what is shown,
// or else by its id. A label that several options have names none of them.
func optionOf(question *api.UserQuestion, text string) (id string, ok bool) {
	labelled := 0
	for _, option := range question.Options {
		if option.Label == text {
			id = option.ID
			labelled++
		}
	}
	if labelled == 1 {
		return id, true
	}
	for _, option := range question.Options {
		if labelled == 0 && option.ID == text {
			return option.ID, true
		}
	}
	return "", false
}

// faultOf tells what is wrong with an answer by itself, "" when nothing is. It decides
// nothing: it says to which of several answers a refusal belongs.
func faultOf(question *api.UserQuestion, answer *api.UserQuestionAnswer) api.Code {
	chosen := slices.Sorted(slices.Values(answer.SelectedOptionIDs))
	switch {
	case !question.MultiSelect && len(chosen) > 1:
		return api.CodeQuestionSingleSelect
	case len(slices.Compact(chosen)) < len(answer.SelectedOptionIDs):
		return api.CodeQuestionDuplicateOption
	case len(chosen) == 0 && strings.TrimSpace(answer.FreeformAnswer) == "":
		return api.CodeQuestionAnswerEmpty
	default:
		return ""
	}
}

// byNumber orders what a decision is about as it was raised, so that the same decision
// looks the same however its members are ordered.
func byNumber(a, b *asked) int {
	return cmp.Or(cmp.Compare(a.request.Number, b.request.Number), strings.Compare(a.questionID, b.questionID))
}
