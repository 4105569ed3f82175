package mcptools_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/mcptools"
)

// over is a client that writes lines to a server.
type over struct {
	*testing.T
	to      io.WriteCloser
	replies *bufio.Reader
	served  chan error
}

func (s *scene) over() *over {
	s.Helper()
	server := mcptools.NewServer(mcptools.Options{
		Client: s.service.Connect(), For: mcptools.ForAgents, SessionID: "work", AgentID: "coder",
	})
	stdin, to := io.Pipe()
	from, stdout := io.Pipe()
	o := &over{T: s.T, to: to, replies: bufio.NewReader(from), served: make(chan error, 1)}
	go func() { o.served <- server.Run(s.Context(), mcptools.OverLines(stdin, stdout)) }()
	o.Cleanup(func() { _, _ = to.Close(), from.Close() })
	o.write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
	o.read()
	o.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return o
}

func (o *over) write(line string) {
	o.Helper()
	_, err := io.WriteString(o.to, line+"\n")
	require.NoError(o, err)
}

func (o *over) read() string {
	o.Helper()
	line, err := o.replies.ReadString('\n')
	require.NoError(o, err)
	return strings.TrimSpace(line)
}

// A program that checks the lines before the server may read the first of two members, and the server
// the second.
func TestAMemberGivenTwiceIsRefusedOverLines(t *testing.T) {
	s := newScene(t)
	o := s.over()
	const call = `"method":"tools/call","params":{"name":"check_decision","arguments":{"run_id":"x"}}`
	for line, id := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"permission_prompt","arguments":{"tool_name":"Bash","input":{"command":"ls","command":"rm"}}}}`: "7",
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"permission_prompt","arguments":{},"arguments":{"tool_name":"Bash","input":{}}}}`:             `"a"`,
		`{"jsonrpc":"2.0","id":8,"params":{"name":"check_decision","arguments":{}},` + call + `}`:                                                                       "8",
		`{"jsonrpc":"2.0","id":9,"\u0069d":10,` + call + `}`:                                                                                                            "null",
		`[{"jsonrpc":"2.0","id":9,"id":9,` + call + `}]`:                                                                                                                "null",
	} {
		o.write(line)
		require.JSONEq(t, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32600,"message":"a member of the message is given twice"}}`, o.read(), line)
	}
	s.nothingPending()
	o.write("\r\n \r\n" + `{"jsonrpc":"2.0","id":11,"method":"ping"}`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":11,"result":{}}`, o.read(), "it goes on")
	// Two lines could be one message that no line shows whole.
	o.write(`{"jsonrpc":"2.0","id":12,"method":"ping","params":{"a":1,` + "\n" + `"a":2}}`)
	require.Error(t, <-o.served)
}
