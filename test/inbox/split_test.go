//go:build unix && browser

package inbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// split: from 1,400 px the text before stands next to the text after, line by line. What is read stays read, and events of
// other requests do not compare the texts again.
func (f *flows) split(t *testing.T) {
	p := f.open(t, "/")
	p.still() // what is in view for half a second counts as read
	lines := func(text string) string { return quoted(strings.Repeat("same\n", 3) + text) }
	run := f.ask(t, one(approval("split", `{"path":"a/b.go","old_str":`+lines("x := 1\ny := 2\nz")+`,"new_str":`+lines("x := 3\nz")+`}`)))
	before, after := quoted(strings.Repeat("old\n", 25)), quoted(strings.Repeat("new\n", 25))
	folded := f.ask(t, one(approval("split-long", `{"path":"c.go","old_str":`+before+`,"new_str":`+after+`}`)))
	in := func(width int64) {
		t.Helper()
		p.in("light", width, 1000)
		p.until("the width", func() bool { return p.read("String(innerWidth)") == fmt.Sprint(width) })
		p.frame()
	}
	in(1399)
	item := p.prompt("split")
	const shown = `[...document.querySelectorAll("#detail .diff .line")].map(one => (one.dataset.n ?? "") + "|" + one.textContent.trimEnd()).join("\n")`
	require.Equal(t, "1|  same\n2|  same\n3|  same\n4|- x := 1\n5|- y := 2\n4|+ x := 3\n5|  z", p.read(shown))
	require.Empty(t, p.read(`document.querySelector("#detail .split") ? "split" : ""`))
	item.find("button", "Allow")

	in(1400)
	const pairs = `[...document.querySelectorAll("#detail .split .pair")].map(pair => [...pair.children].map(one => (one.dataset.n ?? "") + "|" + one.textContent.trimEnd()).join(" <> ")).join("\n")`
	const want = "1|  same <> 1|  same\n2|  same <> 2|  same\n3|  same <> 3|  same\n4|- x := 1 <> 4|+ x := 3\n5|- y := 2 <> |\n6|  z <> 5|  z"
	p.until("the texts next to each other", func() bool { return p.read(pairs) == want })
	require.Equal(t, "1, 3", p.read(`[...document.querySelectorAll("#detail .word")].map(one => one.textContent).join(", ")`), "the words that differ")
	require.Equal(t, "true", p.read(`(([a, b]) => String(a.right <= b.left && a.top === b.top))([...document.querySelector("#detail .split .pair").children].map(one => one.getBoundingClientRect()))`))
	p.accessible("a change side by side")

	// Tables of comparisons are made of these arrays. An edit of the person's own is compared in the form below.
	p.eval(`(() => { const of = Uint32Array; globalThis.compared = 0; globalThis.Uint32Array = class extends of { constructor(...all) { super(...all); compared++; } }; return ""; })()`)
	compared := func() string { return p.eval(`(n => { compared = 0; return String(n); })(compared)`) }
	others := func(tool string) {
		t.Helper()
		f.ask(t, one(approval(tool, `{"n":1}`)))
		p.row(tool)
		p.frame()
		require.Equal(t, "0", compared(), "of an event of another request")
	}
	others("split-other")
	item.find("button", "Edit").click()
	item.find("textbox", "Input").write(`{"path":"a/c.go","old_str":"x","new_str":"y"}`)
	p.until("the changes", func() bool { return strings.Contains(item.find("region", "Changes").text(), "a/c.go") })
	require.NotEqual(t, "0", compared())
	others("split-another")
	item.find("button", "Back").click()
	in(1399)
	p.until("one below the other", func() bool {
		return p.read(`document.querySelector("#detail .diff:not(.split)") ? "yes" : ""`) == "yes"
	})
	require.NotEqual(t, "0", compared())
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	require.NotNil(t, f.decision(t, run))

	// Side by side a long change has half as many lines, and is folded as long as it has more than 24. Until it was read, a new
	// layout begins the reading again.
	long := p.prompt("split-long")
	long.find("button", "Show 27 more lines")
	long.find("button", "Read to the end to allow")
	in(1400)
	long.find("button", "Show 2 more lines").click()
	p.until("all of it is in view", func() bool { return p.read(`document.querySelector(".bar .allow") ? "yes" : ""`) == "yes" })
	in(1399)
	long.find("button", "Read to the end to allow")
	require.Nil(t, f.decision(t, folded))
	long.find("button", "Deny")
	_, err := f.client.CancelRun(t.Context(), folded.RunID, "")
	require.NoError(t, err)
}
