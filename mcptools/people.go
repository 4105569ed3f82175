package mcptools

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

const (
	runSchema     = `{"type": "string", "description": "From list_pending."}`
	pendingSchema = `{
  "type": "object", "additionalProperties": false,
  "properties": {
    "session_id": {"type": "string", "minLength": 1, "description": "Only this session and its child sessions."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "20 of each kind by default."}
  }
}`
	resolveSchema = `{
  "type": "object", "additionalProperties": false, "required": ["run_id", "request_id", "behavior", "input_digest"],
  "properties": {
    "run_id": ` + runSchema + `,
    "request_id": ` + runSchema + `,
    "behavior": {"enum": ["allow", "deny"]},
    "input_digest": {"type": "string", "description": "From list_pending. If the request has changed since, nothing is decided."},
    "updated_input": {"type": "object", "description": "Allow with this input instead."},
    "reason": {"type": "string", "description": "For the agent."},
    "remember": {"enum": ["session", "always"], "description": "Also create a rule. The first answer is the rule's text and decides nothing."},
    "remember_as": {"enum": ["exact", "command", "prefix", "folder", "tool"], "description": "With remember: this exact call (default), this command whatever its description, commands that start with the same words, files in the same folder, or every call of the tool in this session."},
    "rule_text": {"type": "string", "description": "With remember: the text of the first answer, once the person has agreed to it."}
  }
}`
	answerSchema = `{
  "type": "object", "additionalProperties": false, "required": ["run_id", "request_id"],
  "properties": {
    "run_id": ` + runSchema + `,
    "request_id": ` + runSchema + `,
    "answers": {"type": "array", "items": {
      "type": "object", "additionalProperties": false, "required": ["question_id"],
      "properties": {
        "question_id": {"type": "string"},
        "selected_option_ids": {"type": "array", "items": {"type": "string"}},
        "freeform_answer": {"type": "string"}
      }
    }},
    "value": {"description": "Of a question with a response_schema, in place of answers."},
    "declined": {"type": "boolean"},
    "justification": {"type": "string"}
  }
}`
	cancelSchema = `{
  "type": "object", "additionalProperties": false, "required": ["run_id"],
  "properties": {
    "run_id": ` + runSchema + `,
    "request_id": {"type": "string", "minLength": 1, "description": "Cancel this question only. Without it the whole run is cancelled."},
    "reason": {"type": "string"}
  }
}`
)

type pendingArguments struct {
	SessionID *string `json:"session_id"`
	Limit     int     `json:"limit"`
}

// pending is the result of list_pending.
type pending struct {
	Approvals []api.PendingApprovalView `json:"approvals"`
	Questions []api.PendingQuestionView `json:"questions"`
	// More is set when a kind has more than limit requests.
	More bool `json:"more"`
}

type resolveArguments struct {
	RunID        string         `json:"run_id"`
	RequestID    string         `json:"request_id"`
	Behavior     api.Behavior   `json:"behavior"`
	InputDigest  string         `json:"input_digest"`
	UpdatedInput api.JSON       `json:"updated_input"`
	Reason       string         `json:"reason"`
	Remember     api.Remember   `json:"remember"`
	RememberAs   api.RememberAs `json:"remember_as"`
	RuleText     string         `json:"rule_text"`
}

type answerArguments struct {
	RunID         string                   `json:"run_id"`
	RequestID     string                   `json:"request_id"`
	Answers       []api.UserQuestionAnswer `json:"answers"`
	Value         api.JSON                 `json:"value"`
	Declined      bool                     `json:"declined"`
	Justification string                   `json:"justification"`
}

type cancelArguments struct {
	RunID string `json:"run_id"`
	// RequestID is nil only when the member is absent: anything else that names no question must not
	// cancel the whole run.
	RequestID api.JSON `json:"request_id"`
	Reason    string   `json:"reason"`
}

// settled is the result of the tools that decide.
type settled struct {
	Decided bool       `json:"decided"`
	RunID   string     `json:"run_id"`
	Status  api.Status `json:"status,omitempty"`
	// RuleText is the rule that remember would create. The deciding call sends it back as
	// rule_text.
	RuleText string `json:"rule_text,omitempty"`
	Message  string `json:"message,omitempty"`
}

