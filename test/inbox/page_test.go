//go:build unix && browser

package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// patience limits how long a page may take to show something.
const patience = time.Minute

// page is one tab.
type page struct {
	t    testing.TB
	tab  context.Context
	base string

	mu sync.Mutex
	// complaints are errors of the page's console and its scripts.
	complaints []string
	// calls are the open calls and the last failed one, for the messages of failed tests.
	calls map[network.RequestID]string
	// unread is why the page could not be read last.
	unread error
}

// openPage opens an address in a new profile. Console errors fail the test, except for calls that
// did not reach the service.
func openPage(t testing.TB, browser context.Context, base, address string) *page {
	t.Helper()
	return openTab(t, browser, base, address, chromedp.WithNewBrowserContext())
}

// another opens an address in another tab of the same profile.
func (p *page) another(address string) *page {
	p.t.Helper()
	return openTab(p.t, p.tab, p.base, address)
}

func openTab(t testing.TB, browser context.Context, base, address string, options ...chromedp.ContextOption) *page {
	t.Helper()
	p := attach(t, browser, base, address, options...)
	p.load(address)
	return p
}

// attach returns a new tab, or the one that the options name. The address is for messages.
func attach(t testing.TB, browser context.Context, base, address string, options ...chromedp.ContextOption) *page {
	t.Helper()
	p := &page{t: t, base: base, calls: map[network.RequestID]string{}}
	tab, closeTab := chromedp.NewContext(browser, append(options, chromedp.WithListener(p.listen))...)
	t.Cleanup(closeTab)
	p.tab = tab
	require.NoError(t, chromedp.Do(tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: skipScript, RunImmediately: new(true)})
		return err
	})))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Empty(t, p.complaints, "the console of %s", address)
	})
	return p
}

// front makes this tab the one that is looked at.
func (p *page) front() {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdppage.BringToFront, cdp.Empty{})
		return err
	})))
}

// load opens an address of the service. A browser aborts loading if an address of the machine
// changes, as when a container starts. Then load retries.
func (p *page) load(address string) {
	p.t.Helper()
	within, cancel := context.WithTimeout(p.tab, patience)
	defer cancel()
	err := chromedp.Do(within, chromedp.Navigate(p.base+address))
	for err != nil && strings.Contains(err.Error(), "ERR_NETWORK_CHANGED") {
		err = chromedp.Do(within, chromedp.Navigate(p.base+address))
	}
	require.NoError(p.t, err, "load %s", address)
}

// skipScript lets a test advance the clock of a page. Elements ignore presses for a moment after
// they moved or got the focus, and tests do not wait for that.
const skipScript = `(() => {
	const now = performance.now.bind(performance);
	globalThis.skip = 0;
	performance.now = () => now() + skip;
})()`

// still stops the clocks of a page, until it loads again: a slow machine ends no wait. Presses of a test advance one by two seconds.
func (p *page) still() {
	p.t.Helper()
	p.eval(`(() => {
		const at = performance.now(), wall = Date.now();
		globalThis.skip = 0;
		performance.now = () => at + skip;
		Date.now = () => wall;
		return "";
	})()`)
}

// longEnough is longer than the page ignores presses.
const longEnough = 2000

// calm skips the time in which presses are ignored. What was painted before was read.
func (p *page) calm() {
	p.t.Helper()
	p.painted()
	p.eval(fmt.Sprintf(`String(globalThis.skip += %d)`, longEnough))
}

func (p *page) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	complaint := ""
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		p.calls[event.RequestID] = "sent " + event.Request.Method + " " + event.Request.URL
	case *network.EventResponseReceived:
		p.calls[event.RequestID] = fmt.Sprintf("answered %d %s", event.Response.Status, event.Response.URL)
	case *network.EventLoadingFinished:
		delete(p.calls, event.RequestID)
	case *network.EventLoadingFailed:
		p.calls[event.RequestID] += " failed: " + event.ErrorText
	case *runtime.EventExceptionThrown:
		complaint = event.ExceptionDetails.Text
		if thrown := event.ExceptionDetails.Exception; thrown != nil {
			complaint += " " + thrown.Description
		}
	case *runtime.EventConsoleAPICalled:
		if event.Type == "error" || event.Type == "warning" {
			for _, argument := range event.Args {
				complaint += string(argument.Value) + argument.Description + " "
			}
		}
	case *log.EventEntryAdded:
		// The page itself shows refused and failed calls.
		if event.Entry.Level == "error" && event.Entry.Source != "network" {
			complaint = event.Entry.Text
		}
	}
	if complaint != "" {
		p.complaints = append(p.complaints, complaint)
	}
}

