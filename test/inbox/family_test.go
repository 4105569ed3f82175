//go:build unix && browser

package inbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// family shows which child session asks: in the row, in the detail, and on the parent's page.
func (f *flows) family(t *testing.T) {
	p := f.open(t, "/")
	_, err := f.client.CreateSession(t.Context(), client.CreateSessionParams{SessionID: "parent"})
	require.NoError(t, err)
	_, err = f.client.CreateSession(t.Context(), client.CreateSessionParams{SessionID: "child", ParentSessionID: "parent"})
	require.NoError(t, err)
	run := f.create(t, client.CreateRunParams{SessionID: "child", Input: "go"})
	claim, err := f.client.ClaimRun(t.Context(), run.RunID, api.ClaimOptions{WorkerID: "w"})
	require.NoError(t, err)
	_, err = f.client.AskParent(t.Context(), run.RunID, claim.Lease.Fence, api.UserQuestionRequest{
		ID: "family", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "x", Header: "Of a child", Question: "Which branch?"}},
	}, client.AskParentOptions{})
	require.NoError(t, err)
	const named = "Question: Of a child: Which branch?, asked by child"
	const childApproval = "Run a command with child-tool: make, asked by child-2"
	const row = `[...document.querySelectorAll(".list > li")].filter(one => one.ariaLabel.includes("Of a child"))`
	for range 2 { // as it arrives, and from a list
		p.until("the row names the child", func() bool {
			return p.read(row+`.map(one => one.ariaLabel).join(" | ")`) == named
		})
		item := p.prompt("Of a child")
		p.until("the detail names it", func() bool { return len(p.all(item, "link", "asked by child")) == 1 })
		require.Contains(t, p.read(row+`[0].textContent`), "asked by child")
		p.load("/")
	}
	f.shoot(t, p, "family")

	p.load("/")
	approval := f.askIn(t, "child-2", "parent", one(approval("child-tool", `{"command":"make"}`)))
	for range 2 {
		p.until("the row of the approval names the child", func() bool {
			return p.read(`[...document.querySelectorAll(".list > li")].map(one => one.ariaLabel).find(one => one.includes("make")) ?? ""`) == childApproval
		})
		require.Len(t, p.all(p.prompt("child-tool"), "link", "asked by child-2"), 1)
		p.load("/")
	}
	p.load("/sessions/child-2")
	p.until("its own page does not", func() bool { return strings.Contains(p.find("list", "Waiting now").text(), "make") })
	require.NotContains(t, p.find("list", "Waiting now").text(), "asked by")
	p.load("/sessions/parent")
	list := p.find("list", "Waiting now")
	p.until("both name their sessions", func() bool {
		text := strings.Join(strings.Fields(list.text()), " ")
		return strings.Contains(text, "Which branch? asked by child") && strings.Contains(text, "make asked by child-2")
	})
	p.accessible("the page of a session")
	p.load("/?prompt=" + approval.PendingApprovals[0].Handle)
	p.prompt("child-tool").find("button", "Allow").click()
	p.prompt("child-tool").status("Allowed by you")
	item := p.prompt("Of a child")
	item.find("button", "Cancel question").click()
	p.until("it says that the child gets an answer", func() bool { return strings.Contains(item.text(), "The agent gets a declined answer.") })
	require.Empty(t, p.all(item, "button", "End the run"))
	item.find("button", "Back").click()
	item.find("textbox", "Your answer").write("main")
	item.find("button", "Answer").click()
	item.status("Answered by you")
}

// askIn is ask in a session with a parent.
func (f *flows) askIn(t *testing.T, session, parent string, suspension api.Suspension) *client.CreatedRun {
	t.Helper()
	_, err := f.client.CreateSession(t.Context(), client.CreateSessionParams{SessionID: session, ParentSessionID: parent})
	require.NoError(t, err)
	return f.create(t, client.CreateRunParams{SessionID: session, Input: "go", Suspend: &suspension})
}
