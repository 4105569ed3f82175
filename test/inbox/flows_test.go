//go:build unix && browser

package inbox

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// flows is one service and one browser for all that a person does.
type flows struct {
	service *rig.Process
	browser context.Context
	client  *client.Client
	// asked counts the runs. Each has its own session.
	asked int
	// phone says that the window is as narrow as one, and dark.
	phone bool
	// profile is a blank tab of a profile that has the page's files; taken while the page is open there.
	profile context.Context
	taken   bool
}

func start(t *testing.T) *flows {
	t.Helper()
	browser := startBrowser(t)
	service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db")})
	profile, closeProfile := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(closeProfile)
	require.NoError(t, chromedp.Do(profile))
	return &flows{service: service, browser: browser, client: service.ConnectPatiently(), profile: profile}
}

func (f *flows) create(t testing.TB, params client.CreateRunParams) *client.CreatedRun {
	t.Helper()
	run, err := f.client.CreateRun(t.Context(), params)
	require.NoError(t, err)
	return run
}

func (f *flows) cancel(t *testing.T, runID string) {
	t.Helper()
	_, err := f.client.CancelRun(t.Context(), runID, "")
	require.NoError(t, err)
}

func (f *flows) resolve(t *testing.T, runID string, params client.ResolveApprovalsParams) {
	t.Helper()
	_, err := f.client.ResolveRunApprovals(t.Context(), runID, params)
	require.NoError(t, err)
}

func (f *flows) request(t *testing.T, handle string) *api.RequestView {
	t.Helper()
	view, err := f.client.GetRequest(t.Context(), handle)
	require.NoError(t, err)
	return view
}

// ask creates a run that waits.
func (f *flows) ask(t *testing.T, suspension api.Suspension) *client.CreatedRun {
	t.Helper()
	f.asked++
	return f.create(t, client.CreateRunParams{SessionID: "s-" + strconv.Itoa(f.asked), Input: "go", Suspend: &suspension})
}

func approval(tool, input string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: "a-" + tool, ToolCallID: "c", ToolName: tool, Input: api.JSON(input)}
}

func one(request api.ApprovalRequest) api.Suspension {
	return api.Suspension{Approvals: []api.ApprovalRequest{request}}
}

// decision returns the recorded decision on a run's first approval.
func (f *flows) decision(t *testing.T, run *client.CreatedRun) *api.Resolution {
	t.Helper()
	return f.request(t, run.PendingApprovals[0].Handle).Resolution
}

// TestInbox decides in the page, one flow after the other.
func TestInbox(t *testing.T) {
	t.Parallel()
	start(t).deciding(t)
}

// TestInboxPages looks at the other pages, and at all of them together, one flow after the other.
func TestInboxPages(t *testing.T) {
	t.Parallel()
	start(t).pagesAndAll(t)
}

// TestInboxOnAPhone is TestInbox in a small, dark window, and TestInboxPagesOnAPhone is TestInboxPages.
func TestInboxOnAPhone(t *testing.T) {
	if !storetest.Thorough {
		return // with the suites under "faults"
	}
	t.Parallel()
	f := start(t)
	f.phone = true
	f.deciding(t)
}

func TestInboxPagesOnAPhone(t *testing.T) {
	if !storetest.Thorough {
		return // with the suites under "faults"
	}
	t.Parallel()
	f := start(t)
	f.phone = true
	f.pagesAndAll(t)
}

type flow struct {
	name string
	run  func(*testing.T)
}

func inTurn(t *testing.T, all []flow) {
	t.Helper()
	for _, one := range all {
		t.Run(one.name, one.run)
	}
}

