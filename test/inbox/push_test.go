//go:build unix && browser

package inbox

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/pushpeer"
	"github.com/holdpoint/holdpoint/test/rig"
)

// pushScript gives the browser a subscription at the test's push service: a headless browser has none of its own.
const pushScript = `(() => {
	const json = %s, kept = "test.pushKey";
	const made = () => {
		const key = localStorage.getItem(kept);
		return key && {
			endpoint: json.endpoint, options: { applicationServerKey: Uint8Array.from(JSON.parse(key)).buffer }, toJSON: () => json,
			unsubscribe: async () => { localStorage.removeItem(kept); return true; },
		};
	};
	PushManager.prototype.getSubscription = async () => made() || null;
	PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
		if (!userVisibleOnly || applicationServerKey.length !== 65) throw new TypeError("these options would be refused");
		localStorage.setItem(kept, JSON.stringify([...applicationServerKey]));
		return made();
	};
})()`

// shown is a notification of the browser.
type shown struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	Tag   string `json:"tag"`
	Data  struct {
		ID     string `json:"id"`
		Handle string `json:"handle"`
		Path   string `json:"path"`
	} `json:"data"`
}

// pushing is a page with its service worker.
type pushing struct {
	*page
	worker chan serviceworker.RegistrationID
}

// startPushing starts a service, and a browser at its push service with the script by which a page has its subscription.
func startPushing(t *testing.T) (service *rig.Process, phone *pushpeer.Browser, script string) {
	t.Helper()
	service = rig.Start(t, rig.Options{
		Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db"), Args: []string{"--webhook-allow", "127.0.0.0/8", "--notify-after", "1s"},
	})
	view, err := service.ConnectPatiently().GetPush(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, view.PublicKey, "without any configuration")
	phone = pushpeer.Start(t).Browser(view.PublicKey)
	subscription, err := json.Marshal(phone.Subscription())
	require.NoError(t, err)
	return service, phone, fmt.Sprintf(pushScript, subscription)
}

// push turns on notifications in a browser, lets it show the message that came to its push service, and decides what a press
// on it opens.
func (f *flows) push(t *testing.T) {
	service, phone, script := startPushing(t)
	caller := service.ConnectPatiently()
	p := &pushing{page: openPage(t, startWholeBrowser(t), service.URL(), "/settings"), worker: make(chan serviceworker.RegistrationID, 1)}
	if f.phone {
		p.in("dark", 390, 844)
	}
	p.watch(script)
	p.permit(browser.PermissionSettingDenied)
	p.load("/settings")
	p.find("button", "Turn on notifications").click()
	p.until("that they are blocked", func() bool { return strings.Contains(p.shown(), "This browser blocks notifications of this page.") })
	require.Empty(t, phone.Messages())

	p.permit(browser.PermissionSettingGranted)
	p.find("button", "Turn on notifications").click()
	p.until("this browser", func() bool {
		return strings.Contains(p.shown(), "This browser") && len(p.all(nil, "button", "Turn on notifications")) == 0
	})
	if f.phone {
		p.accessible("settings with a browser")
	}
	p.load("/settings")
	p.find("button", "Turn off")

	suspension := one(approval("deploy", `{"password":"hunter2"}`))
	run, err := caller.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", AgentID: "coder", Input: 1, Suspend: &suspension})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(phone.Messages()) == 1 }, patience, 10*time.Millisecond)
	message := phone.Messages()[0]
	p.deliver(message.Text)
	handle := run.PendingApprovals[0].Handle
	want := shown{Title: "Approval needed: deploy", Body: "Agent coder wants to use deploy.", Tag: message.Tag}
	want.Data.ID, want.Data.Path = message.Data.ID, "/?prompt="+handle
	want.Data.Handle = handle
	p.delivers("one notification", message.Text, func(list []shown) bool { return len(list) == 1 && list[0] == want })
	p.delivers("something is shown of every message", "no message of the service", func(list []shown) bool { return len(list) >= 2 })

	p.load(want.Data.Path)
	item := p.linked(handle)
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	decided, err := caller.GetRequest(t.Context(), handle)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeAllowed, decided.Resolution.Outcome)

	require.Eventually(t, func() bool { return len(phone.Messages()) == 2 }, patience, 10*time.Millisecond)
	p.delivers("the notification does not ask any more", phone.Messages()[1].Text, func(list []shown) bool {
		return !slices.ContainsFunc(list, func(one shown) bool { return one.Title == want.Title })
	})
	p.present(caller, func() int { return len(phone.Messages()) })
	p.arrives(caller)

	p.load("/settings")
	p.find("button", "Turn off").click()
	p.find("button", "Turn on notifications")
	view, err := caller.GetPush(t.Context())
	require.NoError(t, err)
	require.Empty(t, view.Data)
	p.offered(caller, f.phone)
}

