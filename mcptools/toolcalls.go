package mcptools

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client/ask"
)

// Tools with which coding agents ask the user or show a plan. Each name is the one in the agent's
// own hooks.
var (
	questionTools = map[string]bool{
		"AskUserQuestion":    true, // Claude Code
		"ask_user_question":  true, // Qwen Code
		"ask_user":           true, // Gemini CLI, GitHub Copilot CLI
		"request_user_input": true, // Codex
	}
	planTools = map[string]bool{
		"ExitPlanMode":   true, // Claude Code
		"exit_plan_mode": true, // Gemini CLI, Qwen Code, GitHub Copilot CLI
	}
)

// toolQuestions is the input of a question tool. Some agents ask one question as Single. Agents
// accept free text in addition to the options unless Freeform is false.
type toolQuestions struct {
	Questions []toolQuestion `json:"questions"`
	Single    string         `json:"question"`
	Choices   []string       `json:"choices"`
	Freeform  *bool          `json:"allow_freeform"`
}

type toolQuestion struct {
	Question    string `json:"question"`
	Header      string `json:"header"`
	Type        string `json:"type"`
	MultiSelect bool   `json:"multiSelect"`
	Options     []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
		Preview     string `json:"preview"`
	} `json:"options"`
}

// questionOf is the metadata of a question: its tool call.
type questionOf struct {
	ToolName  string   `json:"tool_name"`
	ToolInput api.JSON `json:"tool_input"`
}

// errNoQuestion: the question tool's input has no question. It is not raised, because an allow
// would answer nothing.
var errNoQuestion = errors.New("the question tool's input has no question")

// errSameQuestion: the agent is given answers by the question's text, so one would stand for both.
var errSameQuestion = errors.New("two questions of the question tool's input have the same text")

// CallOf returns the request for a coding agent's tool call: a question for a question tool,
// otherwise the approval, which shows a plan as text. planText is the plan when the input only
// names it. Errors: a question that cannot be read.
func CallOf(call ask.Call, planText string) (ask.Call, error) {
	request := call.Approval
	if planTools[request.ToolName] {
		shown := *request
		plan, where := planOf(request.Input, planText)
		shown.Description = withPlan(shown.Description, plan, where)
		call.Approval = &shown
		return call, nil
	}
	if !questionTools[request.ToolName] {
		return call, nil
	}
	questions, err := questionsOf(request.Input)
	if err != nil {
		return call, err
	}
	of, err := json.Marshal(questionOf{request.ToolName, request.Input})
	if err != nil {
		return call, err
	}
	call.Approval, call.Question = nil, &api.UserQuestionRequest{
		ToolCallID: request.ToolCallID, Questions: questions, ExpiresAfterMs: request.ExpiresAfterMs, Metadata: of,
	}
	return call, nil
}

// AsksQuestion reports whether a tool asks the agent's user.
func AsksQuestion(toolName string) bool { return questionTools[toolName] }

// ShowsPlan reports whether a tool shows a plan.
func ShowsPlan(toolName string) bool { return planTools[toolName] }

// planOf returns the plan that a tool shows, and where a person finds the rest of a long one.
func planOf(input api.JSON, named string) (plan, where string) {
	const inInput, inFile = "The plan goes on in the input.", "The plan goes on in its file. This request does not show the rest."
	var given struct {
		Plan    string `json:"plan"`
		Summary string `json:"summary"`
	}
	if json.Unmarshal(input, &given) != nil {
		return named, inFile
	}
	switch {
	case strings.TrimSpace(given.Plan) != "":
		return given.Plan, inInput
	case strings.TrimSpace(named) != "":
		return named, inFile
	}
	return strings.TrimSpace(given.Summary), inInput
}

// withPlan appends a plan to a description, as much of it as fits, and else where it goes on.
func withPlan(description, plan, where string) string {
	plan = strings.ToValidUTF8(plan, "\ufffd")
	if plan == "" {
		return description
	}
	if description != "" {
		description += "\n\n"
	}
	text, more := description+plan, "\n\n("+where+")"
	if len(text) <= api.MaxTextLength {
		return text
	}
	text = text[:api.MaxTextLength-len(more)]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + more
}

