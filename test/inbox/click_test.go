//go:build linux && browser

package inbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/pushpeer"
	"github.com/holdpoint/holdpoint/test/rig"
)

// notifications is the interface of a desktop's notification server, and its name on the session bus.
const notifications = "org.freedesktop.Notifications"

// busConfig is the configuration of a session bus that starts no services. Its socket is in a directory.
const busConfig = `<busconfig>
	<type>session</type>
	<listen>unix:dir=%s</listen>
	<policy context="default"><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/></policy>
</busconfig>`

// desktop is the notification server of a private session bus. Chromium sends the notifications of its profile to it.
type desktop struct {
	bus     *dbus.Conn
	address string
	// notices are the notifications and closed the ids of those that the browser closed, oldest first.
	notices chan notice
	closed  chan uint32
}

type notice struct {
	id          uint32
	title, body string
	// actions are pairs of a key and a label.
	actions []string
}

// press returns the key of the button with a label.
func (n *notice) press(t *testing.T, label string) string {
	t.Helper()
	for pair := range slices.Chunk(n.actions, 2) {
		if pair[1] == label {
			return pair[0]
		}
	}
	require.Failf(t, "no such button", "%q has %q", n.title, n.actions)
	return ""
}

// startDesktop starts a desktop that runs until the test ends.
func startDesktop(t *testing.T) *desktop {
	t.Helper()
	directory := t.TempDir()
	config := filepath.Join(directory, "session.conf")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, busConfig, directory), 0o600))
	daemon := exec.CommandContext(t.Context(), rig.Need(t, "dbus-daemon"), "--config-file="+config, "--print-address", "--nofork", "--nopidfile")
	daemon.Stderr = t.Output()
	output, err := daemon.StdoutPipe()
	require.NoError(t, err)
	daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // when the thread that started it ends
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		started <- daemon.Start()
		_ = daemon.Wait() // until the end of the test
	}()
	require.NoError(t, <-started)
	t.Cleanup(func() { <-ended })
	address, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	d := &desktop{address: strings.TrimSpace(address), notices: make(chan notice, 100), closed: make(chan uint32, 100)}
	d.bus, err = dbus.Connect(d.address)
	require.NoError(t, err)
	owned, err := d.bus.RequestName(notifications, dbus.NameFlagDoNotQueue)
	require.NoError(t, err)
	require.Equal(t, dbus.RequestNameReplyPrimaryOwner, owned)
	calls, served := make(chan *dbus.Message, 1000), make(chan struct{})
	d.bus.Eavesdrop(calls) // until the daemon ends
	go func() {
		defer close(served)
		d.serve(calls)
	}()
	t.Cleanup(func() { <-served })
	return d
}

// serve answers the browser's calls in order. The reply to Notify precedes the notice, because the browser ignores a click on an
// id that it does not know yet.
func (d *desktop) serve(calls <-chan *dbus.Message) {
	last := uint32(0)
	for call := range calls {
		if call.Type != dbus.TypeMethodCall {
			continue
		}
		switch call.Headers[dbus.FieldMember].Value() {
		case "GetCapabilities":
			d.reply(call, []string{"actions", "body", "persistence"})
		case "GetServerInformation":
			d.reply(call, "test", "test", "1", "1.2")
		case "Notify":
			id := call.Body[1].(uint32) // the notification to replace
			if id == 0 {
				last++
				id = last
			}
			d.reply(call, id)
			d.notices <- notice{id: id, title: call.Body[3].(string), body: call.Body[4].(string), actions: call.Body[5].([]string)}
		case "CloseNotification":
			const byCall = uint32(3)
			id := call.Body[0].(uint32)
			d.reply(call)
			_ = d.emit("NotificationClosed", id, byCall) // the test may have ended
			d.closed <- id
		}
	}
}

func (d *desktop) reply(call *dbus.Message, values ...any) {
	headers := map[dbus.HeaderField]dbus.Variant{
		dbus.FieldDestination: call.Headers[dbus.FieldSender], dbus.FieldReplySerial: dbus.MakeVariant(call.Serial()),
	}
	if len(values) > 0 {
		headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(values...))
	}
	d.bus.Send(&dbus.Message{Type: dbus.TypeMethodReply, Headers: headers, Body: values}, nil)
}