func (f *flows) deciding(t *testing.T) {
	t.Helper()
	inTurn(t, []flow{
		{"Empty", f.empty},
		{"Clear", f.clear},
		{"Allow", f.allow},
		{"Deny", f.deny},
		{"Edit", f.edit},
		{"Remember", f.remember},
		{"AllowAnd", f.allowAnd},
		{"Questions", f.questions},
		{"Forms", f.forms},
		{"Payloads", f.payloads},
		{"Unions", f.unions},
		{"Labels", f.labels},
		{"Unshown", f.unshown},
		{"Several", f.several},
		{"SameCall", f.sameCall},
		{"SameCallLinks", f.sameCallLinks},
		{"SameCallGroup", f.sameCallGroup},
		{"Undo", f.undo},
		{"Reasons", f.reasons},
		{"Advance", f.advance},
		{"Before", f.before},
		{"Looking", f.looking},
		{"Viewing", f.viewing},
		{"Notes", f.notes},
		{"AgentFilter", f.agentFilter},
		{"Snooze", f.snooze},
		{"Race", f.race},
		{"Expiry", f.expiry},
		{"Keyboard", f.keyboard},
		{"Palette", f.palette},
		{"Signs", f.signs},
		{"Composing", f.composing},
		{"FileChange", f.fileChange},
		{"Split", f.split},
		{"Hostile", f.hostile},
		{"Imitation", f.imitation},
		{"Sleep", f.sleep},
		{"KeysAlone", f.keysAlone},
		{"Place", f.place},
		{"Folded", f.folded},
		{"TooSoon", f.tooSoon},
		{"Link", f.link},
		{"Tabs", f.tabs},
		{"Restart", f.restart},
		{"Typing", f.typing},
		{"Pages", f.pages}, // of what Deny and Remember have done
	})
}

func (f *flows) pagesAndAll(t *testing.T) {
	t.Helper()
	inTurn(t, []flow{
		{"History", f.history},
		{"Recorded", f.recorded},
		{"LiveHistory", f.liveHistory},
		{"LongHistory", f.longHistory},
		{"SearchLong", f.searchLong},
		{"Session", f.session},
		{"Names", f.names},
		{"Reads", f.reads},
		{"Crowd", f.crowd},
		{"Family", f.family},
		{"SignIn", f.signIn},
		{"Tokens", f.tokens},
		{"FirstToken", f.firstToken},
		{"Webhooks", f.webhooks},
		{"Push", f.push},
		{"Addresses", f.addresses},
		{"Issuer", f.issuer},
		{"Folds", f.folds},
		{"ReadsOn", f.readsOn},
		{"Layout", f.layout},
		{"Sizes", f.sizes},
		{"Torn", f.torn},
		{"Documents", f.documents},
		{"Axe", f.axe},
		{"Many", f.many},
		{"Measures", f.measures},
	})
}

func (f *flows) open(t *testing.T, address string) *page {
	t.Helper()
	p := f.openFresh(t, address)
	if f.phone {
		p.in("dark", 390, 844)
		p.eval(`localStorage.setItem("holdpoint.wait", "0") ?? ""`) // decisions of other flows are sent at once
	}
	return p
}

// openFresh opens an address for a person of whom nothing is stored, in the profile of the flows before if nobody else
// has the page open there. In a new profile a browser fetches, compiles and keeps a hundred files.
func (f *flows) openFresh(t *testing.T, address string) *page {
	t.Helper()
	if f.taken {
		return openPage(t, f.browser, f.service.URL(), address)
	}
	f.taken = true
	t.Cleanup(func() { f.taken = false }) // after the tab is closed
	p := attach(t, f.profile, f.service.URL(), address)
	require.NoError(t, chromedp.Do(p.tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: p.base, StorageTypes: "cookies,local_storage"})
		return err
	})))
	p.load(address)
	return p
}

func (f *flows) keyboard(t *testing.T) {
	p := f.open(t, "/")
	first := f.ask(t, one(approval("key-one", `1`)))
	p.row("key-one")
	second := f.ask(t, one(approval("key-two", `{"b":1}`)))
	p.row("key-two")
	p.press("j")
	p.until("focus", func() bool {
		return strings.Contains(p.read(`document.activeElement.closest("[data-handle]")?.innerText ?? ""`), "key-one")
	})
	if f.phone {
		p.press("\r") // letters act in an opened prompt alone
		p.until("it is open", func() bool { return strings.Contains(p.read(`document.activeElement.id`), "detail") })
	}
	p.press("a")
	p.until("it is allowed", func() bool { return f.decision(t, first) != nil })
	require.Equal(t, api.OutcomeAllowed, f.decision(t, first).Outcome)
	p.press("j")
	p.until("focus moves", func() bool {
		return strings.Contains(p.read(`document.activeElement.closest("[data-handle]")?.innerText ?? ""`), "key-two")
	})
	p.press("d")
	p.until("the reason has the focus", func() bool { return p.read("document.activeElement.tagName") == "INPUT" })
	p.press("a d a")
	require.Nil(t, f.decision(t, second), "no key decides while the focus is in a field")
	p.press("\r")
	p.prompt("key-two").status("Denied by you")
	require.Equal(t, "a d a", f.decision(t, second).Reason)
	p.press("?")
	p.find("dialog", "Keys")
}

