//go:build unix && browser

package inbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// allowAnd writes rules about a part of the input, and with one press allows pending requests that were read.
func (f *flows) allowAnd(t *testing.T) {
	p := f.open(t, "/")
	first, second, third := approval("tests", `{"command":"npm test -- cart"}`), approval("tests", `{"command":"npm test -- sum"}`), approval("tests", `{"command":"npm test -- tax"}`)
	fourth := approval("tests", `{"command":"npm publish --force"}`)
	first.ID, second.ID, third.ID, fourth.ID = "t-1", "t-2", "t-3", "t-4"
	second.ToolCallID, third.ToolCallID, fourth.ToolCallID = "c2", "c3", "c4"
	run := f.ask(t, api.Suspension{Approvals: []api.ApprovalRequest{first, second, third, fourth}})
	handles := map[string]string{}
	for _, one := range run.PendingApprovals {
		handles[one.ID] = one.Handle
	}
	p.row("tests")

	// The second and the fourth are read; the third never is.
	for _, id := range []string{"t-4", "t-2"} {
		item := p.linked(handles[id])
		item.find("button", "Allow")
		p.calm()
		p.frame()
	}
	item := p.linked(handles["t-1"])
	f.action(item, "Allow and …")
	sheet := p.find("dialog", "Allow and …")
	sheet.find("radio", "Commands that start with “npm test”, in all sessions").click()
	sheet.find("radio", "30 days").click()
	sheet.find("radio", "This exact call, in all sessions").click()
	p.until("its rule, with a short digest and a local time", func() bool { return strings.Contains(sheet.text(), "with exactly this input: ") })
	require.NotRegexp(t, `sha256:|\d\d-\d\dT\d\d:|[0-9a-z]{26}`, sheet.text())
	sheet.find("radio", "Commands that start with “npm test”, in all sessions").click()
	p.until("its sentence and its rule", func() bool {
		text := sheet.text()
		return strings.Contains(text, "From now on: commands that start with “npm test” in all sessions, for 30 days, without asking.") && strings.Contains(text, `"npm test **"`)
	})
	sheet.find("radio", "Every call of tests, in this session").click()
	sheet.find("checkbox", "Also allows 2 that wait now")
	// A call that is read already, because it says the same, and arrives now is not in it: nobody saw that count when they aimed.
	count := p.read(`document.querySelector(".count").textContent`)
	sheet.find("radio", "This exact call, in all sessions").click()
	late := f.ask(t, one(first))
	p.until("it has arrived", func() bool { return p.read(`document.querySelector(".count").textContent`) != count })
	p.frame()
	require.Empty(t, p.all(sheet, "checkbox", "Also allows 1 that waits now"))
	f.cancel(t, late.RunID)
	p.until("it is gone", func() bool { return p.read(`document.querySelector(".count").textContent`) == count })
	// Which of them start with the same words says the service.
	sheet.find("radio", "Commands that start with “npm test”, in this session").click()
	require.Contains(t, sheet.text(), "1 that waits now was not read and is left out.")
	sheet.find("checkbox", "Also allows 1 that waits now")
	p.accessible("allow and")
	f.shoot(t, p, "allow-and")
	sheet.find("button", "Allow").click()
	item.status("Allowed by you")
	outcome := func(id string) api.Outcome {
		view := f.request(t, handles[id])
		if view.Resolution == nil {
			return ""
		}
		return view.Resolution.Outcome
	}
	p.until("the one that was read is allowed as well", func() bool { return outcome("t-2") == api.OutcomeAllowed })
	require.Empty(t, outcome("t-3"), "it was not read")
	require.Empty(t, outcome("t-4"), "it is another command")
	f.cancel(t, run.RunID)

	inShop := approval("Edit", `{"file_path":"internal/cart/total.go","old_string":"a","new_string":"b"}`)
	inShop.Directory = "/srv/shop"
	edit := f.ask(t, one(inShop))
	item = p.prompt("Edit")
	require.Contains(t, item.text(), "in /srv/shop")
	f.action(item, "Allow and …")
	sheet = p.find("dialog", "Allow and …")
	sheet.find("radio", "Edits in internal/cart/, in /srv/shop, in all sessions").click()
	p.until("its rule", func() bool { return strings.Contains(sheet.text(), `"internal/cart/**"`) })
	sheet.find("button", "Allow").click()
	item.status("Allowed by you")
	require.Contains(t, f.decision(t, edit).Rule.Text, `internal/cart/**`)
	require.Contains(t, f.decision(t, edit).Rule.Text, `, in the directory "/srv/shop", in every session`)

	// The sheet shows the rule of a denial too, and its button says that it writes one.
	never := f.ask(t, one(approval("publish", `{"command":"npm publish"}`)))
	item = p.prompt("publish")
	f.action(item, "Allow and …")
	sheet = p.find("dialog", "Allow and …")
	sheet.find("radio", "This exact call, in all sessions").click()
	sheet.find("radio", "Always").click()
	var text string
	p.until("the rule of a denial", func() bool {
		text = sheet.text()
		return strings.Contains(text, "“Deny from now on” writes: Deny ") && !strings.Contains(text, "until")
	})
	sheet.find("button", "Deny from now on").click()
	item.status("Denied by you")
	require.Contains(t, text, "writes: "+f.decision(t, never).Rule.Text)

	// Its buttons are in view below a long rule. One that was not read is read first; then Enter on a choice allows.
	long := f.ask(t, one(approval("lengthy", `{"command":`+quoted("make "+strings.Repeat("all ", 800))+`,"description":"Build"}`)))
	item = p.prompt("lengthy")
	f.action(item, "Allow and …")
	sheet = p.find("dialog", "Allow and …")
	p.until("the first choice has the focus", func() bool {
		return p.read("document.activeElement.type + document.activeElement.checked") == "radiotrue"
	})
	reads := sheet.find("button", "Read to the end to allow")
	require.Equal(t, "true", reads.call("function() { return this.getBoundingClientRect().bottom <= innerHeight }", nil))
	require.Empty(t, p.all(sheet, "button", "Allow"))
	p.press("\r")
	p.until("the prompt is read on", func() bool { return len(p.all(nil, "dialog", "Allow and …")) == 0 })
	for pages := 0; len(p.all(item, "button", "Allow")) == 0; pages++ {
		require.Less(t, pages, 1000)
		item.find("button", "Read to the end to allow").click()
		p.calm()
		p.frame()
	}
	if !f.phone || len(p.all(item, "button", "Allow and …")) == 0 { // on a phone its menu is open still
		f.action(item, "Allow and …")
	} else {
		item.find("button", "Allow and …").click()
	}
	p.until("the first choice has the focus", func() bool {
		return p.read("document.activeElement.type + document.activeElement.checked") == "radiotrue"
	})
	p.press("\r")
	item.status("Allowed by you")
	require.NotNil(t, f.decision(t, long).Rule)
}