// element is something of the page that was found by its role and name.
type element struct {
	page *page
	id   runtime.RemoteObjectID
	what string
	// prompt is the handle of a prompt, whose element is the region in which it is open.
	prompt string
}

// all returns the elements with a role and a name, below an element or in the whole page. It
// returns none while another page loads.
func (p *page) all(within *element, role, name string) []*element {
	var found []*element
	var id runtime.RemoteObjectID
	if within != nil {
		if id = within.object(); id == "" {
			return nil
		}
	}
	_, err := chromedp.Run(p.tab, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		query := accessibility.QueryAXTreeParams{Role: role, AccessibleName: name}
		if within != nil {
			query.ObjectID = id
		} else {
			root, err := cdp.Call(ctx, t, dom.GetDocument, dom.GetDocumentParams{})
			if err != nil {
				return chromedp.Void{}, err
			}
			query.NodeID = root.Root.NodeID
		}
		result, err := cdp.Call(ctx, t, accessibility.QueryAXTree, query)
		if err != nil {
			return chromedp.Void{}, err
		}
		for _, node := range result.Nodes {
			if node.Ignored || node.BackendDOMNodeID == 0 {
				continue
			}
			resolved, err := cdp.Call(ctx, t, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: node.BackendDOMNodeID})
			if err == nil {
				found = append(found, &element{page: p, id: resolved.Object.ObjectID, what: role + " " + name})
			}
		}
		return chromedp.Void{}, nil
	})
	p.note(err)
	return found
}

// note keeps why the page could not be read: it may be on its way to another.
func (p *page) note(err error) {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unread = err
	}
}

// until waits for a condition of the page. It asks in the goroutine of the test: in another, an
// assertion that fails would end that goroutine alone, and the wait would go on for nothing.
func (p *page) until(what string, holds func() bool) {
	p.t.Helper()
	ends, ticks := time.After(patience), time.NewTicker(30*time.Millisecond)
	defer ticks.Stop()
	for !holds() {
		select {
		case <-ticks.C:
		case <-ends:
			require.Fail(p.t, what+" never", "the page shows:\n%s", p.state())
		}
	}
}

// shown is the text of the page, or "" while another page loads.
func (p *page) shown() string { return p.read("document.title + '\\n' + document.body.innerText") }

// state describes a hanging page.
func (p *page) state() string {
	lines := []string{p.shown(), "--", p.read("location.href + ' is ' + document.readyState + ' and ' + document.visibilityState")}
	p.mu.Lock()
	defer p.mu.Unlock()
	lines = append(lines, fmt.Sprint("last error: ", p.unread))
	return strings.Join(append(lines, slices.Sorted(maps.Values(p.calls))...), "\n")
}

// find waits for the one element of a role and a name.
func (p *page) find(role, name string) *element { p.t.Helper(); return p.findIn(nil, role, name) }

func (p *page) findIn(within *element, role, name string) (found *element) {
	p.t.Helper()
	p.until(role+" "+name, func() bool {
		all := p.all(within, role, name)
		if len(all) != 1 {
			return false
		}
		found = all[0]
		return true
	})
	return found
}

func (e *element) find(role, name string) *element {
	e.page.t.Helper()
	return e.page.findIn(e, role, name)
}

