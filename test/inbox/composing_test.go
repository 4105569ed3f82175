//go:build unix && browser

package inbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// composing takes what an input method offers, with keys that otherwise leave a field or close a form.
func (f *flows) composing(t *testing.T) {
	run := f.ask(t, one(approval("compose", `{"a":1}`)))
	p := f.open(t, "/")
	search := f.searching(p)
	search.write("compose")
	p.row("compose")
	focus := func() string { return p.read(`document.activeElement.localName`) }
	// composes presses keys while the input method has them; the second time as Safari says it, after the composition.
	composes := func(keys string) {
		t.Helper()
		p.eval(`(() => {
			for (const key of ` + keys + `) for (const by of [{isComposing: true}, {keyCode: 229}])
				document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true, ...by}));
			return "";
		})()`)
		p.frame()
	}
	const all = `["Enter", "ArrowDown", "Escape"]`

	search.call("function() { this.focus(); return 0 }", nil)
	composes(all)
	require.Equal(t, "input", focus())
	p.press("a")
	require.Nil(t, f.decision(t, run), "what is typed on decides nothing")
	search.write("compose")

	item := p.prompt("compose")
	item.find("button", "Deny").click()
	const why = "ちがう"
	reason := f.reason(item)
	reason.write(why)
	reason.call("function() { this.focus(); return 0 }", nil)
	composes(all)
	require.Equal(t, "true", reason.call("function(why) { return this.value === why }", why))
	item.find("button", "Deny").click()
	item.status("Denied by you")
	require.Equal(t, why, f.decision(t, run).Reason)

	p.load("/history?q=compose")
	p.until("the decision", func() bool { return p.read(`document.querySelector(".days a.row") ? "yes" : ""`) == "yes" })
	p.eval(`(document.querySelector("input[type=search]").focus(), "")`)
	composes(all)
	require.Equal(t, "input", focus())
}