// addPeople adds the tools for people.
func (t *tools) addPeople(server *mcp.Server) {
	add(server, &mcp.Tool{
		Name: "list_pending", Title: "Pending approvals and questions",
		Description: "List pending approvals and questions, oldest session first.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, pendingSchema, t.listPending)
	add(server, &mcp.Tool{
		Name: "resolve", Title: "Allow or deny",
		Description: "Record a person's decision about an approval. It cannot be undone.",
	}, resolveSchema, t.resolve)
	add(server, &mcp.Tool{
		Name: "answer", Title: "Answer a question",
		Description: "Record a person's answer to a question. It cannot be undone.",
	}, answerSchema, func(ctx context.Context, arguments answerArguments) (any, error) {
		run, err := t.Client.AnswerRunQuestion(ctx, arguments.RunID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
			RequestID: arguments.RequestID, Answers: arguments.Answers, Value: arguments.Value,
			Declined: arguments.Declined, Justification: arguments.Justification,
		}})
		return settledOf(run, err)
	})
	add(server, &mcp.Tool{
		Name: "cancel", Title: "Cancel a question or a run",
		Description: "Cancel a question, or a whole run with all its requests. It cannot be undone.",
	}, cancelSchema, func(ctx context.Context, arguments cancelArguments) (any, error) {
		if arguments.RequestID != nil {
			var requestID string
			if json.Unmarshal(arguments.RequestID, &requestID) != nil || requestID == "" {
				return nil, errors.New("request_id is empty: give it a value, or leave it out to cancel the whole run")
			}
			run, err := t.Client.CancelQuestion(ctx, arguments.RunID, requestID, client.CancelQuestionParams{Justification: arguments.Reason})
			return settledOf(run, err)
		}
		run, err := t.Client.CancelRun(ctx, arguments.RunID, arguments.Reason)
		if err != nil {
			return nil, err
		}
		return settled{Decided: true, RunID: run.RunID, Status: run.Status}, nil
	})
}

func settledOf(run *client.RunResult, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return settled{Decided: true, RunID: run.RunID, Status: run.Status}, nil
}

func (t *tools) listPending(ctx context.Context, arguments pendingArguments) (any, error) {
	if arguments.Limit < 0 || arguments.Limit > api.MaxPageLimit {
		return nil, errors.New("limit must be 1 to 100")
	}
	params := client.PendingListParams{Below: true, PageParams: client.PageParams{Limit: arguments.Limit}}
	if id := arguments.SessionID; id != nil {
		if params.SessionID = *id; *id == "" {
			return nil, errors.New("session_id is empty: give it a value, or leave it out to list everything")
		}
	}
	if params.Limit == 0 {
		params.Limit = 20
	}
	approvals, err := t.Client.ListApprovals(ctx, params)
	if err != nil {
		return nil, err
	}
	questions, err := t.Client.ListQuestions(ctx, params)
	if err != nil {
		return nil, err
	}
	return pending{
		Approvals: approvals.Items, Questions: questions.Items,
		More: approvals.Pagination.HasMore || questions.Pagination.HasMore,
	}, nil
}

// resolve records a decision. One that also creates a rule takes two calls, because the person must
// have seen the rule's text.
func (t *tools) resolve(ctx context.Context, arguments resolveArguments) (any, error) {
	if arguments.InputDigest == "" {
		return nil, errors.New("input_digest is missing: list_pending has it")
	}
	if arguments.Remember != "" {
		text, err := t.ruleText(ctx, arguments)
		if err != nil {
			return nil, err
		}
		if withoutEnd(text) != withoutEnd(arguments.RuleText) {
			return settled{
				RunID: arguments.RunID, RuleText: text,
				Message: "Nothing was decided. Show this rule to the person, and when they agree call resolve again with it as rule_text.",
			}, nil
		}
	}
	run, err := t.Client.ResolveRunApprovals(ctx, arguments.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{
		RequestID: arguments.RequestID, Behavior: arguments.Behavior, InputDigest: arguments.InputDigest,
		UpdatedInput: arguments.UpdatedInput, Reason: arguments.Reason, Remember: arguments.Remember, RememberAs: arguments.RememberAs,
	}}})
	return settledOf(run, err)
}

// withoutEnd removes a rule's expiry from its text, because it changes while the person reads.
func withoutEnd(text string) string {
	if at := strings.LastIndex(text, ", until "); at >= 0 {
		return text[:at]
	}
	return text
}

// ruleText returns the text of the rule that a decision would create.
func (t *tools) ruleText(ctx context.Context, arguments resolveArguments) (string, error) {
	run, err := t.Client.GetRun(ctx, arguments.RunID)
	if err != nil {
		return "", err
	}
	for _, request := range run.PendingApprovals {
		if request.ID != arguments.RequestID {
			continue
		}
		call := api.ExplainRulesBody{
			SessionID: pointer(run.SessionID), AgentID: pointer(run.AgentID), ToolName: request.ToolName, ToolCallID: request.ToolCallID,
			Input: request.Input, PatternKeys: request.PatternKeys, Directory: request.Directory,
			SensitivePaths: request.SensitivePaths, InputDigest: request.InputDigest,
		}
		if arguments.Behavior == api.BehaviorDeny {
			call.Effect = api.RuleDeny
		}
		explained, err := t.Client.ExplainRules(ctx, call)
		if err != nil {
			return "", err
		}
		text := ""
		for _, choice := range explained.Remember.Choices {
			switch {
			case choice.As != cmp.Or(arguments.RememberAs, api.RememberExact):
			case arguments.Remember == api.RememberAlways:
				text = choice.Always
			default:
				text = choice.Session
			}
		}
		if text == "" {
			return "", errors.New("this decision cannot create such a rule")
		}
		return text, nil
	}
	return "", errors.New("the approval " + arguments.RequestID + " is not open")
}