// call runs a function of the element and returns its result as JSON.
func (e *element) call(function string, argument any) string {
	e.page.t.Helper()
	yes := true
	var id runtime.RemoteObjectID
	e.page.until(e.what, func() bool { id = e.object(); return id != "" })
	text, err := json.Marshal(argument)
	require.NoError(e.page.t, err)
	var value string
	_, err = chromedp.Run(e.page.tab, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		result, err := cdp.Call(ctx, t, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
			FunctionDeclaration: "function() { return (" + function + ").call(this, " + string(text) + ") }", ObjectID: id, ReturnByValue: &yes, UserGesture: &yes,
		})
		if err == nil && result.ExceptionDetails != nil {
			err = fmt.Errorf("%s: %s", e.what, result.ExceptionDetails.Text)
		}
		if err == nil {
			value = string(result.Result.Value)
		}
		return chromedp.Void{}, err
	})
	require.NoError(e.page.t, err)
	return value
}

func (e *element) click() {
	e.page.t.Helper()
	e.page.painted()
	e.call("function(ms) { globalThis.skip += ms; this.scrollIntoView({block: 'center'}); this.click(); return 0 }", longEnough)
}

// enter presses an element with the keyboard.
func (e *element) enter() {
	e.page.t.Helper()
	e.call("function() { this.focus(); return 0 }", nil)
	e.page.press("\r")
}

// write replaces the text of a field.
func (e *element) write(text string) {
	e.page.t.Helper()
	e.call(`function(text) {
		this.focus();
		Object.getOwnPropertyDescriptor(Object.getPrototypeOf(this), "value").set.call(this, text);
		this.dispatchEvent(new InputEvent("input", {bubbles: true}));
		return 0 }`, text)
}

// choose selects the option of a combobox with that text.
func (e *element) choose(option string) {
	e.page.t.Helper()
	e.call(`function(option) {
		this.value = [...this.options].find(one => one.text === option).value;
		this.dispatchEvent(new Event("change", {bubbles: true}));
		return 0 }`, option)
}

func (e *element) text() string {
	var text string
	_ = json.Unmarshal([]byte(e.call("function() { return this.innerText }", nil)), &text)
	return text
}

func (e *element) disabled() bool {
	return e.call("function() { return this.disabled }", nil) == "true"
}

// object is the element in the document; of a prompt the region in which it is open, which opens it. It is empty while
// that is not shown.
func (e *element) object() runtime.RemoteObjectID {
	if e.prompt == "" {
		return e.id
	}
	if e.page.read("("+openScript+")("+quoted(e.prompt)+")") != "open" {
		return ""
	}
	return e.page.object(`document.getElementById("detail")`)
}

// openScript opens a prompt by its row, from the list.
const openScript = `handle => {
	const detail = document.getElementById("detail");
	if (detail?.dataset.handle === handle) return "open";
	const row = document.getElementById("prompt-" + handle);
	if (row && getComputedStyle(row).visibility === "visible") row.click();
	else detail?.querySelector(".crumbs button")?.click();
	return "";
}`

// object evaluates an expression to an element, nothing when there is none.
func (p *page) object(expression string) runtime.RemoteObjectID {
	id, err := chromedp.Run(p.tab, func(ctx context.Context, t *chromedp.Target) (runtime.RemoteObjectID, error) {
		result, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{Expression: expression})
		if err != nil {
			return "", err
		}
		return result.Result.ObjectID, nil
	})
	p.note(err)
	return id
}

// row waits for the row of a tool or a question, known by its accessible name, and returns the handle of its prompt.
func (p *page) row(tool string) (handle string) {
	p.t.Helper()
	p.until("the row of "+tool, func() bool {
		handle = p.read(`(tool => [...document.querySelectorAll("li[aria-label]")].find(one => (" " + one.ariaLabel + ":").includes(" " + tool + ":"))?.dataset.handle ?? "")(` + quoted(tool) + `)`)
		return handle != ""
	})
	return handle
}

// prompt waits for the row of a tool or a question and opens it.
func (p *page) prompt(tool string) *element {
	p.t.Helper()
	item := &element{page: p, prompt: p.row(tool), what: "the prompt of " + tool}
	p.until(item.what+" is open", func() bool { return item.object() != "" })
	p.frame()
	return item
}

// toList returns to the list if a prompt is shown on its own page.
func (p *page) toList() {
	p.t.Helper()
	p.until("the list", func() bool {
		return p.read(`(() => { const back = document.querySelector(".crumbs button"); back?.click(); return back ? "" : "yes"; })()`) == "yes"
	})
}