func questionsOf(input api.JSON) ([]api.UserQuestion, error) {
	var given toolQuestions
	if err := json.Unmarshal(input, &given); err != nil {
		return nil, fmt.Errorf("the question cannot be read: %w", err)
	}
	if len(given.Questions) == 0 && given.Single != "" {
		one := api.UserQuestion{ID: "q1", Question: given.Single, AllowFreeform: new(true)}
		for i, choice := range given.Choices {
			if strings.TrimSpace(choice) == "" {
				return nil, errNoLabel
			}
			one.Options = append(one.Options, api.QuestionOption{ID: optionID(i), Label: choice})
		}
		if given.Freeform != nil && len(one.Options) > 0 {
			one.AllowFreeform = given.Freeform
		}
		return []api.UserQuestion{one}, nil
	}
	if len(given.Questions) == 0 {
		return nil, errNoQuestion
	}
	questions, seen := make([]api.UserQuestion, len(given.Questions)), map[string]bool{}
	for i, asked := range given.Questions {
		if seen[asked.Question] {
			return nil, errSameQuestion
		}
		seen[asked.Question] = true
		if strings.TrimSpace(asked.Question) == "" {
			return nil, errNoQuestion
		}
		questions[i] = api.UserQuestion{ID: "q" + strconv.Itoa(i+1), Header: asked.Header, Question: asked.Question, MultiSelect: asked.MultiSelect, AllowFreeform: new(true)}
		for n, option := range asked.Options {
			if strings.TrimSpace(option.Label) == "" {
				return nil, errNoLabel
			}
			questions[i].Options = append(questions[i].Options, api.QuestionOption{
				ID: optionID(n), Label: option.Label, Description: option.Description, Preview: option.Preview,
			})
		}
		if asked.Type == "yesno" && len(asked.Options) == 0 {
			questions[i].Options = []api.QuestionOption{{ID: optionID(0), Label: "Yes"}, {ID: optionID(1), Label: "No"}}
			questions[i].AllowFreeform = nil
		}
	}
	return questions, nil
}

func optionID(i int) string { return "o" + strconv.Itoa(i+1) }

// answered is one question with its answer.
type answered struct{ question, answer string }

// answersOf returns the answers in the order of the questions: chosen labels and free text,
// separated by commas, as agents write several answers.
func answersOf(decided *ask.Answer) []answered {
	var list []answered
	for _, question := range decided.Question.Questions {
		labels := map[string]string{}
		for _, option := range question.Options {
			labels[option.ID] = option.Label
		}
		var parts []string
		for _, answer := range decided.Resolution.Answers {
			if answer.QuestionID != question.ID {
				continue
			}
			for _, chosen := range answer.SelectedOptionIDs {
				parts = append(parts, labels[chosen])
			}
			if answer.FreeformAnswer != "" {
				parts = append(parts, answer.FreeformAnswer)
			}
		}
		list = append(list, answered{question.Question, strings.Join(parts, ", ")})
	}
	return list
}

// withAnswers returns a question tool's input with the answers, keyed by each question's text.
func withAnswers(question *api.UserQuestionRequest, given []answered) (api.JSON, error) {
	var of questionOf
	var members map[string]jsontext.Value
	if err := json.Unmarshal(question.Metadata, &of); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(of.ToolInput, &members); err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for _, one := range given {
		if one.answer != "" {
			answers[one.question] = one.answer
		}
	}
	if len(answers) == 0 {
		return nil, errors.New("the answer is empty")
	}
	text, err := json.Marshal(answers, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	members["answers"] = text
	return json.Marshal(members, json.Deterministic(true))
}

// told returns answers as text, for agents that accept none from a hook.
func told(by string, given []answered) string {
	var text strings.Builder
	fmt.Fprintf(&text, "The question was answered by %s. Do not ask it again.", by)
	for _, one := range given {
		fmt.Fprintf(&text, "\nQuestion: %s\nAnswer: %s", one.question, one.answer)
	}
	return text.String()
}
