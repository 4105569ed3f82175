package mcptools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools/tasks"
)

// For says whom a server's tools are for. An agent must not be offered the tools of
// people: it would decide its own calls.
type For string

// The audiences. Both is for trying things out.
const (
	ForAgents For = "agents"
	ForPeople For = "people"
	ForBoth   For = "both"
)

// Options are what a server is made from.
type Options struct {
	Client *client.Client
	For    For
	// AgentID names the agent to the people who decide.
	AgentID string
	// SessionID is the session of all calls. When it is empty each has one of its own, and
	// permission_prompt denies: the ids of two agents' calls could be the same.
	SessionID string
	// Principal is who calls: keys without a session are that one's, and so is what is signed.
	Principal string
	// ExpiresAfter is how long there is to decide; as long as it takes when 0.
	ExpiresAfter time.Duration
	// ExcludeRequester has every approval be allowed by somebody else than who asks.
	ExcludeRequester bool
	// Patience is that of [ask.Asker].
	Patience time.Duration
	// Version is the program's.
	Version string
	// Leaving reports whether the process ends or the connection is gone. Then calls that
	// are cut short stay open, so that asking again finds them; otherwise the client has
	// cancelled them, and they are withdrawn.
	Leaving func() bool
	// Signer signs ids of tasks and the states of calls. Without one a call is held until it is
	// decided or its patience ends, whatever else the client could do.
	Signer Signer
	// MayDecide reports whether the person at the client may decide what the client asks for;
	// never when it is nil. The door checks each decision besides.
	MayDecide func(ctx context.Context) bool
	// NowMs is the clock; it must be set with a Signer.
	NowMs func() int64
	// Extend adds tools that wait like those of this package; nil for none.
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
		// What is offered depends on who calls: nobody on the way may keep it for others.
		SetCacheable: func(_ context.Context, _ mcp.Request, result *mcp.Cacheable) { result.CacheScope = "private" },
	})
	t := &tools{Options: options, asker: ask.Asker{Client: options.Client, AgentID: options.AgentID, Patience: options.Patience}}
	t.waits = &Waits{options: &t.Options, readers: map[string]Reader{}}
	if parks {
		if err := tasks.Serve(server, t.waits); err != nil {
			panic(err) // the SDK has methods of these names by now
		}
		server.AddReceivingMiddleware(withoutContent)
	}
	if options.For != ForPeople {
		t.addAgents(server)
	}
	if options.For != ForAgents {
		t.addPeople(server)
	}
	if options.Extend != nil {
		options.Extend(server, t.waits)
	}
	return server
}

func instructions(audience For) string {
	if audience == ForPeople {
		return "Approvals and questions that agents wait with. Decide only what the person you work for told you to decide."
	}
	return "Ask a person before doing what needs approval. A pending answer is no permission: call check_decision until it is decided."
}

// tools are the handlers.
type tools struct {
	Options
	asker ask.Asker
	waits *Waits
}

// add offers one tool. Its arguments are decoded into In: a member that the schema does not
// name is refused, so that a misspelt one is never lost.
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

// decode reads a tool's arguments. Absent ones count as {}.
func decode(text []byte, into any) error {
	if len(text) == 0 {
		text = []byte("{}")
	}
	if err := json.Unmarshal(text, into, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	return nil
}

// success is a document, as text and as structured content.
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

// failure tells the model what went wrong.
func failure(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: explain(err)}}}
}

// explain returns an error with what was refused in it, and what had been decided before.
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

// pointer returns nil for the zero value.
func pointer[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// why joins what a person wrote with a decision.
func why(resolution api.Resolution) string {
	if resolution.Justification != "" && resolution.Reason != "" && resolution.Justification != resolution.Reason {
		return resolution.Reason + "; " + resolution.Justification
	}
	return resolution.Reason + resolution.Justification
}
