//go:build unix && browser

package inbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// palette finds a request and a page with one field. What is typed in it decides nothing.
func (f *flows) palette(t *testing.T) {
	p := f.open(t, "/history")
	run := f.ask(t, one(approval("palette-one", `{"command":"make adad"}`)))
	p.until("it is there", func() bool { return strings.Contains(p.read("document.title"), "(") })
	open := func() *element {
		p.eval(`(dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, cancelable: true})), "")`)
		p.until("the palette has the focus", func() bool { return p.read("document.activeElement.role") == "combobox" })
		return p.find("dialog", "Palette")
	}
	dialog := open()
	p.accessible("the palette")
	p.press("palette adad")
	dialog.find("option", "Run a command with palette-one: make adad")
	f.shoot(t, p, "palette")
	require.Nil(t, f.decision(t, run))
	p.press("\r")
	p.until("the request is open", func() bool {
		return p.read(`location.pathname + (document.getElementById("detail")?.dataset.handle ?? "")`) == "/"+run.PendingApprovals[0].Handle
	})
	dialog = open()
	dialog.find("combobox", "Find a request or a page").write("go to ru")
	dialog.find("option", "Go to Rules").click()
	p.until("the rules", func() bool { return p.read("location.pathname") == "/rules" })
	f.cancel(t, run.RunID)
}