// present keeps the message about a request from a person who looks at the list and uses it, until they go elsewhere.
func (p *pushing) present(caller *client.Client, messages func() int) {
	p.t.Helper()
	// On a slow machine the page also says which request is open, so calls are told apart by what they say.
	p.eval(`(() => {
		const send = fetch;
		globalThis.told = [];
		globalThis.fetch = async (to, options) => {
			const answer = await send(to, options);
			if (String(to).endsWith("/v1/me/presence") && answer.status === 204) told.push(JSON.parse(options.body).visible);
			return answer;
		};
		return "";
	})()`)
	said := func(visible bool) bool { return p.read(fmt.Sprintf("String(told.includes(%t))", visible)) == "true" }
	require.Equal(p.t, "0", p.read(`String(performance.getEntriesByType("resource").filter(one => one.name.endsWith("/v1/me/presence")).length)`))
	p.press("j")
	p.until("the page has said that its person is here", func() bool { return said(true) })
	before := messages()
	suspension := one(approval("present", `{"n":1}`))
	run, err := caller.CreateRun(p.t.Context(), client.CreateRunParams{SessionID: "present", AgentID: "coder", Input: 1, Suspend: &suspension})
	require.NoError(p.t, err)
	p.until("the message waits", func() bool {
		explained, err := caller.ExplainRequest(p.t.Context(), run.PendingApprovals[0].Handle)
		require.NoError(p.t, err)
		return strings.Contains(explained.Text, "by push, held back while their inbox is open.")
	})
	require.Equal(p.t, before, messages())
	p.eval(`document.querySelector("nav a[href='/history']").click() ?? ""`)
	p.until("the page has said that its person has left", func() bool { return said(false) })
	effects, err := caller.ListEffects(p.t.Context(), client.EffectListParams{State: api.EffectPending})
	require.NoError(p.t, err)
	require.Len(p.t, effects.Items, 1)
	_, err = caller.RetryEffect(p.t.Context(), "present", effects.Items[0].EffectID)
	require.NoError(p.t, err)
	p.until("the message", func() bool { return messages() == before+1 })
	_, err = caller.CancelRun(p.t.Context(), run.RunID, "")
	require.NoError(p.t, err)
}

// offered turns on notifications by the line above the list, which asks once on a device and moves no row.
func (p *pushing) offered(caller *client.Client, phone bool) {
	p.t.Helper()
	suspension := one(approval("offer", `{"n":1}`))
	_, err := caller.CreateRun(p.t.Context(), client.CreateRunParams{SessionID: "offer", AgentID: "coder", Input: 1, Suspend: &suspension})
	require.NoError(p.t, err)
	p.permit(browser.PermissionSettingPrompt)
	p.load("/")
	p.eval(`localStorage.removeItem("holdpoint.told"); ""`)
	p.load("/")
	no := p.find("button", "Not now")
	const place = `String(document.querySelector(".list .row").getBoundingClientRect().top)`
	before := p.read(place)
	no.click()
	p.until("where to turn them on later", func() bool {
		return strings.Contains(p.shown(), "You can turn notifications on in Settings.") && len(p.all(nil, "button", "Turn on")) == 0
	})
	require.Equal(p.t, before, p.read(place))
	require.NotEqual(p.t, "BODY", p.read("document.activeElement.tagName"), "the focus")
	p.load("/")
	p.until("the list without the line", func() bool { return p.read(place) != "" && len(p.all(nil, "button", "Not now")) == 0 })

	p.eval(`localStorage.removeItem("holdpoint.told"); ""`)
	p.load("/")
	on := p.find("button", "Turn on")
	if phone {
		p.accessible("the list with an offer")
	}
	p.permit(browser.PermissionSettingGranted)
	on.click()
	p.until("that they are on", func() bool { return strings.Contains(p.shown(), "Notifications are on.") })
	view, err := caller.GetPush(p.t.Context())
	require.NoError(p.t, err)
	require.Len(p.t, view.Data, 1)
}

