//go:build unix && browser

package inbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// BenchmarkPage measures what a person waits for, in a browser, against a service of its own:
//
//	fcp-ms         from the navigation to the first paint of content, with 500 prompts open
//	items-ms       to the first screen of prompts
//	decide-p50-ms  from the key press to the row that says so, after the service has
//	frame-p95-ms   between two frames while 2,000 prompts scroll
//	heap-MB        of the page, after 10,000 events came and went
//
// It makes one round, whatever b.N says. HOLDPOINT_PAGE_BOUND=FACTOR fails it if the first paint takes longer than 200 ms
// times this factor, or more than one frame in twenty longer than 50 ms times the factor.
func BenchmarkPage(b *testing.B) {
	f := &flows{browser: startBrowser(b), service: rig.Start(b, rig.Options{Database: "sqlite:" + filepath.Join(b.TempDir(), "holdpoint.db")})}
	f.client = f.service.ConnectPatiently()
	f.bulk(b, "open", 500)

	p := openPage(b, f.browser, f.service.URL(), "/")
	p.until("the list", func() bool { return strings.HasPrefix(p.read("document.title"), "(500)") })
	require.NoError(b, chromedp.Do(p.tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: `
			new MutationObserver((_, look) => {
				if (!document.querySelector(".list li")) return;
				look.disconnect();
				requestAnimationFrame(() => { globalThis.firstItems = performance.now() });
			}).observe(document, {subtree: true, childList: true})`})
		return err
	})))
	var paints, items []float64
	for range 5 {
		require.NoError(b, chromedp.Do(p.tab, chromedp.Navigate(f.service.URL()+"/")))
		p.until("the list", func() bool { return p.read(`globalThis.firstItems > 0 ? "yes" : ""`) == "yes" })
		paints = append(paints, p.number(`performance.getEntriesByName("first-contentful-paint")[0].startTime`))
		items = append(items, p.number("globalThis.firstItems"))
	}
	report(b, median(paints), "fcp-ms", 200)
	b.ReportMetric(median(items), "items-ms")

	var decisions []float64
	for range 20 {
		p.eval(`(() => {
			const item = document.querySelector(".list li:not(.settled)"), from = performance.now();
			globalThis.decided = 0;
			item.click();
			const look = new MutationObserver(() => {
				if (item.innerText.includes("Allowed by you")) { globalThis.decided = performance.now() - globalThis.pressed; look.disconnect(); }
			});
			look.observe(item, {subtree: true, childList: true, characterData: true});
			globalThis.pressed = from;
			addEventListener("keydown", () => { globalThis.pressed = performance.now() }, {once: true, capture: true});
			return "" })()`)
		p.press("a")
		p.until("the decision", func() bool { return p.number("globalThis.decided") > 0 })
		decisions = append(decisions, p.number("globalThis.decided"))
	}
	b.ReportMetric(median(decisions), "decide-p50-ms")

	f.bulk(b, "scroll", 1500)
	p.until("2,000 of them", func() bool {
		count, _ := strconv.Atoi(strings.Trim(strings.SplitN(p.read("document.title"), ")", 2)[0], "("))
		return count > 1900
	})
	frames, err := chromedp.Run(p.tab, chromedp.Evaluate[[]float64](`new Promise(done => {
		const gaps = []; let last = performance.now(), at = 0;
		const step = now => {
			gaps.push(now - last); last = now; at += 120; document.querySelector(".scroll-list").scrollTo({top: at, behavior: "instant"});
			if (gaps.length < 300) requestAnimationFrame(step); else done(gaps.slice(1));
		};
		requestAnimationFrame(step);
	})`, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
	require.NoError(b, err)
	slices.Sort(frames)
	report(b, frames[len(frames)*95/100], "frame-p95-ms", 50)

	for n := range 50 {
		run := f.bulk(b, "churn-"+strconv.Itoa(n), 100)
		for _, one := range run {
			_, err := f.client.CancelRun(b.Context(), one, "")
			require.NoError(b, err)
		}
	}
	p.until("the churn is over", func() bool { return !strings.HasPrefix(p.read("document.title"), "(2") })
	p.eval(`([...document.querySelectorAll("button")].find(one => one.textContent.startsWith("Clear"))?.click(), "")`)
	b.ReportMetric(p.number("(globalThis.gc?.(), performance.memory.usedJSHeapSize / (1 << 20))"), "heap-MB")
}

// report reports a time, and fails the benchmark if it is beyond its bound.
func report(b *testing.B, ms float64, unit string, most float64) {
	b.Helper()
	b.ReportMetric(ms, unit)
	given := os.Getenv("HOLDPOINT_PAGE_BOUND")
	if given == "" {
		return
	}
	factor, err := strconv.ParseFloat(given, 64)
	require.NoError(b, err, "HOLDPOINT_PAGE_BOUND is a factor")
	require.LessOrEqual(b, ms, most*factor, unit)
}

// bulk raises this many approvals, 50 per run, and returns the runs.
func (f *flows) bulk(t testing.TB, session string, count int) (ids []string) {
	t.Helper()
	const each = 50
	for n := range count / each {
		var suspension api.Suspension
		for i := range each {
			request := approval("bulk", fmt.Sprintf(`{"command":"make step-%d","cwd":"/srv/build"}`, n*each+i))
			request.ID = "b-" + strconv.Itoa(i)
			suspension.Approvals = append(suspension.Approvals, request)
		}
		run := f.create(t, client.CreateRunParams{SessionID: session + "-" + strconv.Itoa(n), Input: "go", Suspend: &suspension})
		ids = append(ids, run.RunID)
	}
	return ids
}

func (p *page) number(expression string) float64 {
	p.t.Helper()
	value, err := chromedp.Run(p.tab, chromedp.Evaluate[float64](expression))
	require.NoError(p.t, err)
	return value
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
