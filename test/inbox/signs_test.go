//go:build unix && browser

package inbox

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// countedRows reports whether each row says its place in the list, and how many there are.
const countedRows = `(rows => String(rows.length > 0 && rows.every((one, i) => one.ariaPosInSet === String(i + 1) && one.ariaSetSize === String(rows.length))))(
	[...document.querySelectorAll(".list > li")].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top))`

// signs looks at what a browser alone tells: places of rows for a screen reader, the link that is copied, the words of a
// lost service, and what a person has set in the system.
func (f *flows) signs(t *testing.T) {
	p := f.open(t, "/")
	var asked []*client.CreatedRun
	for _, tool := range []string{"signs-one", "signs-two", "signs-three"} {
		asked = append(asked, f.ask(t, one(approval(tool, `{"n":1}`))))
		p.row(tool)
	}
	require.Equal(t, "true", p.eval(countedRows))
	f.resolve(t, asked[1].RunID, rig.Decide(rig.Deny(asked[1].PendingApprovals[0].ID)))
	p.prompt("signs-two").status("Denied by")
	p.toList()
	require.Equal(t, "true", p.eval(countedRows), "one of them is settled")

	item := p.prompt("signs-one")
	p.eval(`globalThis.put = ""; Object.defineProperty(navigator, "clipboard", {configurable: true, value: {writeText: async text => { globalThis.put = text }}}); ""`)
	item.find("button", "Copy link").click()
	item.find("button", "Copied")
	require.Equal(t, p.base+"/?prompt="+asked[0].PendingApprovals[0].Handle, p.read("globalThis.put"))

	// No frame of the stream comes in between: the page is drawn before the next task.
	item.find("button", "Allow")
	require.Regexp(t, `^Offline since \d\d:\d\d: decisions are off, true$`, p.await(`import(new URL("inbox.js", document.querySelector("script[type=module]").src)).then(async ({inbox, changed}) => {
		const drawn = async () => { changed(); for (let i = 0; i < 50; i++) await null; };
		Object.assign(inbox, {connection: "offline", offlineSince: Date.now()});
		await drawn();
		const said = document.querySelector(".connection").textContent + ", " + document.querySelector(".bar .allow").disabled;
		inbox.connection = "live";
		await drawn();
		return said;
	})`))

	item.find("button", "Allow").click()
	item.status("Allowed by you")
	p.toList()
	motion := func(wish string) string {
		p.media("prefers-reduced-motion", wish)
		return p.eval(`getComputedStyle(document.querySelector(".list .row.settled .icon")).animationName`)
	}
	require.Equal(t, "tick", motion("no-preference"))
	require.Equal(t, "none", motion("reduce"))

	p.prompt("signs-three").find("button", "Allow")
	p.media("forced-colors", "active")
	require.Equal(t, "2px", p.eval(`getComputedStyle(document.querySelector(".bar .allow")).borderTopWidth`))
	if !f.phone {
		require.Equal(t, "true,true,solid,solid", p.eval(`(() => {
			const box = document.createElement("div"), add = tag => { const one = document.createElement(tag); box.append(one); return one; };
			const highlight = add("i"), canvas = add("i"), chosen = add("li"), mark = add("span"), look = one => getComputedStyle(one);
			highlight.style.color = "Highlight";
			canvas.style.color = "Canvas";
			box.className = "palette";
			chosen.ariaSelected = "true";
			mark.className = "mark";
			document.body.append(box);
			const left = (selector, color) => [...document.querySelectorAll(selector)].every(one => look(one).borderLeftColor === look(color).color);
			const shown = [left(".row.current", highlight), left(".list .row:not(.current)", canvas), look(chosen).outlineStyle, look(mark).borderTopStyle];
			box.remove();
			return shown.join();
		})()`), "the row that is open, the chosen entry and marks are shown by more than their grounds")
	}
	f.cancel(t, asked[2].RunID)
}

// media sets one wish of a person's system.
func (p *page) media(name, value string) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.tab, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: name, Value: value}}})
		return err
	})))
}
