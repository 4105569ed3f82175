package timbal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
)

// cancelType is the type of the tagged object that cancels a run
// (docs/spec/timbal.md#cancel-value).
const cancelType = "timbal.cancel"

// readCancel reads the tagged object. Errors: 422 when its reason is not a string.
func readCancel(value api.JSON) (reason string, cancels bool, err error) {
	if kit.Text(kit.Get(value, "type")) != cancelType {
		return "", false, nil
	}
	err = readText("the reason of a cancel", kit.Get(value, "reason"), &reason)
	return reason, true, err
}

// errApprovalValue refuses a resume value for an approval.
var errApprovalValue = errors.New("resume value for an approval gate must be a bool, dict with a bool \"approved\" and, to allow, no unknown members, or a cancel")

// approvalValue is a resume value for an approval (docs/spec/timbal.md#approval-value).
type approvalValue struct {
	approved bool
	reason   string
	comment  string
	override kit.Object
	// expiresAtMs is nil when the decision does not expire.
	expiresAtMs *int64
	// audit is the original value, when it has more than a decision can record.
	audit api.JSON
}

// readApprovalValue reads a decision about an approval. An allow has no unknown members: a misspelt
// edit must not allow the original input. Errors: errApprovalValue, or the unknown member.
func readApprovalValue(value api.JSON) (approvalValue, error) {
	var read approvalValue
	kind := document.Kind(value)
	if kind == 't' || kind == 'f' {
		read.approved = kind == 't'
		return read, nil
	}
	decided, unknown := false, ""
	for name, member := range kit.Members(value) {
		var err error
		null := document.Kind(member) == 'n'
		switch name {
		case "approved":
			decided = true
			if err = json.Unmarshal(member, &read.approved); null {
				err = errApprovalValue
			}
		case "reason":
			err = readText(name, member, &read.reason)
		case "comment":
			err = readText(name, member, &read.comment)
			read.audit = value
		case "override_input":
			if !null && document.Kind(member) != '{' {
				err = errApprovalValue
			}
			read.override = kit.ObjectOf(member)
		case "expires_at":
			if !null {
				err = json.Unmarshal(member, &read.expiresAtMs)
				read.audit = value
			}
		case "approver_id", "decided_at", "metadata":
			if !null {
				read.audit = value
			}
		default:
			unknown = cmp.Or(unknown, wire.Shown(name), `""`)
		}
		if err != nil {
			return read, errApprovalValue
		}
	}
	switch {
	case !decided:
		return read, errApprovalValue
	case read.approved && unknown != "":
		return read, fmt.Errorf("resume value for an approval gate has an unknown member: %s", unknown)
	}
	return read, nil
}

// resolution returns the domain's decision. The door checks the replaced input.
func (g *approvalValue) resolution(request *api.ApprovalRequest) (runs.ApprovalDecision, error) {
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
		return resolution, errors.New("override_input: the proposed input is not an object, so nothing can be merged into it")
	}
	resolution.UpdatedInput = merged(request.Input, g.override)
	return resolution, nil
}

// merged merges members over an object's, one level deep, in linear time, because the caller
// chooses how many there are.
func merged(input api.JSON, override kit.Object) api.JSON {
	members := kit.ObjectOf(input)
	at := make(map[string]int, len(members))
	for i := range members {
		at[members[i].Name] = i
	}
	for _, over := range override {
		if i, known := at[over.Name]; known {
			members[i].Value = over.Value
		} else {
			members = append(members, over)
		}
	}
	return encodeRaw(members)
}

// answerTo reads a resume value as the answer to a structured question
// (docs/spec/timbal.md#interaction-value). A label or, failing that, an option's id selects; a list
// of them selects several; any other value is free text, as a string or as JSON. Null, an empty object,
// an empty list and blank texts are empty answers, which the door refuses.
func answerTo(question *api.UserQuestion, value api.JSON) api.UserQuestionAnswer {
	answer := api.UserQuestionAnswer{QuestionID: question.ID}
	texts, isTexts := textsOf(value)
	if !isTexts {
		answer.FreeformAnswer = kit.Compact(value)
		return answer
	}
	var free []string
	for _, text := range texts {
		// A label of several options selects none.
		if id, matches := kit.OptionOf(question, text, nil); matches == 1 {
			answer.SelectedOptionIDs = append(answer.SelectedOptionIDs, id)
		} else if strings.TrimSpace(text) != "" { // joined, blank texts would not be blank
			free = append(free, text)
		}
	}
	answer.FreeformAnswer = strings.Join(free, ", ")
	return answer
}

// textsOf returns the texts of a value, bare or alone under "selected": a text, a list of texts, or none.
// ok is false for any other value.
func textsOf(value api.JSON) (texts []string, ok bool) {
	if members := kit.ObjectOf(value); len(members) == 1 && members[0].Name == "selected" {
		value = members[0].Value
	}
	switch document.Kind(value) {
	case '"':
		return []string{kit.Text(value)}, true
	case 'n':
		return nil, true
	case '{':
		return nil, len(kit.ObjectOf(value)) == 0
	case '[':
		err := json.Unmarshal(value, &texts)
		return texts, err == nil
	}
	return nil, false
}

// faultOf returns what is wrong with an answer by itself, "" for nothing. It only assigns a refusal
// to one of several answers.
func faultOf(question *api.UserQuestion, answer *api.UserQuestionAnswer) api.Code {
	chosen := slices.Sorted(slices.Values(answer.SelectedOptionIDs))
	switch {
	case !question.MultiSelect && len(chosen) > 1:
		return api.CodeQuestionSingleSelect
	case len(slices.Compact(chosen)) < len(answer.SelectedOptionIDs):
		return api.CodeQuestionDuplicateOption
	case len(chosen) == 0 && strings.TrimSpace(answer.FreeformAnswer) == "":
		return api.CodeQuestionAnswerEmpty
	case answer.FreeformAnswer != "" && !question.TakesFreeform():
		return api.CodeInvalidRequest
	default:
		return ""
	}
}

// byNumber orders a decision's entries as their requests were raised, so that equal decisions have
// equal commands.
func byNumber(a, b *resumeEntry) int {
	return cmp.Or(cmp.Compare(a.request.Number, b.request.Number), strings.Compare(a.questionID, b.questionID))
}
