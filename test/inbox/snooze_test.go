//go:build unix && browser

package inbox

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// snooze puts requests off by key, menu and finger. Each leaves the list, is listed as snoozed, and comes back.
func (f *flows) snooze(t *testing.T) {
	p := f.open(t, "/")
	handle := f.ask(t, one(approval("put-off", `{"command":"ls put off"}`))).PendingApprovals[0].Handle
	next := f.ask(t, one(approval("not-put-off", `{"command":"ls at once"}`))).PendingApprovals[0].Handle
	inList := func(list, handle string) bool {
		return p.read(`document.querySelector('ul[aria-label="`+list+`"] #prompt-`+handle+`') ? "yes" : ""`) == "yes"
	}
	item := p.prompt("put-off")
	p.eval(`(document.getElementById("prompt-` + handle + `").focus(), "")`)
	if f.phone {
		p.press("\r") // letters act in an opened prompt alone
	}
	p.calm()
	p.press("s")
	menu := p.find("menu", "Snooze")
	p.until("the menu has the focus", func() bool { return p.read("document.activeElement.textContent") == "15 minutes" })
	p.accessible("the menu to snooze")
	f.shoot(t, p, "snooze")
	p.press("a")
	p.press("D")
	require.Nil(t, f.outcome(t, handle), "letters in the menu decide nothing")
	menu.find("menuitem", "Tomorrow 9:00").click()
	p.until("the next request is open", func() bool { return p.read(`document.getElementById("detail").dataset.handle`) == next })
	view := f.request(t, handle)
	require.Positive(t, view.SnoozedUntilMs)
	require.Nil(t, view.Resolution)
	if f.phone {
		p.toList()
	}
	p.until("it is among the snoozed", func() bool { return inList("Snoozed", handle) && !inList("Waiting for you", handle) })
	f.shoot(t, p, "snoozed")
	p.load("/")
	p.until("it is after a reload", func() bool { return inList("Snoozed", handle) && inList("Waiting for you", next) })

	p.eval(`(document.getElementById("prompt-` + handle + `").click(), "")`)
	item.find("button", "Wake now").click()
	item.find("button", "Snooze")
	if f.phone {
		p.toList()
	}
	p.until("it is back", func() bool {
		return inList("Waiting for you", handle) || strings.Contains(p.shown(), "1 new")
	})

	if f.phone {
		row := p.object(`document.getElementById("prompt-` + next + `")`)
		f.swipe(t, p, &element{page: p, id: row})
		p.until("the finger snoozed it", func() bool { return inList("Snoozed", next) })
		require.Empty(t, p.read(`document.querySelector(".has-detail") ? "open" : ""`), "the row did not open")
	}
	for _, handle := range []string{handle, next} {
		view := f.request(t, handle)
		f.cancel(t, view.RunID)
	}
	p.until("neither is left", func() bool { return !inList("Snoozed", next) && !inList("Snoozed", handle) })
}

// swipe moves a finger over an element to the left.
func (f *flows) swipe(t *testing.T, p *page, over *element) {
	t.Helper()
	middle := over.call(`function() { const box = this.getBoundingClientRect(); return (box.top + box.bottom) / 2 }`, nil)
	y, err := strconv.ParseFloat(middle, 64)
	require.NoError(t, err)
	for _, event := range []input.DispatchTouchEventParams{
		{Type: "touchStart", TouchPoints: []*input.TouchPoint{{X: 300, Y: y}}},
		{Type: "touchMove", TouchPoints: []*input.TouchPoint{{X: 220, Y: y + 4}}},
		{Type: "touchMove", TouchPoints: []*input.TouchPoint{{X: 120, Y: y + 8}}},
		{Type: "touchEnd", TouchPoints: []*input.TouchPoint{}},
	} {
		require.NoError(t, chromedp.Do(p.tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, input.DispatchTouchEvent, event)
			return err
		})))
	}
}

// outcome returns what became of a request; nil while it is open.
func (f *flows) outcome(t *testing.T, handle string) *api.Resolution {
	t.Helper()
	return f.request(t, handle).Resolution
}
