//go:build unix && browser

package inbox

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// documents opens the documents from the inbox, and finds a page with the keyboard only.
func (f *flows) documents(t *testing.T) {
	p := f.open(t, "/settings")
	p.find("link", "Documents").click()
	p.until("the first page", func() bool { return p.read("location.pathname + document.title") == "/docsholdpoint · holdpoint" })
	p.until("the search", func() bool { return len(p.all(nil, "combobox", "Search the documents")) == 1 })
	p.press("/fence")
	p.until("something is found", func() bool { return len(p.all(nil, "option", "")) > 3 })
	p.press("↓↓")
	second := p.eval(`document.querySelectorAll("#found li")[1].dataset.address`)
	require.Equal(t, "found-1", p.eval(`document.activeElement.getAttribute("aria-activedescendant")`))
	p.press("\r")
	p.until("its page", func() bool { return p.read("location.pathname + location.hash") == second })

	// Input is searched as plain text, even if it is huge or matches nothing. To find the field by its role once more
	// would take seconds while such a text is in it.
	field := p.find("combobox", "Search the documents")
	search := func(words, says string) {
		field.write(words)
		p.until(says, func() bool {
			return strings.Contains(p.read(`document.querySelector("search [role=status]").textContent`), says)
		})
	}
	search(strings.Repeat("xyzzy ", 100_000), "Nothing is found.")
	search(`<img src=x onerror="globalThis.ran = 1"> "'\`, "Nothing is found.")
	search("", "")
	search(strings.Repeat("xyzzy", 1<<18), "Nothing is found.")
	search("KILL -9", " found")
	require.Equal(t, "undefined", p.eval("typeof globalThis.ran"))
	require.Empty(t, p.eval(`document.querySelectorAll("main script, search img").length ? "made of text" : ""`))
	p.press("\r")
	p.until("the best", func() bool { return p.read("location.hash") != "" })
	f.looksAtDocuments(t, p)
}

// looksAtDocuments tries pages on a phone and on a desk, in both themes.
func (f *flows) looksAtDocuments(t *testing.T, p *page) {
	source, err := axeSource()
	if err != nil {
		rig.Missing(t, "npm: "+err.Error())
	}
	addresses := []string{"/docs", "/docs/api/approvals"}
	if storetest.Thorough && !f.phone { // each is seen in a narrow window here
		addresses = f.allDocuments(t)
	}
	var faults []string
	for i, address := range addresses {
		p.load(address)
		p.in("light", 360, 900)
		p.until("the search of "+address, func() bool { return p.read(`document.querySelector("search input") ? "yes" : ""`) == "yes" })
		if wide := p.eval(`document.documentElement.scrollWidth <= innerWidth ? "" : document.documentElement.scrollWidth + " wide"`); wide != "" {
			faults = append(faults, address+": "+wide)
		}
		if i%2 == 1 {
			p.in("dark", 1280, 900)
		}
		p.eval("(() => {" + source + "\nglobalThis.axe = axe ?? globalThis.axe; return '' })()")
		found, err := chromedp.Run(p.tab, chromedp.Evaluate[string](violations, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
		require.NoError(t, err)
		if found != "" {
			faults = append(faults, address+": "+found)
		}
	}
	require.Empty(t, faults)
}

// allDocuments returns the addresses of all pages.
func (f *flows) allDocuments(t *testing.T) []string {
	reply, err := http.Get(f.service.URL() + "/docs/search.json")
	require.NoError(t, err)
	defer func() { require.NoError(t, reply.Body.Close()) }()
	var entries []struct {
		Address string `json:"address"`
	}
	require.NoError(t, json.NewDecoder(reply.Body).Decode(&entries))
	var addresses []string
	seen := map[string]bool{}
	for _, one := range entries {
		if address, _, _ := strings.Cut(one.Address, "#"); !seen[address] {
			seen[address] = true
			addresses = append(addresses, address)
		}
	}
	require.Greater(t, len(addresses), 50)
	return addresses
}