// linked returns a prompt that an address opens. It may not be in the list.
func (p *page) linked(handle string) *element {
	return &element{page: p, prompt: handle, what: "the prompt " + handle}
}

// status waits until the prompt says something: in its row, or where it is open. It opens the prompt only when
// its row is not on the screen: a press on the row would take the focus from where the page has just put it.
func (e *element) status(contains string) {
	e.page.t.Helper()
	e.page.until("status "+contains, func() bool {
		within := []*element{e}
		if e.prompt != "" {
			row, open := quoted("prompt-"+e.prompt), quoted(e.prompt)
			if e.page.read(`(row => row && getComputedStyle(row).visibility === "visible" ? "yes" : "")(document.getElementById(`+row+`))`) == "yes" {
				within = []*element{{page: e.page, id: e.page.object(`document.getElementById(` + row + `)`)}}
				if id := e.page.object(`document.querySelector("#detail[data-handle=" + CSS.escape(` + open + `) + "]")`); id != "" {
					within = append(within, &element{page: e.page, id: id})
				}
			}
		}
		for _, place := range within {
			for _, one := range e.page.all(place, "status", "") {
				if strings.Contains(one.text(), contains) {
					return true
				}
			}
		}
		return false
	})
}

// menu follows a link of the menu "More".
func (p *page) menu(name string) {
	p.t.Helper()
	p.find("button", "More").click()
	p.find("link", name).click()
}

// press types keys as a keyboard does: a shortcut of the page writes no character.
func (p *page) press(keys string) {
	p.t.Helper()
	p.calm()
	p.pressNow(keys)
}

// pressNow is press without a pause before it.
func (p *page) pressNow(keys string) {
	p.t.Helper()
	for _, key := range keys {
		down := input.DispatchKeyEventParams{Type: "keyDown", Key: string(key), Text: string(key)}
		switch key {
		case '\r':
			down.Key, down.WindowsVirtualKeyCode = "Enter", 13
		case '\t':
			down.Key, down.Code, down.WindowsVirtualKeyCode, down.Text = "Tab", "Tab", 9, ""
		case '↑':
			down.Key, down.Code, down.WindowsVirtualKeyCode, down.Text = "ArrowUp", "ArrowUp", 38, ""
		case '↓':
			down.Key, down.Code, down.WindowsVirtualKeyCode, down.Text = "ArrowDown", "ArrowDown", 40, ""
		}
		up := down
		up.Type, up.Text = "keyUp", ""
		require.NoError(p.t, chromedp.Do(p.tab, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			for _, event := range []input.DispatchKeyEventParams{down, up} {
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, event); err != nil {
					return err
				}
			}
			return nil
		})))
	}
}

// read is eval of a page that may be on its way to another: nothing then.
func (p *page) read(expression string) string {
	text, err := chromedp.Run(p.tab, chromedp.Evaluate[string](expression))
	p.note(err)
	return text
}

// drawn is a promise of the next frame. A hidden tab has none.
const drawn = `new Promise(done => { const then = () => setTimeout(() => done("")); setTimeout(then, 2000); if (document.hidden) then(); else requestAnimationFrame(then); })`

// frame waits until changes have been drawn.
func (p *page) frame() {
	p.t.Helper()
	p.await(drawn)
}

// painted is frame of a page that may be on its way to another.
func (p *page) painted() {
	_, err := chromedp.Run(p.tab, chromedp.Evaluate[string](drawn, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
	p.note(err)
}

// await is eval of a promise.
func (p *page) await(expression string) string {
	p.t.Helper()
	text, err := chromedp.Run(p.tab, chromedp.Evaluate[string](expression, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
	require.NoError(p.t, err)
	return text
}

func (p *page) eval(expression string) string {
	p.t.Helper()
	text, err := chromedp.Run(p.tab, chromedp.Evaluate[string](expression))
	require.NoError(p.t, err)
	return text
}

// in sets the theme and the size of the window.
func (p *page) in(theme string, width, height int64) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.tab, chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
		return err
	})))
}

func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text has a JSON form
	}
	return string(encoded)
}
