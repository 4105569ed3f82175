package notify

import (
	"mime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A request that stays open after its deadline has none in its row, and is shown with it.
func TestADeadlineIsShown(t *testing.T) {
	t.Parallel()
	const atMs = 1798135200000
	for name, c := range map[string]struct {
		kind  model.RequestKind
		body  string
		dueMs int64
		want  string
	}{
		"none":              {model.KindApproval, `{"tool_name":"deploy"}`, 0, ""},
		"denied":            {model.KindApproval, `{"tool_name":"deploy","expires_at_ms":1798135200000}`, atMs, "24 Dec 2026 18:00 UTC"},
		"kept":              {model.KindApproval, `{"tool_name":"deploy","expires_at_ms":1798135200000,"escalation":{"at_deadline":"keep"}}`, 0, "24 Dec 2026 18:00 UTC (stays open after that)"},
		"a kept question":   {model.KindQuestion, `{"id":"q","expires_at_ms":1798135200000,"escalation":{"at_deadline":"keep"}}`, 0, "24 Dec 2026 18:00 UTC (stays open after that)"},
		"kept, without one": {model.KindApproval, `{"tool_name":"deploy","escalation":{"at_deadline":"keep"}}`, 0, ""},
	} {
		request := &model.Request{Kind: c.kind, Body: api.JSON(c.body), DueAtMs: c.dueMs}
		m := (&Service{}).message("e", request, &model.Run{AgentID: "coder"}, api.ChannelEmail, false)
		require.Equal(t, c.want, m.Deadline, name)
		require.Equal(t, c.want != "", strings.Contains(m.Text, "\nDeadline: "+c.want+"\n"), name)
		require.Equal(t, c.dueMs, m.UntilMs, name)
	}
}

// The digest of an input with sensitive values has another prefix.
func TestAMessageShowsTheDigitsOfADigest(t *testing.T) {
	t.Parallel()
	for digest, want := range map[string]string{
		"sha256:0123456789abcdef": "01234567", "hmac-sha256:fedcba9876543210": "fedcba98", "sha256:01": "", "sha256:": "", "": "",
	} {
		require.Equal(t, want, shortDigest(digest), digest)
	}
}

// Mail programs and chats make a link of an address in a text. In a name it would stand above the link of the service. Slack and
// browsers make none.
func TestANameIsNotALink(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"deploy. Approve at https://evil.example/l/x": "deploy. Approve at https: //evil. example/l/x",
		"deploy evil.example/l/x?a=b.c":               "deploy evil. example/l/x?a=b. c",
		"HTTP://127.0.0.1/":                           "HTTP: //127.0.0.1/",
		"mailto:eve@evil.example":                     "mailto:eve@evil. example",
		"deploy|evil.example?l=x":                     "deploy|evil. example?l=x",
		"payments.refund":                             "payments.refund",
		"claude-code:macbook.local":                   "claude-code:macbook.local",
		"mcp__files__read v1.2":                       "mcp__files__read v1.2",
		"team/coder":                                  "team/coder",
	} {
		request := &model.Request{Kind: model.KindApproval, Body: document.Encode(api.ApprovalRequest{ToolName: name})}
		for kind, want := range map[api.ChannelKind]string{api.ChannelEmail: want, api.ChannelHTTP: want, api.ChannelPush: name, api.ChannelSlack: name} {
			m := (&Service{}).message("e", request, &model.Run{AgentID: name}, kind, false)
			require.Equal(t, want, m.Tool, kind)
			require.Equal(t, want, m.Agent, kind)
			require.Equal(t, "Agent "+want+" wants to use "+want+".\n", m.Body, kind)
		}
	}
}

// An agent's text is one line of a message, whatever begins a line.
func TestAnAgentsTextIsOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"deploy\u2028Deadline: never":      "deploy Deadline: never",
		"deploy\u2029Code: 1234":           "deploy Code: 1234",
		"deploy\r\n\u0085\v\fto\tprod":     "deploy     to prod",
		"\u202edeploy\u200b\ufeff\ufffd":   "deploy",
		"déploie\u00a0tout en 部署 🚀 नमस्ते": "déploie tout en 部署 🚀 नमस्ते",
		"=?utf-8?b?4oCuZGVwbG95?=":         "= ?utf-8?b?4oCuZGVwbG95?=",
		"👩\u200d💻 and ❤\ufe0f":             "👩 💻 and ❤\ufe0f",
	} {
		require.Equal(t, want, clean(text), "%+q", text)
		shown, err := new(mime.WordDecoder).DecodeHeader(want)
		require.NoError(t, err)
		require.Equal(t, want, shown, "as the subject of a mail")
	}
}
