//go:build unix && browser

package inbox

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// scrollsFrom scrolls the open prompt to its end in small steps, from a line of its JSON on.
func (p *page) scrollsFrom(line int) {
	p.t.Helper()
	p.await(`(async () => {
		const box = document.querySelector("#detail .scroll-detail"), top = box.querySelector("pre.json").offsetTop;
		for (let y = Math.max(0, top + ` + strconv.Itoa(line) + ` * 22 - box.clientHeight / 3); ; y += box.clientHeight / 2) {
			box.scrollTo({ top: y, behavior: "instant" });
			await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
			if (y > box.scrollHeight) return "";
		}
	})()`)
}

// readsOn presses "Read to the end to allow": it goes to the first line that was not on the screen.
func (f *flows) readsOn(t *testing.T) {
	lines := make([]string, 100)
	for n := range lines {
		lines[n] = fmt.Sprintf("make line-%d", n+1)
	}
	f.ask(t, one(approval("reads-on", `{"command":`+quoted(strings.Join(lines, "\n"))+`}`)))
	f.ask(t, one(approval("reads-late", `{"content":`+quoted(strings.Repeat("long ", 4000))+`,"path":"late.txt"}`)))
	p := f.open(t, "/")
	if !f.phone {
		p.in("light", 1600, 1000)
		p.until("laid out", func() bool { return p.read("String(innerWidth)") == "1600" })
	}
	// below is how far a line, or a text, begins below the top of the box in which it is read.
	below := func(selector string, line int) float64 {
		t.Helper()
		text := p.eval(`(one => String(one.getBoundingClientRect().top + parseFloat(getComputedStyle(one).paddingTop) + ` + strconv.Itoa(line-1) + ` * parseFloat(getComputedStyle(one).lineHeight)
			- document.querySelector("#detail .scroll-detail").getBoundingClientRect().top))(document.querySelector("#detail .asked ` + selector + `"))`)
		at, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return at
	}
	item := p.prompt("reads-on")
	item.find("button", "Read to the end to allow").click()
	p.until("it is read on", func() bool {
		return p.eval(`String(document.querySelector("#detail .scroll-detail").scrollTop)`) != "0"
	})
	p.frame()
	require.GreaterOrEqual(t, below("pre.command", 25), 0.0, "no line is passed over")
	if !f.phone {
		require.Less(t, below("pre.command", 25), 30.0, "the lines that were read are out of the way")
	}
	item.find("button", "Deny").click()
	item.find("button", "Deny").click()
	item.status("Denied by you")

	item = p.prompt("reads-late")
	p.frame()
	item.find("button", "Read to the end to allow").click()
	p.until("the whole input", func() bool { return strings.Contains(item.text(), "late.txt") })
	p.frame()
	require.GreaterOrEqual(t, below(".file", 1), 0.0, "what takes the place of the beginning was not read")
	item.find("button", "Deny").click()
	item.find("button", "Deny").click()
	item.status("Denied by you")
}

// tooSoon presses Allow before a short request can have been read: nothing is allowed, and the page says so.
func (f *flows) tooSoon(t *testing.T) {
	p := f.open(t, "/")
	first := f.ask(t, one(approval("opens-by-itself", `{"n":1}`)))
	p.row("opens-by-itself")
	p.calm()
	// The clock of the page stands still.
	p.eval(`(() => { const at = performance.now(); globalThis.later = 0; performance.now = () => at + globalThis.later; return ""; })()`)
	run := f.ask(t, one(approval("too-soon", `{"n":2}`)))
	item := p.prompt("too-soon")
	place := func() string {
		return item.find("button", "Allow").call("function() { const {x, y, width, height} = this.getBoundingClientRect(); return [x, y, width, height].join() }", nil)
	}
	before := place()
	p.eval(`String(globalThis.later += 450)`)
	item.find("button", "Allow").click()
	const says = "Not allowed yet. Read it, then press again."
	p.until("it says so", func() bool { return strings.Contains(p.shown(), says) })
	require.Equal(t, before, place(), "nothing moves")
	require.Nil(t, f.decision(t, run))
	// The half second began when the request was first painted: it is over now.
	p.eval(`String(globalThis.later += 2000)`)
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	require.NotContains(t, p.shown(), says)
	f.cancel(t, first.RunID)
}

// folds shows JSON by levels and folds a file of a patch. What is folded away was not read.
func (f *flows) folds(t *testing.T) {
	deep := map[string]any{}
	for n := range 60 {
		deep["m"+strconv.Itoa(100+n)] = map[string]any{"x": map[string]any{"y": n}}
	}
	text, err := json.Marshal(deep)
	require.NoError(t, err)
	run := f.ask(t, one(approval("levels", string(text))))
	p := f.open(t, "/")
	item := p.prompt("levels")
	levels := item.find("group", "Levels")
	levels.find("button", "1").click()
	p.until("one level", func() bool { return strings.Contains(item.text(), `"m100": { … 3 lines … }`) })
	item.find("button", "Show 38 more lines").click()
	p.until("all of one level", func() bool { return strings.Contains(item.text(), `"m159": { … 3 lines … }`) })
	p.scrollsFrom(0)
	p.calm()
	item.find("button", "Read to the end to allow")
	levels.find("button", "All").click()
	p.until("all levels", func() bool { return strings.Contains(item.text(), `"y": 59`) })
	p.scrollsFrom(62)
	p.calm()
	p.frame()
	item.find("button", "Read to the end to allow")
	item.call("function() { this.focus(); return 0 }", nil)
	for pages := 0; len(p.all(item, "button", "Allow")) == 0; pages++ {
		require.Less(t, pages, 1000)
		p.press("a") // reads on
		require.Nil(t, f.decision(t, run))
		p.frame()
	}
	item.find("button", "Deny").click()
	item.find("button", "Deny").click()
	item.status("Denied by you")

	patch := "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-o\n+n\n" + strings.Repeat(" same\n", 100)
	run = f.ask(t, one(approval("files", `{"patch":`+quoted(patch)+`}`)))
	item = p.prompt("files")
	item.find("button", "File 2 of 2").click()
	p.until("the second file is folded", func() bool { return !strings.Contains(item.text(), "- o\n") && strings.Contains(item.text(), "Folded") })
	p.calm()
	p.frame()
	item.find("button", "Read to the end to allow").click()
	p.until("it is read on", func() bool { return strings.Contains(item.text(), "- o\n") })
	item.find("button", "Deny").click()
	item.find("button", "Deny").click()
	item.status("Denied by you")
	require.Equal(t, api.OutcomeDenied, f.decision(t, run).Outcome)
}
