//go:build unix && browser

package inbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// failReads has calls of the page fail, or wait for an answer, as globalThis.fails and globalThis.holds say: they are
// called with the address. globalThis.asked counts the calls that waited.
const failReads = `(() => {
	const real = globalThis.fetch, held = [];
	Object.assign(globalThis, { fails: () => false, holds: () => false, asked: 0, release: () => { for (const go of held.splice(0)) go(); } });
	globalThis.fetch = async (address, ...more) => {
		if (fails(String(address))) throw new TypeError("Failed to fetch");
		if (holds(String(address))) { asked++; await new Promise(done => held.push(done)); }
		return real(address, ...more);
	};
	return "";
})()`

// follow goes to an address of the page without loading it again.
func (p *page) follow(address string) {
	p.t.Helper()
	p.eval(`(address => { const link = document.createElement("a"); link.href = address; document.body.append(link); link.click(); link.remove(); return ""; })(` + quoted(address) + `)`)
}

// reads shows that a page whose reads fail says so, repeats them by itself, and waits for a slow service.
func (f *flows) reads(t *testing.T) {
	run := f.create(t, client.CreateRunParams{SessionID: "failing", Input: "Read the log."})
	p := f.open(t, "/rules")
	p.eval(failReads)
	p.eval(`(globalThis.fails = address => address.includes("/failing/events"), "")`)
	p.follow("/sessions/failing")
	said := func(what string) func() bool { return func() bool { return strings.Contains(p.shown(), what) } }
	p.until("the page says so", said("The service cannot be reached. Trying again…"))
	require.Contains(t, p.shown(), "Conversation", "the rest of the page stays")
	p.eval(`(globalThis.fails = () => false, "")`)
	p.until("the log, with no new event", said("Input of the run"))
	require.NotContains(t, p.shown(), "Trying again")
	f.cancel(t, run.RunID)

	// A request that a link leads to.
	past := f.ask(t, one(approval("failing-link", `{"command":"make linked"}`)))
	f.resolve(t, past.RunID, rig.Decide(rig.Deny(past.PendingApprovals[0].ID)))
	p.eval(`(globalThis.fails = address => address.includes("/v1/requests/"), "")`)
	p.follow("/history?prompt=" + past.PendingApprovals[0].Handle + "&outcome=allowed")
	p.until("the page says so", said("The request could not be read. Trying again…"))
	p.eval(`(globalThis.fails = () => false, "")`)
	p.until("the request", said("make linked"))

	// A page that is read again every few seconds waits for the answer first.
	p.follow("/rules")
	p.until("another page", said("Rules"))
	p.eval(`(globalThis.holds = address => address.endsWith("/v1/sessions/failing"), globalThis.pauses = 0,
		globalThis.setTimeout = (real => (does, ms, ...more) => { if (ms === 5000) pauses++; return real(does, ms === 5000 ? 1 : ms, ...more); })(setTimeout), "")`)
	p.follow("/sessions/failing")
	p.until("it is asked", func() bool { return p.read("String(asked)") == "1" })
	p.until("the other reads are repeated", func() bool { return p.read(`pauses > 5 ? "yes" : ""`) == "yes" })
	require.Equal(t, "1", p.eval("String(asked)"), "nothing is asked again before the answer")
	p.eval(`(globalThis.holds = () => false, release(), "")`)
	p.until("the answer counts", said("Input of the run"))

	// The output of a run is drawn once, however often the page reads it.
	done := f.create(t, client.CreateRunParams{SessionID: "drawn", Input: "Say it."})
	claim, err := f.client.ClaimRun(t.Context(), done.RunID, api.ClaimOptions{WorkerID: "w"})
	require.NoError(t, err)
	_, err = f.client.CompleteRun(t.Context(), done.RunID, claim.Lease.Fence, api.JSON(`{"said":"drawn once"}`))
	require.NoError(t, err)
	p.await(`import("` + p.script("exact.js") + `").then(({ Json }) => {
		const { get } = Object.getOwnPropertyDescriptor(Json.prototype, "node");
		globalThis.drawn = 0;
		Object.defineProperty(Json.prototype, "node", { get() { if (this.text.includes("drawn once")) drawn++; return get.call(this); } });
		return "";
	})`)
	p.follow("/runs/" + done.RunID)
	p.until("the output", said("drawn once"))
	drawn := p.eval("String(drawn)")
	p.eval(`(globalThis.holds = address => { if (address.endsWith("/v1/runs/` + done.RunID + `")) asked++; return false; }, asked = 0, "")`)
	p.until("it is read again", func() bool { return p.read(`asked > 5 ? "yes" : ""`) == "yes" })
	require.Equal(t, drawn, p.eval("String(drawn)"))
}

// crowd counts the pending requests of a session that has more than one read returns.
func (f *flows) crowd(t *testing.T) {
	var runs []*client.CreatedRun
	_, err := f.client.CreateSession(t.Context(), client.CreateSessionParams{SessionID: "crowd"})
	require.NoError(t, err)
	for n := range 2 {
		var suspension api.Suspension
		for i := range 51 {
			request := approval("crowd", fmt.Sprintf(`{"n":%d}`, i))
			request.ID = fmt.Sprintf("crowd-%d", i)
			suspension.Approvals = append(suspension.Approvals, request)
		}
		runs = append(runs, f.askIn(t, fmt.Sprintf("crowd-%d", n), "crowd", suspension))
	}
	p := f.open(t, "/sessions/crowd")
	heading := p.find("heading", "Waiting now 100+")
	require.Equal(t, "Waiting now 100+", strings.TrimSpace(heading.text()))
	f.cancel(t, runs[0].RunID)
	p.load("/sessions/crowd")
	p.find("heading", "Waiting now 51")
	f.cancel(t, runs[1].RunID)
}
