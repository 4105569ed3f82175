//go:build unix && browser

package inbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// badlySet names what no page may have at any size: text that is too small, or cut off with no sign of it, what is wider
// than the window, and what lies under something else that can be pressed.
const badlySet = `(() => {
	const wrong = [], width = document.documentElement.clientWidth, name = one => one.outerHTML.slice(0, 90);
	const shown = one => one.checkVisibility({visibilityProperty: true}) && one.getBoundingClientRect().width > 1;
	if (document.documentElement.scrollWidth > width) wrong.push("the page is " + document.documentElement.scrollWidth + " px wide");
	for (const one of document.querySelectorAll("body *")) {
		if (![...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()) || !shown(one)) continue;
		const style = getComputedStyle(one), right = one.getBoundingClientRect().right;
		if (parseFloat(style.fontSize) < 13) wrong.push("small: " + name(one));
		if (style.overflowX === "hidden" && style.textOverflow !== "ellipsis" && style.webkitLineClamp === "none" && one.scrollWidth > one.clientWidth + 1) wrong.push("cut off: " + name(one));
		if (style.overflowY === "hidden" && style.webkitLineClamp === "none" && one.scrollHeight > one.clientHeight + 2) wrong.push("cut off below: " + name(one));
		for (let around = one; around && getComputedStyle(around).textOverflow !== "ellipsis" && !/auto|scroll/.test(getComputedStyle(around).overflowX); around = around.parentElement)
			if ((around === document.body ? width : around !== one && getComputedStyle(around).overflowX === "hidden" ? around.getBoundingClientRect().right : Infinity) < right - 1) { wrong.push("beyond the edge: " + name(one)); break; }
	}
	for (const one of document.querySelectorAll(".scroll")) if (one.scrollWidth > one.clientWidth + 1) wrong.push("scrolls sideways: " + name(one));
	for (const one of document.querySelectorAll(":is(main, header) :is(a, button, input, select)")) {
		const box = one.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
		if (!shown(one) || x < 0 || y < 0 || x > width || y > innerHeight) continue;
		const top = document.elementFromPoint(x, y)?.closest("a, button, input, select, label");
		if (top && !top.contains(one) && !one.contains(top)) wrong.push(name(one) + " is under " + name(top));
	}
	return wrong.join("\n");
})()`

// wellSet looks at the page at many widths, in both themes: nothing is cut off, small, or wider than the window.
func (f *flows) wellSet(t *testing.T, p *page, name string) {
	t.Helper()
	widths := []int64{320, 768, 3840}
	if storetest.Thorough {
		widths = []int64{320, 360, 390, 512, 640, 720, 768, 1024, 1280, 1440, 2560, 3840} // some are others at 200 %
	}
	for i, width := range widths {
		p.in([]string{"light", "dark"}[i%2], width, max(width*10/16, 640))
		p.until("laid out", func() bool { return p.read("String(innerWidth)") == fmt.Sprint(width) })
		p.frame()
		require.Empty(t, p.eval(badlySet), "%s at %d pixels", p.read("location.href"), width)
		f.shoot(t, p, fmt.Sprintf("size-%s-%d", name, width))
	}
	if f.phone {
		p.in("dark", 390, 844)
	} else {
		p.in("light", 1280, 900)
	}
}

// sizes opens every page at many widths, in both themes.
func (f *flows) sizes(t *testing.T) {
	const far = "and that is the end of the reason."
	long := api.SessionAbout{Label: "Release 42 of the shop", Origin: &api.SessionOrigin{Project: "the-shop-of-ada", Directory: "~/src/shop/with/a/long/name/of/a/folder", Host: "ada-laptop.example.com"}}
	ask := func(session string, suspension api.Suspension) *client.CreatedRun {
		return f.create(t, client.CreateRunParams{SessionID: session, AgentID: "deployer-of-releases", Input: "Release it.", Session: &long, Suspend: &suspension})
	}
	decided := approval("bash", `{"command":"make release `+strings.Repeat("NAME=value ", 12)+`"}`)
	past := ask("sizes-past", one(decided))
	denied := rig.Deny(decided.ID)
	denied.Reason = strings.Repeat("Not before the tests pass, ", 6) + far
	f.resolve(t, past.RunID, rig.Decide(denied))
	waiting := approval("bash", `{"command":"make release && git push --tags","cwd":"/srv/shop"}`)
	waiting.Reason, waiting.Hints = "The release needs a clean tree.", []api.Hint{{Level: api.HintDanger, Text: "Deletes files outside of the project"}}
	open := ask("sizes-open", one(waiting))
	asked := ask("sizes-asked", api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{
		ID: "db", Header: "Database", Question: "Which database should the migration run on first?",
		Options: []api.QuestionOption{{ID: "s", Label: "Staging", Description: "A copy from last night"}, {ID: "p", Label: "Production", Description: "Live since 2023"}},
	}}}}})

	held, err := f.client.CreateRun(t.Context(), client.CreateRunParams{
		SessionID: "sizes-held", AgentID: "deployer-of-releases", Input: "Hold it.", Session: &long, Claim: &api.ClaimOptions{WorkerID: "worker-" + strings.Repeat("0123456789", 3)},
	})
	require.NoError(t, err)

	p := f.open(t, "/")
	past42 := past.PendingApprovals[0].Handle
	for i, address := range []string{
		"/", "/?prompt=" + open.PendingApprovals[0].Handle, "/?prompt=" + asked.PendingQuestions[0].Handle, "/history", "/history?prompt=" + past42,
		"/rules", "/workers", "/effects", "/settings", "/nonsense", "/runs/" + open.RunID, "/sessions/sizes-past", "/sessions/sizes-open", "/docs",
	} {
		p.load(address)
		p.until(address, func() bool {
			return p.read(`document.querySelector("h1") ? "yes" : ""`) == "yes" && !slices.ContainsFunc([]string{"Connecting", "Loading", "Reading…"}, func(word string) bool { return strings.Contains(p.shown(), word) })
		})
		if strings.HasSuffix(address, past42) {
			p.until("the whole reason", func() bool {
				return strings.HasSuffix(p.read(`document.querySelector(".long-reason")?.textContent ?? ""`), far)
			})
		}
		f.wellSet(t, p, fmt.Sprint(i))
	}
	for _, run := range []string{past.RunID, open.RunID, asked.RunID, held.RunID} {
		f.cancel(t, run)
	}
}
