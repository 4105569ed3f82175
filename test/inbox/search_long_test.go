//go:build unix && browser

package inbox

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// searchLong finds words behind the beginning of a long input, in the inbox and in the history, when the person asks for it.
func (f *flows) searchLong(t *testing.T) {
	filler := strings.Repeat("all and ", 1200)
	var runs []*client.CreatedRun
	for i, word := range []string{"haystack", "needle-in", "thread"} {
		request := approval("lengthy", `{"text":`+quoted(filler+word)+`}`)
		request.ID, request.Reason = fmt.Sprintf("lengthy-%d", i), "lengthy reason "+word[:3]
		runs = append(runs, f.ask(t, one(request)))
	}
	p := f.open(t, "/?q=lengthy+needle-in")
	p.eval(failReads)
	rows := func() string {
		return p.read(`[...document.querySelectorAll(".list > li")].map(one => one.querySelector(".why").textContent).join()`)
	}
	says := func(text string) {
		t.Helper()
		p.until(text, func() bool {
			return strings.Contains(p.read(`document.querySelector(".older")?.textContent ?? ""`), text)
		})
	}
	says("long requests were searched in their beginning only.")
	require.Empty(t, rows())
	p.eval(`(globalThis.fails = address => address.includes("/v1/requests/"), "")`)
	p.find("button", "Search all of them").click()
	says("The service cannot be reached.")
	require.Empty(t, p.eval(badlySet))
	f.shoot(t, p, "search-long")
	// While the service is slow, the person goes on typing.
	p.eval(`(globalThis.fails = () => false, globalThis.holds = address => address.includes("/v1/requests/"), "")`)
	p.find("button", "Search all of them").click()
	p.until("they are read", func() bool { return p.read(`asked > 0 ? "yes" : ""`) == "yes" })
	field := `document.querySelector("input[type=search]")`
	p.eval(`(` + field + `.focus(), "")`)
	(&element{page: p, id: p.object(field), what: "the field"}).write("lengthy thread")
	p.eval(`(globalThis.holds = () => false, release(), "")`)
	p.until("the one with the new word", func() bool { return strings.Contains(rows(), "lengthy reason thr") && !strings.Contains(rows(), "nee") })
	require.Equal(t, "lengthy thread", p.eval(field+".value"))
	require.Equal(t, "1000", p.eval("String("+field+".maxLength)"), "the address has the words")
	require.Equal(t, "true", p.eval(`String(document.activeElement === `+field+`)`), "the focus stays in the field")
	p.until("no others", func() bool { return p.read(`document.querySelector(".older") ? "" : "yes"`) == "yes" })

	for _, run := range runs {
		f.resolve(t, run.RunID, rig.Decide(rig.Deny(run.PendingApprovals[0].ID)))
	}
	p = f.open(t, "/history?q=lengthy+needle-in")
	says("long requests were searched in their beginning only.")
	require.Empty(t, p.read(pastRows))
	p.find("button", "Search all of them").click()
	p.until("it is found", func() bool {
		return strings.Contains(p.read(pastRows), "lengthy") && !strings.Contains(p.read(pastRows), "\n")
	})
	p.eval(`(URL.createObjectURL = (make => blob => { globalThis.written = blob; return make(blob); })(URL.createObjectURL), "")`)
	p.find("button", "Download CSV").click()
	p.until("the file", func() bool { return p.read(`globalThis.written ? "yes" : ""`) == "yes" })
	table, err := csv.NewReader(strings.NewReader(p.await("written.text()"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, table, 2)
}
