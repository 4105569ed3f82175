//go:build unix

package clients

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// browserNames are how distributions call the browser.
var browserNames = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// inBrowser opens a stream in a page of the service itself, in a headless browser.
func inBrowser(t *testing.T, base, path string) *reader {
	t.Helper()
	browser := rig.Need(t, browserNames...)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(browser), chromedp.UserDataDir(t.TempDir()),
		// A sandbox needs rights that the account of a test may lack, or, as root, a flag.
		chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute))
	rig.KeepNetwork(t)
	allocated, release := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(release)
	tab, closeTab := chromedp.NewContext(allocated)
	t.Cleanup(closeTab)

	r := newReader(t)
	// The page's calls may arrive out of order; it numbers them.
	order := &ordered{reader: r, early: map[int][]byte{}}
	types, err := json.Marshal(eventTypes)
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(tab,
		chromedp.Navigate(base+"/livez"),
		chromedp.ExposeFunc("report", func(_ context.Context, call reported) (bool, error) {
			order.report(call)
			return true, nil
		}),
	))
	_, err = chromedp.Run(tab, chromedp.Evaluate[bool](`(() => {
		const source = new EventSource(`+quoted(path)+`);
		let count = 0;
		const tell = what => { report({number: count++, text: JSON.stringify(what)}); };
		source.onopen = () => tell({type: "open"});
		source.onerror = () => { if (source.readyState === EventSource.CLOSED) tell({type: "broken", data: "closed"}); };
		for (const type of `+string(types)+`)
			source.addEventListener(type, e => tell({id: e.lastEventId, type, data: e.data}));
		return true;
	})()`))
	require.NoError(t, err)
	return r
}

// reported is one call of the page.
type reported struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
}

// ordered hands the calls of a page on in their order.
type ordered struct {
	reader *reader

	mu    sync.Mutex
	next  int
	early map[int][]byte
}

func (o *ordered) report(call reported) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.early[call.Number] = []byte(call.Text)
	for text, there := o.early[o.next]; there; text, there = o.early[o.next] {
		o.reader.report(text)
		delete(o.early, o.next)
		o.next++
	}
}

func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text has a JSON form
	}
	return string(encoded)
}
