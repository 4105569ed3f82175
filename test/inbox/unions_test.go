//go:build unix && browser

package inbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// unions asks which form an answer has, and then for its fields. What was typed for another one is kept, and not sent.
func (f *flows) unions(t *testing.T) {
	p := f.open(t, "/")
	run := f.askForm(t, "How to pay", `{"type":"object","required":["pay"],"properties":{"pay":{"title":"Pay by","oneOf":[
		{"title":"Card","type":"object","required":["kind","number"],"properties":{"kind":{"const":"card"},"number":{"title":"Number","type":"string"}}},
		{"title":"Bank","type":"object","required":["kind","iban"],"properties":{"kind":{"const":"bank"},"iban":{"title":"IBAN","type":"string"}}}]}}}`)
	item := p.prompt("How to pay")
	send := item.find("button", "Answer")
	require.True(t, send.disabled())
	which := item.find("radiogroup", "Pay by: which")
	which.find("radio", "Card").click()
	item.find("textbox", "Number").write("4000")
	p.until("it can be sent", func() bool { return !send.disabled() })
	which.find("radio", "Bank").click()
	p.until("an IBAN is needed", func() bool { return send.disabled() && len(p.all(item, "textbox", "Number")) == 0 })
	item.find("textbox", "IBAN").write("DE02")
	p.accessible("a form with a union")
	f.shoot(t, p, "union")
	p.until("it can be sent", func() bool { return !send.disabled() })
	send.click()
	item.status("Answered by you")
	require.JSONEq(t, `{"pay":{"kind":"bank","iban":"DE02"}}`, f.answered(t, run))
}
