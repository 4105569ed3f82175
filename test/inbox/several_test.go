//go:build unix && browser

package inbox

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// several decides several prompts at once. For two or more, a dialog lists the calls to be allowed.
func (f *flows) several(t *testing.T) {
	p := f.open(t, "/")
	var asked []*client.CreatedRun
	for n := range 5 {
		request := approval("step-"+strconv.Itoa(n), `{"command":"make step-`+strconv.Itoa(n)+strings.Repeat("x", 100*n)+`"}`)
		session := one(request)
		run := f.create(t, client.CreateRunParams{SessionID: "several-" + strconv.Itoa(n), Input: "go", Suspend: &session})
		asked = append(asked, run)
	}
	choose := func(n int) {
		p.toList()
		p.find("checkbox", fmt.Sprintf("Select step-%d in several-%d", n, n)).click()
	}
	for n := range 3 {
		p.prompt("step-" + strconv.Itoa(n))
		p.calm() // it is read
		choose(n)
	}
	p.row("step-4")
	p.prompt("step-3") // the next one is never opened
	choose(4)
	p.find("button", "Deny selected (4)")
	p.find("button", "Allow selected (3)").click()
	dialog := p.find("dialog", "Allow selected")
	will := dialog.find("list", "Will be allowed")
	require.Regexp(t, `(?s)make step-2.*make step-1.*make step-0`, will.text(), "the longest first")
	require.Contains(t, dialog.text(), "Run a command ×3")
	require.Contains(t, dialog.find("list", "Left out").text(), "make step-4")
	require.Contains(t, dialog.find("list", "Left out").text(), "not read")
	f.shoot(t, p, "several")
	p.accessible("the dialog of several")

	// Meanwhile one is settled elsewhere, and another one arrives.
	f.resolve(t, asked[1].RunID, rig.Decide(rig.Deny(asked[1].PendingApprovals[0].ID)))
	dialog.find("list", "Settled meanwhile")
	f.ask(t, one(approval("late", `{"command":"late"}`)))
	p.row("late")
	require.NotContains(t, dialog.text(), "late")
	require.Equal(t, "yes", p.eval(`document.activeElement.closest("dialog") ? "yes" : document.activeElement.outerHTML`))
	dialog.find("button", "Allow 2 calls").call("function() { globalThis.skip += 2000; this.focus(); return 0 }", nil)
	p.pressNow("\r")
	for _, n := range []int{0, 2} {
		p.prompt("step-" + strconv.Itoa(n)).status("Allowed by you")
		require.Equal(t, api.OutcomeAllowed, f.decision(t, asked[n]).Outcome)
	}
	require.Equal(t, api.OutcomeDenied, f.decision(t, asked[1]).Outcome)
	require.Nil(t, f.decision(t, asked[3]))
	require.Nil(t, f.decision(t, asked[4]))
	require.Empty(t, p.all(nil, "dialog", "Allow selected"))

	p.toList()
	p.find("button", "Deny selected (1)").click()
	p.find("textbox", "Reason (optional)").write("enough")
	p.find("button", "Deny selected (1)").click()
	p.prompt("step-4").status("Denied by you")
	require.Equal(t, "enough", f.decision(t, asked[4]).Reason)
	for _, tool := range []string{"step-3", "late"} {
		p.prompt(tool).find("button", "Allow").click()
		p.prompt(tool).status("Allowed by you")
	}

	// All that the filter shows are selected at once.
	var every []*client.CreatedRun
	for n := range 3 {
		session := one(approval("every-"+strconv.Itoa(n), `{"command":"make every"}`))
		session.Approvals[0].Reason = "sweep " + strconv.Itoa(n)
		run := f.create(t, client.CreateRunParams{SessionID: "every-" + strconv.Itoa(n), Input: "go", Suspend: &session})
		every = append(every, run)
	}
	// What another filter hides is no longer selected: it is not on the page.
	p.load("/?q=sweep")
	p.row("every-2")
	p.find("checkbox", "Select every-0 in every-0").click()
	p.find("checkbox", "Select every-1 in every-1").click()
	p.find("button", "Deny selected (2)")
	search := p.find("searchbox", "Filter")
	search.write("sweep 1")
	p.until("it says so", func() bool { return strings.Contains(p.shown(), "1 request that the filter hides is deselected") })
	p.find("button", "Deny selected (1)")
	search.write("sweep 2")
	p.until("none is selected", func() bool { return len(p.all(nil, "group", "Selected")) == 0 })

	p.load("/?q=sweep")
	p.row("every-2")
	p.find("checkbox", "Select every-0 in every-0").click()
	p.find("button", "Select all 3 that match").click()
	p.find("button", "Deny selected (3)").click()
	require.Empty(t, p.all(nil, "button", "Select all 3 that match"))
	p.find("textbox", "Reason (optional)").write(strings.Repeat("x", 20_000))
	p.find("button", "Deny selected (3)").click()
	p.until("it says why not", func() bool {
		toast := p.read(`document.querySelector(".toast").textContent`)
		return strings.HasPrefix(toast, "3 not decided: ") && !strings.Contains(toast, "U+000A")
	})
	require.Nil(t, f.decision(t, every[0]))
	p.find("button", "Deny selected (3)").click()
	reason := p.find("textbox", "Reason (optional)")
	require.Equal(t, `"16384"`, reason.call("function() { return String(this.maxLength) }", nil))
	reason.write("")
	p.find("button", "Deny selected (3)").click()
	for _, run := range every {
		p.until("it is denied", func() bool { return f.decision(t, run) != nil })
		require.Equal(t, api.OutcomeDenied, f.decision(t, run).Outcome)
	}
}