func (f *flows) hostile(t *testing.T) {
	p := f.open(t, "/")
	const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	tool := "status\u202e Allowed by ada"
	request := approval(tool, `{"command":`+quoted("echo "+evil+"\u200b\u202e safe https://\u0430pple.com привет")+`}`)
	request.ID, request.Reason = "a-evil", evil+"\n[link](javascript:alert(1)) Allowed by ada in the terminal"
	run := f.ask(t, one(request))
	item := p.prompt("status[U+202E] Allowed by ada")
	text := item.text()
	require.Contains(t, text, "<img src=x onerror=")
	require.Contains(t, text, "U+200B")
	require.Contains(t, text, "U+202E")
	require.NotContains(t, text, "\u202e")
	require.Contains(t, text, "https://\u0430 U+0430pple.com привет", "a look-alike is marked, and a word is not")
	item.find("group", "From the agent")
	require.Empty(t, p.all(item, "image", ""))
	require.Equal(t, "1", item.call(`function() { return this.querySelectorAll("h1, h2, h3, button.evil, script, img").length }`, nil))
	require.NotEqual(t, "owned", p.eval("document.title"))
	item.find("button", "Deny").click()
	item.find("button", "Deny").click()
	item.status("Denied by you")
	require.Equal(t, api.OutcomeDenied, f.decision(t, run).Outcome)
}

func (f *flows) folded(t *testing.T) {
	p := f.open(t, "/")
	run := f.ask(t, one(approval("write", `{"text":`+quoted(strings.Repeat("long ", 12_000)+"THE END")+`}`)))
	item := p.prompt("write")
	require.NotContains(t, item.text(), "THE END")
	item.find("button", "Show all (59 KB)").enter()
	p.until("the whole input", func() bool { return strings.Contains(item.text(), "THE END") })
	p.until("the focus stays in the text", func() bool { return p.read("document.activeElement.className") == "scroll-detail" })
	item.call("function() { this.focus(); return 0 }", nil)
	for pages := 0; len(p.all(item, "button", "Allow")) == 0; pages++ {
		require.Less(t, pages, 1000)
		p.press("a") // reads on
		require.Nil(t, f.decision(t, run))
		p.frame()
	}
	item.find("button", "Allow").click()
	item.status("Allowed by you")
}

func (f *flows) link(t *testing.T) {
	run := f.ask(t, one(approval("linked", `{"a":1}`)))
	handle := run.PendingApprovals[0].Handle
	p := f.open(t, "/?prompt="+handle)
	item := p.prompt("linked")
	item.find("button", "Details").click()
	p.until("the details are open", func() bool {
		return strings.Contains(item.call(`function() { return [...this.querySelectorAll("a")].map(one => one.href).join() }`, nil), run.RunID)
	})
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	later := f.open(t, "/?prompt="+handle)
	later.linked(handle).status("Allowed by someone without a name in the inbox")
}

// reason is the field for the reason of a denial; on a phone a button shows it.
func (f *flows) reason(item *element) *element {
	if f.phone {
		item.find("button", "Write a reason…").click()
	}
	return item.find("textbox", "Reason (optional)")
}

// action presses a button of a prompt that stands in a menu on a phone.
func (f *flows) action(item *element, name string) {
	if f.phone {
		item.find("button", "More actions").click()
	}
	item.find("button", name).click()
}

// searching is the field that filters; on a phone a button shows it.
func (f *flows) searching(p *page) *element {
	if f.phone {
		p.find("button", "Search").click()
	}
	return p.find("searchbox", "Filter")
}
