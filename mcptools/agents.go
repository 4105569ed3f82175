package mcptools

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client/ask"
)

const (
	// defaultWait is below one minute, after which many clients give up a tool call.
	defaultWait = 45
	// maxWait is a day, in seconds.
	maxWait         = 24 * 3600
	withdrawTimeout = 5 * time.Second
	// keptFor is how long a request stays open after its client has gone.
	keptFor = 7 * 24 * time.Hour
)

// waitFor is a number of seconds. Negative means without a limit.
type waitFor int64

func (w waitFor) duration() time.Duration { return time.Duration(w) * time.Second }

// waitArgument is a member of several tools.
type waitArgument struct {
	WaitSeconds *int64 `json:"wait_seconds"`
}

func (w waitArgument) wait() (waitFor, error) {
	switch {
	case w.WaitSeconds == nil:
		return defaultWait, nil
	case *w.WaitSeconds < 0 || *w.WaitSeconds > maxWait:
		return 0, errors.New("wait_seconds must be 0 to 86400")
	}
	return waitFor(*w.WaitSeconds), nil
}

const (
	keySchema  = `{"type": "string", "description": "Names this call. Until its decision is read, the same call with the same key finds the same request, even after a restart; for an approval, in the same directory. After that, or once the request was withdrawn, it asks again."}`
	waitSchema = `{"type": "integer", "minimum": 0, "maximum": 86400, "description": "How long to wait for the decision; 45 by default. After that the status is pending: call check_decision with the run_id. An open request is withdrawn once no call has asked for it for seven days."}`

	approvalSchema = `{
  "type": "object", "additionalProperties": false, "required": ["tool_name", "input"],
  "properties": {
    "tool_name": {"type": "string", "description": "What should be done, as a tool name: bash, deploy, send_email."},
    "input": {"type": "object", "description": "The exact input. Use the answer's input: the person may have edited it."},
    "description": {"type": "string", "description": "One line for the person who decides."},
    "reason": {"type": "string", "description": "Why it should be done."},
    "hints": {"type": "array", "maxItems": 8, "description": "Remarks for the person who decides, such as what it changes.", "items": {
      "type": "object", "additionalProperties": false, "required": ["level", "text"],
      "properties": {"level": {"enum": ["info", "warn", "danger"]}, "text": {"type": "string", "maxLength": 500}}
    }},
    "key": ` + keySchema + `,
    "wait_seconds": ` + waitSchema + `
  }
}`
	questionSchema = `{
  "type": "object", "additionalProperties": false, "required": ["question"],
  "properties": {
    "question": {"type": "string"},
    "options": {"type": "array", "maxItems": 64, "description": "Choices. The person may also answer in their own words, unless allow_freeform is false.", "items": {"anyOf": [
      {"type": "string"},
      {"type": "object", "additionalProperties": false, "required": ["label"], "properties": {
        "label": {"type": "string"},
        "description": {"type": "string", "description": "What choosing this means."}
      }}
    ]}},
    "multi_select": {"type": "boolean", "description": "Several options may be chosen."},
    "allow_freeform": {"type": "boolean", "default": true, "description": "false: only the options are accepted. It needs options."},
    "key": ` + keySchema + `,
    "wait_seconds": ` + waitSchema + `
  }
}`
	checkSchema = `{
  "type": "object", "additionalProperties": false, "required": ["run_id"],
  "properties": {
    "run_id": {"type": "string", "description": "From the answer of request_approval or ask_user."},
    "wait_seconds": ` + waitSchema + `
  }
}`
)

// decision is the result of the tools for agents.
type decision struct {
	// Status is an outcome, "pending", or the final status of a run that ended without one.
	Status    string `json:"status"`
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id,omitempty"`
	// Input is the input that may run. Set only for an allowed call.
	Input   api.JSON `json:"input,omitzero"`
	Edited  bool     `json:"edited,omitzero"`
	Answers []string `json:"answers,omitempty"`
	// Value is the answer to a typed question. A sensitive one is left out.
	Value api.JSON `json:"value,omitzero"`
	// Message explains the status.
	Message string `json:"message,omitempty"`
}

func decisionOf(decided *ask.Answer) decision {
	told := decision{Status: string(decided.Outcome), RunID: decided.RunID, RequestID: decided.RequestID}
	input, edited, allowed := decided.Allowed()
	switch {
	case allowed:
		told.Input, told.Edited, told.Message = input, edited, why(decided.Resolution)
	case decided.Outcome == api.OutcomeAnswered:
		told.Answers, told.Message = answers(decided), why(decided.Resolution)
		if !decided.Question.Sensitive { // the recorded value of a sensitive question is a mask
			told.Value = decided.Resolution.Value
		}
	case decided.Outcome == "" && decided.Ended == "":
		told.Status = "pending"
		told.Message = "No decision yet. This is not a permission. Call check_decision with the run_id."
	case decided.Question != nil && decided.Ended == "":
		told.Status, told.Message = statusOf(decided), why(decided.Resolution)
	case decided.Question != nil:
		told.Status, told.Message = statusOf(decided), "The request was ended ("+string(decided.Ended)+"), so there is no answer"
	default:
		told.Status, told.Message = statusOf(decided), sentence(decided)
	}
	return told
}

func statusOf(decided *ask.Answer) string {
	if decided.Outcome == "" {
		return string(decided.Ended)
	}
	return string(decided.Outcome)
}