func (d *desktop) emit(signal string, values ...any) error {
	return d.bus.Emit("/org/freedesktop/Notifications", notifications+"."+signal, values...)
}

// next waits for the next value of a channel.
func next[T any](t *testing.T, what string, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		require.Fail(t, what+" never")
	}
	return value
}

// notified is a page whose browser shows its notifications on a desktop.
type notified struct {
	*pushing
	d      *desktop
	caller *client.Client
	phone  *pushpeer.Browser
	came   int
}

// startNotified turns notifications on in a browser.
func startNotified(t *testing.T) *notified {
	t.Helper()
	d := startDesktop(t)
	service, phone, script := startPushing(t)
	whole := startWholeBrowser(t, chromedp.Env("DBUS_SESSION_BUS_ADDRESS="+d.address))
	// The browser delivers clicks to its own profile, not to the profiles that DevTools creates.
	p := &pushing{page: openTab(t, whole, service.URL(), "/settings"), worker: make(chan serviceworker.RegistrationID, 1)}
	p.watch(script)
	p.permit(browser.PermissionSettingGranted)
	p.load("/settings")
	p.find("button", "Turn on notifications").click()
	p.find("button", "Turn off")
	return &notified{pushing: p, d: d, caller: service.ConnectPatiently(), phone: phone}
}

// asks lets an agent ask for the use of a tool, and waits for the notification.
func (p *notified) asks(t *testing.T, tool string) (*client.CreatedRun, notice) {
	t.Helper()
	suspension := one(approval(tool, `{"n":1}`))
	run, err := p.caller.CreateRun(t.Context(), client.CreateRunParams{SessionID: tool, AgentID: "coder", Input: 1, Suspend: &suspension})
	require.NoError(t, err)
	p.came++
	p.until("the message", func() bool { return len(p.phone.Messages()) == p.came })
	p.deliver(p.phone.Messages()[p.came-1].Text)
	shown := next(t, "the notification", p.d.notices)
	require.Equal(t, "Approval needed: "+tool, shown.title)
	require.Contains(t, shown.body, "Agent coder wants to use "+tool+".")
	return run, shown
}

// TestAClickOnANotification clicks two notifications on a desktop. The first click opens a tab, in which the request is allowed.
// The second click focuses the tab that shows the request already.
func TestAClickOnANotification(t *testing.T) {
	t.Parallel()
	p := startNotified(t)
	d, caller := p.d, p.caller
	// Both messages come before the first click: they are held while a person is looking at the inbox.
	var handles []string
	var notices []notice
	for _, tool := range []string{"deploy", "migrate"} {
		run, shown := p.asks(t, tool)
		handles, notices = append(handles, run.PendingApprovals[0].Handle), append(notices, shown)
	}

	p.eval(`globalThis.typed = "kept"`)
	require.NoError(t, d.emit("ActionInvoked", notices[0].id, "default"))
	require.Equal(t, notices[0].id, next(t, "the end of the notification", d.closed))
	opened := p.opened("/?prompt=" + handles[0])
	opened.until("the request in front", func() bool { return opened.inFront(handles[0]) })
	require.Equal(t, "/settings kept", p.read(`location.pathname + " " + typed`), "the other tab")
	item := opened.linked(handles[0])
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	decided, err := caller.GetRequest(t.Context(), handles[0])
	require.NoError(t, err)
	require.Equal(t, api.OutcomeAllowed, decided.Resolution.Outcome)

	p.load("/?prompt=" + handles[1])
	p.eval(`globalThis.typed = "kept"`)
	require.False(t, p.inFront(handles[1]))
	before := len(p.tabs())
	require.NoError(t, d.emit("ActionInvoked", notices[1].id, "default"))
	require.Equal(t, notices[1].id, next(t, "the end of the notification", d.closed))
	p.until("the request in front", func() bool { return p.inFront(handles[1]) })
	require.Equal(t, "kept", p.read("typed"), "the page is not loaded again")
	require.Len(t, p.tabs(), before)
}

