package ask

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// digestOfCall returns the digest of a call to raise.
func digestOfCall(call Call) (string, error) {
	switch {
	case call.Approval != nil && call.Question == nil:
		return digestOf([]api.ApprovalRequest{*call.Approval}, nil)
	case call.Question != nil && call.Approval == nil:
		return digestOf(nil, []api.UserQuestionRequest{*call.Question})
	default:
		return "", fmt.Errorf("%w: a call is an approval or a question", client.ErrInvalid)
	}
}

// digestOf returns the digest of the members that must be equal in two calls with one key,
// and in the call and its decision.
func digestOf(approvals []api.ApprovalRequest, questions []api.UserQuestionRequest) (string, error) {
	if len(approvals)+len(questions) != 1 {
		return "", ErrForeign
	}
	var same any
	if len(approvals) == 1 {
		members := map[string]any{"tool_name": approvals[0].ToolName, "input": approvals[0].Input}
		if approvals[0].ExcludeRequester {
			members["exclude_requester"] = true
		}
		if approvals[0].Directory != "" {
			members["directory"] = approvals[0].Directory
		}
		same = members
	} else {
		type shown struct {
			Question string `json:"question"`
			Options  []any  `json:"options"` // a label, or a label with its description and perhaps its preview
			Multi    bool   `json:"multi_select"`
			Freeform bool   `json:"allow_freeform"`
		}
		asked := []shown{}
		for _, one := range questions[0].Questions {
			entry := shown{Question: one.Question, Multi: one.MultiSelect, Freeform: one.TakesFreeform()}
			for _, option := range one.Options {
				switch {
				case option.Preview != "":
					entry.Options = append(entry.Options, []string{option.Label, option.Description, option.Preview})
				case option.Description != "":
					entry.Options = append(entry.Options, []string{option.Label, option.Description})
				default:
					entry.Options = append(entry.Options, option.Label)
				}
			}
			asked = append(asked, entry)
		}
		members := map[string]any{"questions": asked, "metadata": questions[0].Metadata}
		maps.Copy(members, typedOf(&questions[0]))
		same = members
	}
	return client.InputDigest(same)
}

// typedOf returns the members of a question's digest besides its structured questions, as the service stores them.
// Earlier builds left them out.
func typedOf(question *api.UserQuestionRequest) map[string]any {
	members := map[string]any{}
	if question.Kind != "" {
		members["kind"] = question.Kind
	}
	if !absent(question.Payload) {
		members["payload"] = question.Payload
	}
	switch {
	case !absent(question.ResponseSchema):
		members["response_schema"] = question.ResponseSchema
	case question.Kind != "" && len(question.Questions) == 0:
		members["response_schema"] = true
	}
	return members
}

// absent reports whether the service stores nothing for a value.
func absent(value api.JSON) bool { return len(value) == 0 || jsontext.Value(value).Kind() == 'n' }

// hasDigest reports whether a request has a digest of this build, or of an earlier one: those left out the previews of
// options, and before that the directory of an approval and [typedOf]. A call never joins such a run of another request.
func hasDigest(digest string, approvals []api.ApprovalRequest, questions []api.UserQuestionRequest) bool {
	approvals, questions = slices.Clone(approvals), slices.Clone(questions)
	for _, leaveOut := range []func(){
		func() {},
		func() {
			for i := range questions {
				questions[i].Questions = withoutPreviews(questions[i].Questions)
			}
		},
		func() {
			for i := range approvals {
				approvals[i].Directory = ""
			}
			for i := range questions {
				questions[i].Kind, questions[i].Payload, questions[i].ResponseSchema = "", nil, nil
			}
		},
	} {
		leaveOut()
		if one, err := digestOf(approvals, questions); err == nil && one == digest {
			return true
		}
	}
	return false
}

func withoutPreviews(questions []api.UserQuestion) []api.UserQuestion {
	questions = slices.Clone(questions)
	for i := range questions {
		questions[i].Options = slices.Clone(questions[i].Options)
		for n := range questions[i].Options {
			questions[i].Options[n].Preview = ""
		}
	}
	return questions
}

// leftOut says which of the members that a digest of an earlier build left out a request has.
type leftOut struct{ directory, typed, previews bool }

func leftOutOf(approval *api.ApprovalRequest, question *api.UserQuestionRequest) leftOut {
	if question == nil {
		return leftOut{directory: approval != nil && approval.Directory != ""}
	}
	return leftOut{
		typed: len(typedOf(question)) > 0,
		previews: slices.ContainsFunc(question.Questions, func(one api.UserQuestion) bool {
			return slices.ContainsFunc(one.Options, func(option api.QuestionOption) bool { return option.Preview != "" })
		}),
	}
}
