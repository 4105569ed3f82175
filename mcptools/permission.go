package mcptools

import (
	"bytes"
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
)

const permissionSchema = `{
  "type": "object",
  "required": ["tool_name", "input"],
  "properties": {
    "tool_name": {"type": "string", "description": "The tool that wants to run."},
    "input": {"type": "object", "description": "Its input."},
    "tool_use_id": {"type": "string", "description": "The id of the call. Repeating the call with the same id gives the same decision until that was read."}
  }
}`

// permissionArguments ignores unknown members, which later versions of an agent may send.
type permissionArguments struct {
	ToolName  string   `json:"tool_name"`
	Input     api.JSON `json:"input"`
	ToolUseID string   `json:"tool_use_id"`
}

// Permission is the reply format of a coding agent's permission prompt tool.
type Permission struct {
	Behavior     api.Behavior `json:"behavior"`
	UpdatedInput api.JSON     `json:"updatedInput,omitzero"`
	Message      string       `json:"message,omitempty"`
	// Told is the answer to a question as text, for an agent that accepts no answer in its input.
	Told string `json:"-"`
}

// addPermissionPrompt adds the tool that a coding agent calls in place of its own terminal prompt.
// It answers only allow or deny; every error is a deny.
func (t *tools) addPermissionPrompt(server *mcp.Server) {
	server.AddTool(&mcp.Tool{
		Name: permissionPrompt, Title: "Permission prompt",
		Description: "Decides whether a tool call may run, by a person or a standing rule. For an agent's own permission system, not for a model.",
		InputSchema: api.JSON(permissionSchema),
	}, func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments permissionArguments
		if err := json.Unmarshal(request.Params.Arguments, &arguments); err != nil {
			return permitted(Permission{Behavior: api.BehaviorDeny, Message: "holdpoint could not read the permission request, so nothing was allowed: " + err.Error()})
		}
		return t.permit(ctx, request, arguments)
	})
}

// permitted returns the answer as text only, which is what coding agents read.
func permitted(answer Permission) (*mcp.CallToolResult, error) {
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil
}

func (t *tools) permit(ctx context.Context, request *mcp.CallToolRequest, arguments permissionArguments) (*mcp.CallToolResult, error) {
	if arguments.ToolName == "" || !bytes.HasPrefix(arguments.Input, []byte("{")) {
		return permitted(Permission{Behavior: api.BehaviorDeny, Message: "holdpoint got no tool_name or no input, so nothing was allowed"})
	}
	if t.SessionID == "" {
		return permitted(Permission{Behavior: api.BehaviorDeny, Message: "holdpoint was given no session, so nothing was allowed: put one into the server's address, /mcp?session=…"})
	}
	call, err := CallOf(ask.Call{
		SessionID: t.SessionID, Key: arguments.ToolUseID,
		Approval: &api.ApprovalRequest{
			ToolCallID: arguments.ToolUseID, ToolName: arguments.ToolName, Input: arguments.Input, ExpiresAfterMs: t.expiresAfterMs(),
			ExcludeRequester: t.ExcludeRequester, Directory: t.Directory,
		},
	}, "")
	if err != nil {
		return permitted(Permission{Behavior: api.BehaviorDeny, Message: "nothing was allowed: " + err.Error()})
	}
	return t.put(ctx, request, putting{wait: -1, call: &call})
}

// remedies say what the user of a refused agent can do.
var remedies = map[api.Code]string{
	api.CodeUnauthenticated: "set HOLDPOINT_TOKEN, where the agent runs, to a token of role agent",
	api.CodeInvalidToken:    "set HOLDPOINT_TOKEN, where the agent runs, to another token of role agent",
	api.CodeSessionNotFound: "this session began with another token: start a new one, or use that token",
}

// remedy returns advice about a refusal, to append to its text; "" for other errors.
func remedy(err error) string {
	if refused, ok := errors.AsType[*client.Error](err); ok && remedies[refused.Code] != "" {
		return "; " + remedies[refused.Code]
	}
	return ""
}

// PermissionOf returns the reply for a coding agent. Only an allowed call allows, and a question
// tool only with its answer.
func PermissionOf(decided *ask.Answer, err error) Permission {
	if err != nil {
		return Permission{Behavior: api.BehaviorDeny, Message: "holdpoint could not get a decision, so nothing was allowed: " + explain(err) + remedy(err)}
	}
	if decided.Question != nil && decided.Outcome == api.OutcomeAnswered {
		given := answersOf(decided)
		answered, err := withAnswers(decided.Question, given)
		if err != nil {
			return Permission{Behavior: api.BehaviorDeny, Message: "nothing was allowed: " + err.Error()}
		}
		return Permission{Behavior: api.BehaviorAllow, UpdatedInput: answered, Told: told(decided.Resolution.ResolvedBy, given)}
	}
	if input, _, allowed := decided.Allowed(); allowed {
		if !bytes.HasPrefix(bytes.TrimSpace(input), []byte("{")) {
			// An agent ignores such an edit, and runs the call as it was.
			return Permission{Behavior: api.BehaviorDeny, Message: "nothing was allowed: what was allowed is not an object, and so not the input of a tool"}
		}
		return Permission{Behavior: api.BehaviorAllow, UpdatedInput: input}
	}
	return Permission{Behavior: api.BehaviorDeny, Message: sentence(decided)}
}

// sentence explains why a call may not run.
func sentence(decided *ask.Answer) string {
	by := ""
	if name := decided.Resolution.ResolvedBy; name != "" {
		by = " by " + name
	}
	reason := ""
	if text := why(decided.Resolution); text != "" {
		reason = ": " + text
	}
	switch {
	case decided.Outcome == api.OutcomeDenied:
		if rule := decided.Resolution.Rule; rule != nil {
			return "Denied by the rule: " + rule.Text + reason
		}
		return "Denied" + by + reason
	case decided.Outcome == api.OutcomeExpired:
		return "Denied: nobody decided in time"
	case decided.Outcome == api.OutcomeDeclined:
		return "The question was declined" + by + reason
	case decided.Outcome == api.OutcomeCancelled:
		return "Withdrawn" + by + " before anybody decided, so it was not allowed" + reason
	case decided.Ended != "":
		return "The request was ended (" + string(decided.Ended) + "), so it was not allowed"
	case decided.Outcome == "":
		return "Nobody has decided yet, so it was not allowed"
	default:
		return "Not allowed (" + string(decided.Outcome) + ")" + by + reason
	}
}