// arrives tells a person who looks elsewhere of a request, in a browser whose pages have neither sound nor
// notifications of their own, as on a phone: the list goes on.
func (p *pushing) arrives(caller *client.Client) {
	p.t.Helper()
	p.load("/settings")
	p.find("checkbox", "Desktop notifications").click()
	p.find("checkbox", "Sound").click()
	p.until("they are on", func() bool { return p.read(`localStorage.getItem("holdpoint.notifications")`) == "on" })
	p.until("live", func() bool { return strings.Contains(p.shown(), "Live") }) // what the first list has does not arrive
	p.eval(`(() => {
		document.hasFocus = () => false;
		navigator.setAppBadge = count => { window.badge = count; return Promise.reject(new Error("no badge")); };
		window.AudioContext = class { constructor() { throw new Error("no sound"); } };
		window.Notification = class { static permission = "granted"; constructor() { throw new TypeError("Illegal constructor"); } };
		// A browser that is asked for its notifications forgets one that it is about to show: the worker's answer is waited for.
		const show = ServiceWorkerRegistration.prototype.showNotification;
		window.told = [];
		ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
			await show.call(this, title, options);
			told.push({ title, body: options.body, tag: options.tag, data: options.data });
		};
		return "";
	})()`)
	suspension := one(approval("tell", `{"n":1}`))
	run, err := caller.CreateRun(p.t.Context(), client.CreateRunParams{SessionID: "0b54e4c2-7d6e-4f6b-9a51-1f2f3c4d5e70", AgentID: "coder", Input: 1, Suspend: &suspension})
	require.NoError(p.t, err)
	handle := run.PendingApprovals[0].Handle
	want := shown{Title: "coder in …3c4d5e70", Body: "tell", Tag: "session " + run.SessionID}
	want.Data.Path, want.Data.Handle = "/?prompt="+handle, handle
	p.until("a notification that opens the request", func() bool {
		var told []shown
		require.NoError(p.t, json.Unmarshal([]byte(p.read("JSON.stringify(window.told)")), &told))
		return slices.Contains(told, want)
	})
	p.until("the count, in the title and at the icon", func() bool {
		return strings.HasPrefix(p.read("document.title"), "(1) ") && p.read("String(window.badge)") == "1"
	})
	_, err = caller.CancelRun(p.t.Context(), run.RunID, "")
	require.NoError(p.t, err)
	p.until("no badge", func() bool { return p.read("String(window.badge)") == "0" })
}

// watch prepares the tab for its worker and runs a script in each later page.
func (p *pushing) watch(script string) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Listen(p.tab, func(event any) {
		if updated, is := event.(*serviceworker.EventWorkerRegistrationUpdated); is {
			for _, one := range updated.Registrations {
				select {
				case p.worker <- one.RegistrationID:
				default: // it is known
				}
			}
		}
	}))
	_, err := chromedp.Call(p.tab, serviceworker.Enable, cdp.Empty{})
	require.NoError(p.t, err)
	_, err = chromedp.Call(p.tab, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(p.t, err)
}

// permit says what the browser answers when the page asks whether it may show notifications.
func (p *pushing) permit(setting browser.PermissionSetting) {
	p.t.Helper()
	_, err := chromedp.CallBrowser(p.tab, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: setting, Origin: p.base,
		BrowserContextID: chromedp.FromContext(p.tab).BrowserContextID,
	})
	require.NoError(p.t, err)
}

// deliver hands a message to the worker, as the browser does with what its push service sends.
func (p *pushing) deliver(text string) {
	p.t.Helper()
	id := <-p.worker
	p.worker <- id
	_, err := chromedp.Call(p.tab, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: p.base, RegistrationID: id, Data: text})
	require.NoError(p.t, err)
}

// delivers hands a message to the worker until the notifications fit. A browser that is asked for them forgets one that it is
// about to show, so it is asked rarely, and the message comes again.
func (p *pushing) delivers(what, text string, fit func([]shown) bool) {
	p.t.Helper()
	const rarely = 20
	p.deliver(text)
	polls := 0
	p.until(what, func() bool {
		if polls++; polls%rarely != 0 {
			return false
		}
		if fit(p.notifications()) {
			return true
		}
		p.deliver(text)
		return false
	})
}

func (p *pushing) notifications() (list []shown) {
	p.t.Helper()
	text := p.await(`navigator.serviceWorker.getRegistration("/").then(worker => worker.getNotifications())
		.then(list => JSON.stringify(list.map(({ title, body, tag, data }) => ({ title, body, tag, data }))))`)
	require.NoError(p.t, json.Unmarshal([]byte(text), &list))
	return list
}
