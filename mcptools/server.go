package mcptools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools/tasks"
)

// For is the audience of a server's tools. Do not offer an agent the tools for people: it could
// decide its own calls.
type For string

// The audiences. Both is for experiments.
const (
	ForAgents For = "agents"
	ForPeople For = "people"
	ForBoth   For = "both"
)

// Options configure a server.
type Options struct {
	Client *client.Client
	For    For
	// AgentID is the agent's name for the people who decide.
	AgentID string
	// SessionID is the session of all calls. When empty, each call gets its own session, and
	// permission_prompt denies, because call ids of two agents could collide.
	SessionID string
	// Session labels the sessions of the calls; nil for no label and origin.
	Session *api.SessionAbout
	// Directory is where the agent was started; empty if unknown. Rules that are remembered for its approvals
	// apply there only.
	Directory string
	// Principal is the caller. Keys without a session, and signatures, are bound to it.
	Principal string
	// ExpiresAfter is the time limit for a decision; 0 for none.
	ExpiresAfter time.Duration
	// ExcludeRequester means that only someone other than the requester may allow an approval.
	ExcludeRequester bool
	// Escalation says who is notified of the requests, and when; nil for the service's default.
	Escalation *api.Escalation
	// Patience is the Patience of [ask.Asker].
	Patience time.Duration
	// Version is the version of the program.
	Version string
	// Leaving reports whether the process ends or the connection is lost. Interrupted calls then
	// stay open so that they can be asked again. Otherwise the client cancelled them, and they are
	// withdrawn.
	Leaving func() bool
	// Signer signs task ids and call states. Without one, a call is held until it is decided or
	// Patience ends.
	Signer Signer
	// MayDecide reports whether the person at the client may decide the client's own requests; nil
	// means never. The service checks each decision as well.
	MayDecide func(ctx context.Context) bool
	// Link returns the address at which a person decides a request in a browser, "" if there is none. A
	// client that opens links is handed it for a request without a form. Nil for no links.
	Link func(handle string) string
	// NowMs is the clock. It is required with a Signer.
	NowMs func() int64
	// Extend adds tools that wait in the same ways; nil for none.
	Extend func(server *mcp.Server, waits *Waits)
}

// NewServer returns a server with the tools of one audience.
func NewServer(options Options) *mcp.Server {
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	parks := options.Signer != nil && options.For != ForPeople
	if parks {
		tasks.Offer(capabilities)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "holdpoint", Title: "holdpoint", Version: options.Version}, &mcp.ServerOptions{
		Capabilities: capabilities, Instructions: instructions(options.For),
		// The list depends on the caller, so shared caches must not keep it.
		SetCacheable: func(_ context.Context, _ mcp.Request, result *mcp.Cacheable) { result.CacheScope = "private" },
	})
	t := &tools{Options: options, asker: ask.Asker{Client: options.Client, AgentID: options.AgentID, Session: options.Session, Escalation: options.Escalation, Patience: options.Patience, NowMs: options.NowMs}}
	t.waits = &Waits{options: &t.Options, readers: map[string]Reader{}}
	if parks {
		if err := tasks.Serve(server, t.waits); err != nil {
			panic(err) // the SDK now has methods of these names
		}
		server.AddReceivingMiddleware(withoutContent)
		server.AddSendingMiddleware(keepAnswers)
	}
	if options.For != ForPeople {
		t.addAgents(server)
	}
	if options.For != ForAgents {
		t.addPeople(server)
	}
	if options.Extend == nil {
		server.AddReceivingMiddleware(onlyDeclared)
	} else {
		options.Extend(server, t.waits)
	}
	return server
}

// onlyDeclared refuses the methods of capabilities that the server does not declare. The library answers
// them with empty lists.
func onlyDeclared(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		for _, capability := range []string{"prompts/", "resources/", "completion/", "logging/"} {
			if strings.HasPrefix(method, capability) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", method)}
			}
		}
		return next(ctx, method, request)
	}
}

func instructions(audience For) string {
	if audience == ForPeople {
		return "Approvals and questions that agents wait with. Decide only what the person you work for told you to decide."
	}
	return "Ask a person before doing what needs approval. A pending answer is not a permission: call check_decision until it is decided."
}

// tools are the handlers.
type tools struct {
	Options
	asker ask.Asker
	waits *Waits
	// reached says that the service has answered a call, so its URL is right.
	reached atomic.Bool
}

// add adds one tool. Its arguments are decoded into In. Members that the schema does not name are
// refused, so a misspelt member is not ignored silently.
func add[In any](server *mcp.Server, tool *mcp.Tool, schema string, handle func(context.Context, In) (any, error)) {
	tool.InputSchema = jsontext.Value(schema)
	server.AddTool(tool, func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments In
		if err := decode(request.Params.Arguments, &arguments); err != nil {
			return failure(err), nil
		}
		result, err := handle(ctx, arguments)
		if err != nil {
			return failure(err), nil
		}
		return success(result)
	})
}

// decode decodes a tool's arguments. Absent arguments count as {}.
func decode(text []byte, into any) error {
	if len(text) == 0 {
		text = []byte("{}")
	}
	if err := json.Unmarshal(text, into, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	return nil
}

// success returns a document as text and as structured content.
func success(document any) (*mcp.CallToolResult, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(text)}},
		StructuredContent: jsontext.Value(text),
	}, nil
}

// failure returns an error as a tool result.
func failure(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: explain(err)}}}
}

// explain returns an error's text with its faults and the earlier decision.
func explain(err error) string {
	text := err.Error()
	var refused *client.Error
	switch {
	case !errors.As(err, &refused):
		if errors.Is(err, client.ErrUnavailable) {
			return "the holdpoint service does not answer: " + text
		}
		return text
	case refused.Recorded != nil && !strings.Contains(text, refused.Recorded.String()):
		text += fmt.Sprintf(" (%s was %s by %s)", refused.Recorded.RequestID, refused.Recorded.Outcome, refused.Recorded.ResolvedBy)
	}
	for _, fault := range refused.Faults {
		if !strings.Contains(text, fault.Detail) {
			text += "; " + strings.TrimSpace(fault.Pointer+" "+fault.Detail)
		}
	}
	return text
}

// pointer returns a pointer to the value, nil for the zero value.
func pointer[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// why joins the texts that a person wrote with a decision.
func why(resolution api.Resolution) string {
	if resolution.Justification != "" && resolution.Reason != "" && resolution.Justification != resolution.Reason {
		return resolution.Reason + "; " + resolution.Justification
	}
	return resolution.Reason + resolution.Justification
}
