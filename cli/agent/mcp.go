package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// MCP serves the tools of the Model Context Protocol over stdin and stdout.
type MCP struct {
	console.Connection
	Asking
	For      mcptools.For `default:"agents" enum:"agents,people,both" placeholder:"WHO" help:"Tools to offer: agents (to ask), people (for assistants that decide), or both for trying it out (default ${default})."`
	Session  string       `name:"session-id" aliases:"session" from:"HOLDPOINT_SESSION" placeholder:"ID" help:"Session of all calls ($$HOLDPOINT_SESSION; default: Claude Code's session if it started this, or else a new one)."`
	Formless bool         `name:"no-elicitation" help:"Show the person at the client no form and no link, for a client that declares elicitation and shows neither: its calls wait for the inbox."`
	// Set by Claude Code.
	ClaudeSession string `hidden:"" from:"CLAUDE_CODE_SESSION_ID"`
}

// Help returns the text below the flags in --help.
func (c *MCP) Help() string {
	return `For coding agents and other MCP clients that start servers as a command: see docs/agents.md.

Tools for agents: permission_prompt, request_approval, ask_user, check_decision. For people: list_pending, resolve, answer, cancel.`
}

// Run serves until stdin ends or a stop signal arrives.
func (c *MCP) Run(ctx context.Context, terminal *console.Console) error {
	escalation, err := c.check()
	if err != nil {
		return err
	}
	if c.Session == "" {
		// A process without a session id gets a new session, so that calls of two agents
		// with the same ids stay apart.
		c.Session = sessionOf(c.Agent, cmp.Or(c.ClaudeSession, rand.Text()))
	}
	if !refusal.ValidID(c.Session) {
		return console.Usage("--session-id must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
	}
	directory, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("the working directory: %w", err)
	}
	c.Via, c.Retry = "mcp", c.retry()
	return c.Call(func(opened *client.Client) error {
		serving, stop := console.UntilSignal(ctx)
		defer stop()
		input := &watched{Reader: terminal.Stdin}
		options := mcptools.Options{
			Client: opened, For: c.For, AgentID: c.Agent, SessionID: c.Session, Session: c.About(directory), Directory: directory,
			ExpiresAfter: console.Limit(c.Timeout), ExcludeRequester: c.ExcludeRequester, Escalation: escalation, Patience: c.Outage, Version: console.Version(),
			Leaving: func() bool { return input.ended.Load() || serving.Err() != nil },
			Signer:  mcptools.NewKeySigner(c.Key("holdpoint mcp")), MayDecide: mayDecide(opened), Link: c.Link,
			NowMs: func() int64 { return time.Now().UnixMilli() },
		}
		if c.Formless {
			options.MayDecide, options.Link = nil, nil
		}
		err := mcptools.NewServer(options).Run(serving, mcptools.Exact(mcptools.OverLines(input, unclosed{terminal.Stdout})))
		if ended, ok := errors.AsType[console.SignalError](context.Cause(serving)); ok {
			return console.ExitWith(console.SignalCode(ended.Signal))
		}
		if err != nil && !input.ended.Load() {
			return fmt.Errorf("serve MCP: %w", err)
		}
		return nil
	})
}

// mayDecide asks the service whether the token's role may decide, until it gets an answer.
func mayDecide(opened *client.Client) func(context.Context) bool {
	var may atomic.Pointer[bool]
	return func(ctx context.Context) bool {
		if known := may.Load(); known != nil {
			return *known
		}
		me, err := opened.Me(ctx)
		if err != nil {
			return false
		}
		decides := auth.RoleMay(me.Role, auth.Decide)
		may.Store(&decides)
		return decides
	}
}

// watched records that its reader has ended.
type watched struct {
	io.Reader
	ended atomic.Bool
}

// Read records the end before the caller sees it.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil {
		w.ended.Store(true)
	}
	return n, err
}

// Close does not interrupt a blocked Read, because the process is about to end.
func (w *watched) Close() error { return nil }

// unclosed is a stream of the process, which must stay open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
