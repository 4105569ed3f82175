package overhttp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/mcptools/overhttp"
)

// answer is the reply to a call.
type answer struct {
	status int
	text   string
	err    error
}

// call calls a tool without arguments.
func (s *service) call(role api.Role, tool string) (a answer) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		r.Header.Set(header, value)
	}
	response, err := (&http.Client{Transport: withToken{s.secrets[role]}}).Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(text), err}
}

// A token that holds half of the calls gets no more, and the calls of another token succeed meanwhile.
func TestOneTokenLeavesHeldCallsToOthers(t *testing.T) {
	const most = 8
	began, finish := make(chan struct{}, most), make(chan struct{})
	tool := func(server *mcp.Server, name string, waits bool) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if waits {
				began <- struct{}{}
				<-finish
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "it was " + name}}}, nil
		})
	}
	s := serve(t, auth.Required, func(options *overhttp.Options) {
		options.MaxHeld = most
		options.Extend = func(server *mcp.Server, _ *mcptools.Waits) {
			tool(server, "held", true)
			tool(server, "quick", false)
		}
	})
	release := sync.OnceFunc(func() { close(finish) })
	t.Cleanup(release)
	succeeds := func(a answer, tool string) {
		t.Helper()
		require.NoError(t, a.err)
		require.Equal(t, http.StatusOK, a.status, a.text)
		require.Contains(t, a.text, "it was "+tool)
	}
	answers := make(chan answer, most)
	for range most / 2 {
		go func() { answers <- s.call(api.RoleAgent, "held") }()
		select {
		case <-began:
		case early := <-answers:
			t.Fatalf("the call was not held: %+v", early)
		}
	}
	refused := s.call(api.RoleAgent, "quick")
	require.NoError(t, refused.err)
	require.Equal(t, http.StatusTooManyRequests, refused.status, refused.text)
	require.Contains(t, refused.text, "too_many_calls")
	succeeds(s.call(api.RoleOperator, "quick"), "quick")
	release()
	for range most / 2 {
		succeeds(<-answers, "held")
	}
}