// TestTwoTapsOnAPhone decides from a notification on a window as small as a phone's: a press on the notification, and one on
// "Allow", which is sent after the phone's wait. Nothing else is pressed.
func TestTwoTapsOnAPhone(t *testing.T) {
	t.Parallel()
	p := startNotified(t)
	p.in("light", 390, 844)
	run, shown := p.asks(t, "deploy")
	handle := run.PendingApprovals[0].Handle
	require.NoError(t, p.d.emit("ActionInvoked", shown.id, "default"))
	opened := p.opened("/?prompt=" + handle)
	opened.in("light", 390, 844)
	opened.until("the size of a phone", func() bool { return opened.read(`innerWidth + " " + innerHeight`) == "390 844" })
	opened.until("the request in front", func() bool { return opened.inFront(handle) })
	// The tab counts the presses, also those that it ignores.
	opened.still()
	opened.eval(`(globalThis.presses = 0, addEventListener("click", () => presses++, true), "")`)
	item := opened.linked(handle)
	allow := item.find("button", "Allow")
	require.Equal(t, "true", allow.call("function() { return this.getBoundingClientRect().bottom <= innerHeight }", nil), "in reach without a scroll")
	allow.click()
	item.status("Allowing in 3 s")
	opened.eval(`String(globalThis.skip += 3000)`)
	item.status("Allowed by you")
	require.Equal(t, "1", opened.read(`String(presses)`), "the second press after the one on the notification")
	decided, err := p.caller.GetRequest(t.Context(), handle)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeAllowed, decided.Resolution.Outcome)
}

// TestDenyOnANotification presses the buttons of notifications. "Deny" denies the request without a page. If the service refuses
// that, because somebody else was first, the page opens with the request.
func TestDenyOnANotification(t *testing.T) {
	t.Parallel()
	p := startNotified(t)
	denied, first := p.asks(t, "deploy")
	allowed, second := p.asks(t, "migrate")
	before := len(p.tabs())
	require.NoError(t, p.d.emit("ActionInvoked", first.id, first.press(t, "Deny")))
	require.Equal(t, first.id, next(t, "the end of the notification", p.d.closed))
	outcome := next(t, "the outcome", p.d.notices)
	require.Equal(t, "Denied", outcome.title)
	require.Contains(t, outcome.body, "Agent coder wants to use deploy.")
	require.NotContains(t, outcome.actions, "Deny")
	decided, err := p.caller.GetRequest(t.Context(), denied.PendingApprovals[0].Handle)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeDenied, decided.Resolution.Outcome)
	require.Equal(t, "api:notification", decided.Resolution.Via)
	require.Len(t, p.tabs(), before, "no page")

	_, err = p.caller.ResolveRunApprovals(t.Context(), allowed.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: allowed.PendingApprovals[0].ID, Behavior: api.BehaviorAllow}}})
	require.NoError(t, err)
	require.NoError(t, p.d.emit("ActionInvoked", second.id, second.press(t, "Deny")))
	late := allowed.PendingApprovals[0].Handle
	opened := p.opened("/?prompt=" + late)
	opened.until("the request in front", func() bool { return opened.inFront(late) })
	opened.linked(late).status("Allowed by")
	decided, err = p.caller.GetRequest(t.Context(), late)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeAllowed, decided.Resolution.Outcome)
}

// tabs returns the tabs of the browser.
func (p *page) tabs() []*target.Info {
	p.t.Helper()
	all, err := chromedp.Targets(p.tab)
	require.NoError(p.t, err)
	return slices.DeleteFunc(all, func(one *target.Info) bool { return one.Type != "page" })
}

// opened waits for the tab that the browser itself opened at an address. It attaches to it once the tab has the title of the page:
// before, the next document may replace the one that it attaches to.
func (p *page) opened(address string) *page {
	p.t.Helper()
	var found []*target.Info
	p.until("a tab at "+address, func() bool {
		found = slices.DeleteFunc(p.tabs(), func(one *target.Info) bool {
			return one.URL != p.base+address || !strings.HasSuffix(one.Title, "holdpoint")
		})
		return len(found) > 0
	})
	return attach(p.t, p.tab, p.base, address, chromedp.WithTargetID(found[0].TargetID))
}

// inFront reports whether this tab has the focus and shows the request.
func (p *page) inFront(handle string) bool {
	return p.read(`String(document.visibilityState === "visible" && document.hasFocus() && document.getElementById("detail")?.dataset.handle === `+quoted(handle)+`)`) == "true"
}
