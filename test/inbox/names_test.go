//go:build unix && browser

package inbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// names reads the pages of a run and of workers: they lead with what people know, and ids stand small next to it. The
// session has an active run and more queued ones than a page of the service.
func (f *flows) names(t *testing.T) {
	const session, agent = "0b54e4c2-7d6e-4f6b-9a51-1f2f3c4d5e6f", "coder"
	about := &api.SessionAbout{Label: "Nightly build", Origin: &api.SessionOrigin{Project: "shop"}}
	suspension := one(approval("bash", `{"command":"make nightly"}`))
	first, err := f.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: session, AgentID: agent, Input: "The one that runs.", Suspend: &suspension, Session: about})
	require.NoError(t, err)
	for range 100 {
		_, err := f.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: session, Input: "One that is queued."})
		require.NoError(t, err)
	}
	p := f.open(t, "/sessions/"+session)
	p.until("the input of the active run", func() bool {
		return p.read(`document.querySelector(".task")?.textContent ?? ""`) == "The one that runs."
	})

	whole := func() string { return p.read(`/[\w-]{27,}/.exec(document.querySelector("main").innerText)?.[0] ?? ""`) }
	p.load("/runs/" + first.RunID)
	p.find("heading", "Run of coder")
	p.find("link", "Nightly build")
	p.find("link", "Run a command")
	require.Len(t, p.all(nil, "button", "Copy"), 2, "of the run and of its session")
	require.Empty(t, whole(), "an id that says nothing")
	f.shoot(t, p, "run")
	p.copies(first.RunID)
	f.namesSession(t, p, first.PendingApprovals[0].Handle)

	_, err = f.client.ResolveRunApprovals(t.Context(), first.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: first.PendingApprovals[0].ID, Behavior: api.BehaviorAllow}}})
	require.NoError(t, err)
	_, err = f.client.ClaimRun(t.Context(), first.RunID, api.ClaimOptions{WorkerID: "w-1"})
	require.NoError(t, err)
	p.load("/workers")
	p.until("the lease and its session", func() bool {
		return strings.Contains(p.shown(), "coder") && strings.Contains(p.shown(), "w-1") && strings.Contains(p.shown(), "Nightly build")
	})
	require.Empty(t, whole())
	require.Empty(t, p.read(`performance.getEntriesByType("resource").map(one => new URL(one.name).pathname).filter(path => path.startsWith("/v1/sessions/")).join()`), "leases name their sessions")
	f.wellSet(t, p, "workers")
	p.load("/effects")
	p.until("effects", func() bool { return p.read(`document.querySelector("main :is(table, .empty)") ? "yes" : ""`) == "yes" })
	require.Empty(t, whole())
	f.shoot(t, p, "effects")
	_, err = f.client.EndSession(t.Context(), session, "")
	require.NoError(t, err)
}

// namesSession reads the name of the session where its request is open. However long it is, it does not move the command.
func (f *flows) namesSession(t *testing.T, p *page, handle string) {
	t.Helper()
	for _, width := range []int64{1280, 390} {
		place := map[int64]string{1280: ".meta", 390: ".crumbs"}[width]
		p.in("light", width, 844)
		p.load("/?prompt=" + handle)
		label := "document.querySelector(" + quoted(place+" .label") + ")"
		p.until("the name of the session", func() bool { return p.read(label+"?.checkVisibility() ? "+label+".innerText : ''") == "Nightly build" })
		require.Equal(t, "Nightly build", p.eval(label+".title"))
		require.Equal(t, "1", p.eval(`String(document.querySelectorAll("#detail .label").length)`))
		top := func() string {
			p.frame()
			return p.eval(`String(document.querySelector("pre.command").getBoundingClientRect().top)`)
		}
		short := top()
		p.eval("(" + label + `.textContent = "Nightly build of ".repeat(20), "")`)
		require.Equal(t, short, top(), "at %d pixels", width)
		require.Empty(t, p.eval(badlySet))
		p.eval("(" + label + `.remove(), "")`)
		require.Equal(t, short, top(), "without a name, at %d pixels", width)
	}
	if !f.phone {
		p.in("light", 1280, 900)
	} else {
		p.in("dark", 390, 844)
	}
}

// copies presses the first button that copies, where the browser forbids it, where it copies, and where it has no
// clipboard for a page without TLS.
func (p *page) copies(text string) {
	p.t.Helper()
	clipboard := func(value string) {
		p.eval(`globalThis.put = ""; Object.defineProperty(navigator, "clipboard", {configurable: true, value: ` + value + `}); ""`)
	}
	clipboard(`{writeText: () => Promise.reject(new Error("denied"))}`)
	p.all(nil, "button", "Copy")[0].click()
	clipboard(`{writeText: async text => { globalThis.put = text }}`)
	p.find("button", "The browser did not copy it").click()
	p.find("button", "Copied")
	require.Equal(p.t, text, p.read("globalThis.put"))
	clipboard(`undefined`)
	p.eval(`document.execCommand = command => {
		const event = new ClipboardEvent(command, {clipboardData: new DataTransfer(), cancelable: true});
		document.dispatchEvent(event);
		globalThis.put = event.clipboardData.getData("text/plain");
		return true;
	}; ""`)
	p.find("button", "Copied").click()
	p.until("the text", func() bool { return p.read("globalThis.put") == text })
}
