//go:build unix && agents

package mcpsuite

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/mcptools/tasks"
)

// fixtures are the tools that the suite's scenarios say a server must have. Those that become
// tasks are runs of the service that the suite calls: their worker is worker.
type fixtures struct {
	*mcp.Server
	waits  *mcptools.Waits
	worker func() *client.Client
}

func (f *fixtures) tool(name, schema string, handle mcp.ToolHandler) {
	f.AddTool(&mcp.Tool{Name: name, Description: "What the suite asks for.", InputSchema: jsontext.Value(schema)}, handle)
}

const anything = `{"type":"object"}`

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// with offers a tool that returns the same always.
func (f *fixtures) with(name string, content ...mcp.Content) {
	f.tool(name, anything, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: content}, nil
	})
}

// simple adds the tools that answer at once.
func (f *fixtures) simple() {
	pixel := []byte("\x89PNG\r\n\x1a\n")
	resource := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
	}}
	f.AddResource(&mcp.Resource{URI: "test://static-text", Name: "text", MIMEType: "text/plain"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://static-text", MIMEType: "text/plain", Text: "text"}}}, nil
	})
	f.with("test_simple_text", &mcp.TextContent{Text: "This is a simple text response for testing."})
	f.with("test_image_content", &mcp.ImageContent{Data: pixel, MIMEType: "image/png"})
	f.with("test_audio_content", &mcp.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"})
	f.with("test_embedded_resource", resource)
	f.with("test_multiple_content_types", &mcp.TextContent{Text: "Multiple content types test:"}, &mcp.ImageContent{Data: pixel, MIMEType: "image/png"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`}})
	f.tool("test_error_handling", anything, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result := said("This tool intentionally returns an error for testing")
		result.IsError = true
		return result, nil
	})
	f.tool("test_tool_with_progress", anything, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := call.Params.GetProgressToken(); token != nil {
			for _, progress := range []float64{0, 50, 100} {
				if err := call.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: progress, Total: 100}); err != nil {
					return nil, err
				}
			}
		}
		return said("done"), nil
	})
	f.tool("greet", `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`, func(_ context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments struct {
			Name string `json:"name"`
		}
		err := json.Unmarshal(call.Params.Arguments, &arguments)
		return said("Hello, " + arguments.Name + "!"), err
	})
}

// ask returns the form of a question.
func ask(message, member, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: jsontext.Value(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, member, kind, member))}
}

// answered returns the value that the person entered in a form.
func answered(responses mcp.InputResponseMap, key, member string) (any, bool) {
	answer, is := responses[key].(*mcp.ElicitResult)
	if !is || answer.Action != "accept" {
		return nil, false
	}
	value, has := answer.Content[member]
	return value, has
}

func (f *fixtures) asks(name string, forms mcp.InputRequestMap, done func(mcp.InputResponseMap) (string, bool)) {
	f.tool(name, anything, func(_ context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if text, is := done(call.Params.InputResponses); is {
			return said(text), nil
		}
		return &mcp.CallToolResult{InputRequests: forms}, nil
	})
}

// rounds is the state that a tool of several rounds carries from one to the next.
type rounds struct {
	Round int `json:"round"`
}

// inRounds offers a tool that asks one form after the other, and signs where it stands.
func (f *fixtures) inRounds(name, last string, forms ...mcp.InputRequestMap) {
	f.tool(name, anything, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var at rounds
		again, err := f.waits.ReadState(ctx, call, &at)
		if err != nil {
			return nil, err
		}
		if again && len(call.Params.InputResponses) >= len(forms[at.Round]) {
			at.Round++
		}
		if at.Round == len(forms) {
			return said(last), nil
		}
		state, err := f.waits.State(call, at)
		return &mcp.CallToolResult{InputRequests: forms[at.Round], RequestState: state}, err
	})
}

//nolint:staticcheck // the suite asks for what is deprecated, too
func (f *fixtures) forms() {
	name := ask("What is your name?", "name", "string")
	capital := &mcp.CreateMessageParams{MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "What is the capital of France?"}}}}
	confirm := mcp.InputRequestMap{"confirm": ask("Please confirm", "ok", "boolean")}
	f.asks("test_input_required_result_elicitation", mcp.InputRequestMap{"user_name": name}, func(responses mcp.InputResponseMap) (string, bool) {
		text, is := answered(responses, "user_name", "name")
		return fmt.Sprintf("Hello, %v!", text), is
	})
	f.asks("test_input_required_result_sampling", mcp.InputRequestMap{"capital_question": capital}, func(responses mcp.InputResponseMap) (string, bool) {
		_, is := responses["capital_question"].(*mcp.CreateMessageWithToolsResult)
		return "as the model says", is
	})
	f.asks("test_input_required_result_list_roots", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}, func(responses mcp.InputResponseMap) (string, bool) {
		roots, is := responses["client_roots"].(*mcp.ListRootsResult)
		if !is {
			return "", false
		}
		return fmt.Sprintf("%d roots", len(roots.Roots)), true
	})
	f.inRounds("test_input_required_result_request_state", "state-ok", confirm)
	f.inRounds("test_input_required_result_tampered_state", "state-ok", confirm)
	f.inRounds("test_input_required_result_multiple_inputs", "done", mcp.InputRequestMap{"user_name": name, "greeting": capital, "client_roots": &mcp.ListRootsParams{}})
	f.inRounds("test_input_required_result_multi_round", "done",
		mcp.InputRequestMap{"step1": ask("Step 1: What is your name?", "name", "string")},
		mcp.InputRequestMap{"step2": ask("Step 2: What is your favorite color?", "color", "string")})
	f.tool("test_input_required_result_capabilities", anything, func(_ context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		forms := mcp.InputRequestMap{}
		if capabilities := call.ClientCapabilities(); capabilities.Elicitation != nil {
			forms["user_name"] = name
		} else if capabilities.Sampling != nil {
			forms["capital_question"] = capital
		}
		return &mcp.CallToolResult{InputRequests: forms}, nil
	})
	f.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt"}, func(_ context.Context, call *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if text, is := answered(call.Params.InputResponses, "user_context", "context"); is {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprint(text)}}}}, nil
		}
		return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": ask("What context should the prompt use?", "context", "string")}}, nil
	})
}

// parks adds a tool whose calls become tasks. start creates its run.
func (f *fixtures) parks(name, schema string, start func(ctx context.Context, call *mcp.CallToolRequest) (*api.RunView, error)) {
	f.waits.Register(name, f.read)
	f.tool(name, schema, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		run, err := start(ctx, call)
		if err != nil {
			return nil, err
		}
		return nil, f.waits.Park(ctx, call, name, mcptools.Reading{Run: run})
	})
}

// read returns the state of a run of the suite, and ends the run once its requests are decided, as
// its worker would.
func (f *fixtures) read(ctx context.Context, runID string) (mcptools.Reading, error) {
	run, err := f.worker().GetRun(ctx, runID)
	if err != nil {
		return mcptools.Reading{}, err
	}
	if run.Status == api.StatusRunning && run.Lease == nil {
		claim, err := f.worker().ClaimRun(ctx, runID, api.ClaimOptions{WorkerID: "suite"})
		if err != nil {
			return mcptools.Reading{}, err
		}
		values := make([]string, len(claim.Resume.Questions))
		for i, question := range claim.Resume.Questions {
			values[i] = string(question.Resolution.Value)
		}
		if err := f.complete(ctx, runID, claim.Lease.Fence, said(fmt.Sprint(values))); err != nil {
			return mcptools.Reading{}, err
		}
		return f.read(ctx, runID)
	}
	reading := mcptools.Reading{Run: run}
	if run.Status == api.StatusCompleted {
		reading.Result = &mcp.CallToolResult{}
		return reading, json.Unmarshal(run.Output, reading.Result)
	}
	return reading, nil
}

func (f *fixtures) complete(ctx context.Context, runID, fence string, result *mcp.CallToolResult) error {
	output, err := json.Marshal(result)
	if err == nil {
		_, err = f.worker().CompleteRun(ctx, runID, fence, output)
	}
	return err
}

// work creates a run that a worker holds for a while and then ends.
func (f *fixtures) work(ctx context.Context, seconds float64, end func(ctx context.Context, runID, fence string) error) (*api.RunView, error) {
	made, err := f.worker().CreateRun(ctx, client.CreateRunParams{AgentID: "suite", Claim: &api.ClaimOptions{WorkerID: "suite", LeaseMs: 120_000}})
	if err != nil {
		return nil, err
	}
	time.AfterFunc(time.Duration(seconds*float64(time.Second)), func() {
		// The run may be cancelled, and the service gone.
		_ = end(context.WithoutCancel(ctx), made.Claim.Run.RunID, made.Claim.Lease.Fence)
	})
	return &made.Claim.Run, nil
}

// questions creates a run that waits for typed answers.
func (f *fixtures) questions(ctx context.Context, asked ...api.UserQuestionRequest) (*api.RunView, error) {
	made, err := f.worker().CreateRun(ctx, client.CreateRunParams{AgentID: "suite", Suspend: &api.Suspension{SuspensionID: "asked", Questions: asked}})
	if err != nil {
		return nil, err
	}
	return f.worker().GetRun(ctx, made.RunID)
}

func typed(id, message, member, kind string) api.UserQuestionRequest {
	return api.UserQuestionRequest{
		ID: id, ToolCallID: id, Kind: "suite", Payload: api.JSON(fmt.Sprintf(`{"message":%q}`, message)),
		ResponseSchema: api.JSON(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, member, kind, member)),
	}
}

func (f *fixtures) tasks() {
	f.waits.Register("slow_compute", f.read)
	f.tool("slow_compute", `{"type":"object","properties":{"seconds":{"type":"number"},"label":{"type":"string"}}}`, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments struct {
			Seconds float64 `json:"seconds"`
			Label   string  `json:"label"`
		}
		if err := json.Unmarshal(call.Params.Arguments, &arguments); err != nil {
			return nil, err
		}
		result := said("computed " + arguments.Label)
		if arguments.Seconds == 0 && !tasks.Declared(call) {
			return result, nil
		}
		if !tasks.Declared(call) {
			return nil, tasks.Required()
		}
		run, err := f.work(ctx, arguments.Seconds, func(ctx context.Context, runID, fence string) error { return f.complete(ctx, runID, fence, result) })
		if err != nil {
			return nil, err
		}
		return nil, f.waits.Park(ctx, call, "slow_compute", mcptools.Reading{Run: run})
	})
	f.parks("failing_job", anything, func(ctx context.Context, call *mcp.CallToolRequest) (*api.RunView, error) {
		if !tasks.Declared(call) {
			return nil, tasks.Required()
		}
		result := said("the job has failed")
		result.IsError = true
		return f.work(ctx, 1, func(ctx context.Context, runID, fence string) error { return f.complete(ctx, runID, fence, result) })
	})
	f.parks("protocol_error_job", anything, func(ctx context.Context, _ *mcp.CallToolRequest) (*api.RunView, error) {
		return f.work(ctx, 0.2, func(ctx context.Context, runID, fence string) error {
			_, err := f.worker().FailRun(ctx, runID, fence, "the job broke")
			return err
		})
	})
	f.parks("confirm_delete", anything, func(ctx context.Context, _ *mcp.CallToolRequest) (*api.RunView, error) {
		return f.questions(ctx, typed("confirm", "Delete it?", "confirm", "boolean"))
	})
	f.parks("multi_input", anything, func(ctx context.Context, _ *mcp.CallToolRequest) (*api.RunView, error) {
		return f.questions(ctx, typed("name", "Which name?", "name", "string"), typed("confirm", "Go on?", "confirm", "boolean"))
	})
	f.waits.Register("test_tool_with_task", f.read)
	f.tool("test_tool_with_task", anything, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		name, is := answered(call.Params.InputResponses, "user_name", "name")
		var at rounds
		if again, err := f.waits.ReadState(ctx, call, &at); err != nil || !again || !is {
			if err != nil {
				return nil, err
			}
			state, err := f.waits.State(call, at)
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"user_name": ask("What is your name?", "name", "string")}, RequestState: state}, err
		}
		run, err := f.work(ctx, 0.2, func(ctx context.Context, runID, fence string) error {
			return f.complete(ctx, runID, fence, said(fmt.Sprintf("Hello, %v!", name)))
		})
		if err != nil {
			return nil, err
		}
		return nil, f.waits.Park(ctx, call, "test_tool_with_task", mcptools.Reading{Run: run})
	})
}
