//go:build unix && browser

package inbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// outOfPlace names what is wider than the window, and the buttons of the bar that are cut off, under or too near to another
// one, or that move, and what is too small for a thumb on a phone. Key caps are shown as for a mouse.
const outOfPlace = `(() => {
	if (!document.adoptedStyleSheets.length) {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync("@media (min-width: 700px) { button kbd { display: inline-block; } }");
		document.adoptedStyleSheets = [sheet];
	}
	const wrong = [], width = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth > width) wrong.push("the page is " + document.documentElement.scrollWidth + " px wide");
	const apart = width < 700 ? 11.5 : 4; // a thumb needs 12 px
	const buttons = [...document.querySelectorAll(".bar button")].map(one => [one.textContent, one.getBoundingClientRect(), one]);
	for (const [name, box, one] of buttons) {
		if (box.right > width || one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1) wrong.push(name + " is cut off");
		for (const [other, its] of buttons) if (other > name && box.left < its.right + apart && its.left < box.right + apart && box.top < its.bottom + apart && its.top < box.bottom + apart) wrong.push(name + " is at " + other);
	}
	const read = document.querySelector(".bar .read"), others = () => [...document.querySelectorAll(".bar .line > button:not(.read, .allow)")].map(one => JSON.stringify(one.getBoundingClientRect())).join();
	if (read) {
		const before = others(), words = read.firstChild.data;
		[read.className, read.firstChild.data] = ["allow", "Allow"];
		if (others() !== before) wrong.push("the bar moves when it may be allowed");
		[read.className, read.firstChild.data] = ["read", words];
	}
	if (width < 700) for (const one of document.querySelectorAll("#detail :is(button, a, input)")) {
		const box = one.getBoundingClientRect();
		if (box.height < 48) wrong.push((one.textContent || one.type) + " is " + box.height + " px high");
	}
	for (const row of document.querySelectorAll(".list > .row")) {
		const [hint, tail] = [".hint", ".tail"].map(part => row.querySelector(part)?.getBoundingClientRect());
		if (hint?.width && tail && hint.top < tail.bottom && tail.top < hint.bottom && hint.right > tail.left) wrong.push("a hint is under " + row.querySelector(".tail").innerText);
	}
	return wrong.join("; ");
})()`

// opensBar looks at the reasons of a denial, and at the row that "⋯" opens, on a phone.
func (p *page) opensBar(width int64) {
	p.t.Helper()
	for _, one := range []struct{ name, open, shown, close string }{
		{"the reasons", ".bar .deny", ".bar .reasons", ".bar .line .quiet"},
		{"the other actions", ".bar .dots", ".bar .line.above", ".bar .dots"},
	} {
		press := func(what, selector string, there bool) {
			p.eval(fmt.Sprintf("(document.querySelector(%q).click(), '')", selector))
			p.until(what, func() bool {
				return (p.read(fmt.Sprintf("document.querySelector(%q) ? 'yes' : ''", one.shown)) == "yes") == there
			})
		}
		press(one.name, one.open, true)
		require.Empty(p.t, p.eval(outOfPlace), "%s at %d pixels", one.name, width)
		press("the bar without "+one.name, one.close, false)
	}
}

// layout opens approvals and a question at many widths: nothing is cut off, nothing lies on another, and nothing scrolls sideways.
func (f *flows) layout(t *testing.T) {
	long := f.ask(t, one(approval("layout-long", `{"command":`+quoted(strings.Repeat("make all\n", 60))+`}`)))
	unbroken := approval("layout-short", `{"command":"echo `+strings.Repeat("x", 4000)+`"}`)
	unbroken.Hints = []api.Hint{{Level: api.HintDanger, Text: "A long line"}}
	short := f.ask(t, one(unbroken))
	question := f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "a", Header: "layout", Question: "Which one?"}}}}})
	p := f.open(t, "/")
	for _, handle := range []string{long.PendingApprovals[0].Handle, short.PendingApprovals[0].Handle, question.PendingQuestions[0].Handle} {
		p.load("/?prompt=" + handle)
		p.until("it is open", func() bool { return p.read(`document.getElementById("detail")?.dataset.handle ?? ""`) == handle })
		for _, width := range []int64{320, 360, 390, 699, 700, 768, 899, 900, 979, 980, 1099, 1100, 1280} {
			p.in("light", width, 800)
			p.until("laid out", func() bool { return p.read("String(innerWidth)") == fmt.Sprint(width) })
			p.frame()
			require.Empty(t, p.eval(outOfPlace), "at %d pixels", width)
			if width < 700 && handle != question.PendingQuestions[0].Handle {
				p.opensBar(width)
			}
		}
	}
	p.eval(`(localStorage.setItem("holdpoint.compact", "on"), "")`)
	p.load("/")
	p.row("layout-short")
	require.Equal(t, "true", p.eval(`String(document.body.innerText.includes("Danger"))`))
	require.Empty(t, p.eval(outOfPlace), "compact")
	p.eval(`(localStorage.removeItem("holdpoint.compact"), "")`)
	// The outcome takes the place of the buttons in the same height.
	const bar = `JSON.stringify(document.querySelector(".bar").getBoundingClientRect())`
	for handle, run := range map[string]*client.CreatedRun{short.PendingApprovals[0].Handle: short, question.PendingQuestions[0].Handle: question} {
		p.in("light", 390, 800)
		p.load("/?prompt=" + handle)
		p.until("it is open", func() bool { return p.read(`document.querySelector(".bar button")?.textContent ?? ""`) != "" })
		p.until("laid out", func() bool { return p.read("String(innerWidth)") == "390" })
		before := p.eval(bar)
		f.cancel(t, run.RunID)
		p.until("the outcome", func() bool { return p.read(`document.querySelector(".bar .outcome")?.textContent ?? ""`) != "" })
		require.Equal(t, before, p.eval(bar))
	}
	f.cancel(t, long.RunID)
}