// answers returns the labels of the chosen options and any free text.
func answers(decided *ask.Answer) []string {
	labels := map[string]string{}
	for _, question := range decided.Question.Questions {
		for _, option := range question.Options {
			labels[question.ID+"\x00"+option.ID] = option.Label
		}
	}
	said := []string{}
	for _, answer := range decided.Resolution.Answers {
		for _, chosen := range answer.SelectedOptionIDs {
			said = append(said, labels[answer.QuestionID+"\x00"+chosen])
		}
		if answer.FreeformAnswer != "" {
			said = append(said, answer.FreeformAnswer)
		}
	}
	return said
}

type approvalArguments struct {
	ToolName    string     `json:"tool_name"`
	Input       api.JSON   `json:"input"`
	Description string     `json:"description"`
	Reason      string     `json:"reason"`
	Hints       []api.Hint `json:"hints"`
	Key         string     `json:"key"`
	waitArgument
}

// wait also refuses a call without the input that the schema requires: a person would allow something
// that is not shown.
func (a approvalArguments) wait() (waitFor, error) {
	if jsontext.Value(a.Input).Kind() != '{' {
		return 0, errors.New("input must be an object")
	}
	return a.waitArgument.wait()
}

type questionArguments struct {
	Question    string           `json:"question"`
	Options     []optionArgument `json:"options"`
	MultiSelect bool             `json:"multi_select"`
	Freeform    *bool            `json:"allow_freeform"`
	Key         string           `json:"key"`
	waitArgument
}

// optionArgument is an option: a label, or an object with one.
type optionArgument struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// UnmarshalJSON implements the interface of json.Unmarshal.
func (o *optionArgument) UnmarshalJSON(text []byte) error {
	*o = optionArgument{}
	type object optionArgument
	into := any((*object)(o))
	if jsontext.Value(text).Kind() == '"' {
		into = &o.Label
	}
	if err := json.Unmarshal(text, into, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	if strings.TrimSpace(o.Label) == "" {
		return errNoLabel
	}
	return nil
}

// errNoLabel: the service would fill in a label, and the answer would be about another question.
var errNoLabel = errors.New("an option needs a label")

type checkArguments struct {
	RunID string `json:"run_id"`
	waitArgument
}

// The tools of agents.
const (
	permissionPrompt = "permission_prompt"
	requestApproval  = "request_approval"
	askUser          = "ask_user"
	checkDecision    = "check_decision"
)

// addAgents adds the tools for agents.
func (t *tools) addAgents(server *mcp.Server) {
	for _, tool := range []string{permissionPrompt, requestApproval, askUser, checkDecision} {
		t.waits.Register(tool, t.reader(tool))
	}
	t.addPermissionPrompt(server)
	addAsking(t, server, &mcp.Tool{
		Name: requestApproval, Title: "Request approval",
		Description: "Ask a person whether something may be done, before it is done. Continue only when status is allowed, with the input in the answer.",
	}, approvalSchema, func(arguments approvalArguments) putting {
		return putting{call: &ask.Call{SessionID: t.SessionID, Key: arguments.Key, Approval: &api.ApprovalRequest{
			ToolName: arguments.ToolName, Input: arguments.Input, Description: arguments.Description, Reason: arguments.Reason, Hints: arguments.Hints,
			ExpiresAfterMs: t.expiresAfterMs(), ExcludeRequester: t.ExcludeRequester, Directory: t.Directory,
		}}}
	})
	addAsking(t, server, &mcp.Tool{
		Name: askUser, Title: "Ask a person",
		Description: "Ask a person a question and get the answer.",
	}, questionSchema, func(arguments questionArguments) putting {
		return putting{call: &ask.Call{SessionID: t.SessionID, Key: arguments.Key, Question: t.question(arguments)}}
	})
	addAsking(t, server, &mcp.Tool{
		Name: checkDecision, Title: "Check a decision",
		Description: "Check whether a pending approval or question is decided, or wait for the decision.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, checkSchema, func(arguments checkArguments) putting { return putting{runID: arguments.RunID} })
}

// addAsking adds a tool that waits for a person. handle returns the call to raise or the run to
// look at.
func addAsking[In interface{ wait() (waitFor, error) }](t *tools, server *mcp.Server, tool *mcp.Tool, schema string, handle func(In) putting) {
	tool.InputSchema = jsontext.Value(schema)
	server.AddTool(tool, func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments In
		if err := decode(request.Params.Arguments, &arguments); err != nil {
			return failure(err), nil
		}
		wait, err := arguments.wait()
		if err != nil {
			return failure(err), nil
		}
		p := handle(arguments)
		p.wait = wait
		return t.put(ctx, request, p)
	})
}

func (t *tools) question(arguments questionArguments) *api.UserQuestionRequest {
	question := api.UserQuestion{ID: "answer", Question: arguments.Question, MultiSelect: arguments.MultiSelect, AllowFreeform: new(true)}
	if arguments.Freeform != nil {
		question.AllowFreeform = arguments.Freeform
	}
	for _, option := range arguments.Options {
		question.Options = append(question.Options, api.QuestionOption{Label: option.Label, Description: option.Description})
	}
	return &api.UserQuestionRequest{Questions: []api.UserQuestion{question}, ExpiresAfterMs: t.expiresAfterMs()}
}

func (t *tools) expiresAfterMs() *int64 { return pointer(t.ExpiresAfter.Milliseconds()) }
