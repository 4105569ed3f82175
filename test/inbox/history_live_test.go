//go:build unix && browser

package inbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/test/rig"
)

// liveHistory shows decisions that others make while a person reads the history: they wait behind a button, and neither
// the rows nor the open request nor a field in which the person types changes.
func (f *flows) liveHistory(t *testing.T) {
	decide := func(command string, behavior api.Behavior) {
		t.Helper()
		request := approval("bash", `{"command":`+quoted(command)+`}`)
		run := f.ask(t, one(request))
		decision := rig.Deny(request.ID)
		decision.Behavior = behavior
		f.resolve(t, run.RunID, rig.Decide(decision))
		f.cancel(t, run.RunID)
	}
	for n := range 30 {
		decide(fmt.Sprintf("make live-%02d", n), api.BehaviorDeny)
	}
	p := f.open(t, "/history?outcome=denied")
	first := func() string { return strings.SplitN(p.read(pastRows), " Denied", 2)[0] }
	p.until("the newest first", func() bool { return first() == "make live-29" })
	open := func() string {
		return p.read(`document.querySelector("#detail .asked pre")?.textContent ?? ""`)
	}
	if !f.phone {
		p.until("it is open", func() bool { return open() == "make live-29" })
	}
	p.eval(`(document.querySelector(".days").scrollTop = 300, "")`)
	search := p.find("searchbox", "Search decisions")
	search.write("make live")
	p.until("the rows with the word", func() bool { return p.read(`String(document.querySelectorAll(".day a.row").length)`) == "30" })
	p.eval(`(document.querySelector(".days").scrollTop = 300, "")`)
	place := `[document.querySelector(".days").scrollTop, document.querySelectorAll(".day a.row")[7].getBoundingClientRect().top, document.activeElement.value].join()`
	p.frame()
	before, rows := p.eval(place), p.read(pastRows)

	// The first read of what is new fails. What the filter leaves out is not counted.
	p.eval(failReads)
	p.eval(`(globalThis.fails = address => address.includes("/v1/decisions") && ++asked <= 2, "")`)
	decide("make live-new-1", api.BehaviorDeny)
	decide("make live-allowed", api.BehaviorAllow)
	p.find("button", "1 new")
	require.Equal(t, "true", p.eval("String(asked > 2)"))
	decide("make other-new-2", api.BehaviorDeny) // has not the words
	decide("make live-new-3", api.BehaviorDeny)
	fresh := p.find("button", "2 new")
	require.Equal(t, before, p.eval(place), "nothing moves, and the field keeps the focus and its text")
	require.Equal(t, rows, p.read(pastRows))
	f.shoot(t, p, "history-live")

	fresh.click()
	p.until("the new ones first", func() bool { return first() == "make live-new-3" })
	require.Contains(t, p.read(pastRows), "make live-new-1")
	require.NotContains(t, p.read(pastRows), "live-allowed")
	require.Equal(t, "0", p.eval(`String(document.querySelector(".days").scrollTop)`))
	p.until("no others", func() bool { return p.read(`document.querySelector("button.fresh") ? "" : "yes"`) == "yes" })
	if !f.phone {
		require.Equal(t, "make live-29", open(), "what was open stays open")
	}
	// Who searches for other words finds all of them.
	decide("make live-new-4", api.BehaviorDeny)
	p.find("button", "1 new")
	search.write("make new-")
	p.until("all that are new", func() bool { return p.read(`String(document.querySelectorAll(".day a.row").length)`) == "4" })
	require.Empty(t, p.all(nil, "button", "1 new"))
}
