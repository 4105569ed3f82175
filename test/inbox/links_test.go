//go:build unix && browser

package inbox

import (
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// external is the address of the service in its mails.
const external = "https://holdpoint.example"

var (
	mailedAddress = regexp.MustCompile(`https?://[^\s<>"]+`)
	sixDigits     = regexp.MustCompile(`Code: (\d{6})`)
	fourDigits    = regexp.MustCompile(`(?m)^Code: (\d{4})\r?$`)
)

// bodies returns the texts of the mails that say something.
func bodies(t *testing.T, mailbox *rig.Mailbox, about string) (texts []string) {
	t.Helper()
	for _, raw := range mailbox.Mails(t) {
		message, err := mail.ReadMessage(strings.NewReader(raw))
		require.NoError(t, err)
		text, err := io.ReadAll(quotedprintable.NewReader(message.Body))
		require.NoError(t, err)
		if strings.Contains(string(text), about) {
			texts = append(texts, string(text))
		}
	}
	return texts
}

// Exim delivers a mail. A robot fetches every address in it, and a browser presses every button and even types into the
// fields: nothing is decided. Then the person decides on a phone, with the code.
func TestARobotPressesEverything(t *testing.T) {
	t.Parallel()
	mailbox := rig.NewMailbox(t)
	file := filepath.Join(t.TempDir(), "channels.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "channels:\n  mail: {kind: email, smtp: \"smtp://%s\", from: holdpoint@example.com, links: code}\n", mailbox.Address()), 0o600))
	service := rig.Start(t, rig.Options{
		Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db"), Args: []string{"--channels", file, "--external-url", external, "--notify-after", "1s", "--log-level", "info", "--log-requests"},
	})
	root, err := service.ConnectPatiently().CreateToken(t.Context(), api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
	require.NoError(t, err)
	token := func(name string, role api.Role) string {
		made, err := service.Connect(client.WithToken(root.Secret)).CreateToken(t.Context(), api.CreateTokenBody{Name: name, Role: role})
		require.NoError(t, err)
		return made.Secret
	}
	ada, worker := service.Connect(client.WithToken(token("ada", api.RoleOperator))), service.Connect(client.WithToken(token("coder", api.RoleAgent)))
	added, err := ada.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: "ada@example.com"})
	require.NoError(t, err)
	await := func(what string, holds func() bool) {
		require.Eventually(t, holds, patience, 20*time.Millisecond, what)
	}
	await("the code of the address", func() bool { return len(bodies(t, mailbox, "Code: ")) == 1 })
	_, err = ada.VerifyAddress(t.Context(), added.AddressID, sixDigits.FindStringSubmatch(bodies(t, mailbox, "Code: ")[0])[1])
	require.NoError(t, err)

	suspension := one(approval("deploy", `{"password":"hunter2","to":"production"}`))
	run, err := worker.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", AgentID: "coder", Input: 1, Suspend: &suspension})
	require.NoError(t, err)
	await("the mail", func() bool { return len(bodies(t, mailbox, "Agent coder")) == 1 })
	text := bodies(t, mailbox, "Agent coder")[0]
	code := fourDigits.FindStringSubmatch(text)[1]
	before, err := ada.ListRunEvents(t.Context(), run.RunID, client.EventListParams{})
	require.NoError(t, err)

	browser := startBrowser(t)
	addresses := mailedAddress.FindAllString(text, -1)
	require.NotEmpty(t, addresses)
	robot := openPage(t, browser, service.URL(), "/livez")
	for _, address := range addresses {
		path, ours := strings.CutPrefix(address, external)
		require.True(t, ours, address)
		for range 10 {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				request, err := http.NewRequestWithContext(t.Context(), method, service.URL()+path, http.NoBody)
				require.NoError(t, err)
				reply, err := http.DefaultClient.Do(request)
				require.NoError(t, err)
				require.NoError(t, reply.Body.Close())
				require.Equal(t, http.StatusOK, reply.StatusCode)
			}
		}
		robot.pressEverything(path, code)
	}
	after, err := ada.ListRunEvents(t.Context(), run.RunID, client.EventListParams{})
	require.NoError(t, err)
	require.Equal(t, before, after, "nothing was decided, and nothing left a trace")

	p := openPage(t, browser, service.URL(), "/livez")
	for _, theme := range []string{"dark", "light"} {
		p.in(theme, 390, 844)
		p.load(strings.TrimPrefix(addresses[0], external))
		p.find("heading", "Approval needed: deploy")
		require.NotContains(t, p.shown(), "hunter2")
		p.accessible("the page of a link")
		p.find("textbox", "Code from the message").write(code)
		p.find("button", "Continue").click()
		p.find("button", "Deny")
		require.Contains(t, p.shown(), `"to": "production"`)
		p.accessible("the request of a link")
		require.Equal(t, "fits", p.read(`document.documentElement.scrollWidth <= innerWidth ? "fits" : "is too wide"`))
	}
	p.find("button", "Allow").click()
	p.until("the decision", func() bool { return strings.Contains(p.shown(), "You allowed deploy.") })
	p.accessible("the decision by a link")
	decided, err := ada.GetRequest(t.Context(), run.PendingApprovals[0].Handle)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeAllowed, decided.Resolution.Outcome)
	require.Equal(t, "user:ada", decided.Resolution.ResolvedBy)
	require.Equal(t, "link:email", decided.Resolution.Via)

	// Ada forwards a mail to Ben, who signs in from its link.
	suspension = one(approval("migrate", `{"to":"production"}`))
	run, err = worker.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s2", AgentID: "coder", Input: 1, Suspend: &suspension})
	require.NoError(t, err)
	await("the mail", func() bool { return len(bodies(t, mailbox, "migrate")) == 1 })
	colleague := openPage(t, browser, service.URL(), strings.TrimPrefix(mailedAddress.FindString(bodies(t, mailbox, "migrate")[0]), external))
	colleague.find("link", "Open in the inbox").click()
	colleague.find("textbox", "Token").write(token("ben", api.RoleOperator))
	colleague.find("button", "Sign in").click()
	item := colleague.linked(run.PendingApprovals[0].Handle)
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	decided, err = ada.GetRequest(t.Context(), run.PendingApprovals[0].Handle)
	require.NoError(t, err)
	require.Equal(t, "user:ben", decided.Resolution.ResolvedBy)
	require.Equal(t, "api:inbox", decided.Resolution.Via)

	require.NotContains(t, service.Log(), strings.TrimPrefix(addresses[0], external+"/l/")[:20])
	require.Contains(t, service.Log(), "/l/hplink_…")
}

// pressEverything presses every button and link of a page and of the pages behind them, with empty fields, without the
// browser's checks of a form, and with numbers in the fields that are not the code.
func (p *page) pressEverything(path, code string) {
	p.t.Helper()
	for range 3 {
		p.load(path)
		require.Equal(p.t, "2", p.eval(`String(document.querySelectorAll("button, input[type=submit], a").length)`))
		p.find("button", "Continue").click() // the browser asks for the code
		p.find("link", "Open in the inbox").click()
		p.until("the inbox", func() bool { return p.read("location.pathname + document.readyState") == "/complete" })
	}
	for _, typed := range []string{"", "0000", "1234"} {
		if typed == code {
			continue
		}
		p.load(path)
		p.eval(`(document.querySelectorAll("input").forEach(field => { field.value = ` + quoted(typed) + ` }), document.forms[0].submit(), "sent")`)
		want := map[bool]string{true: "Enter the code from the message.", false: "Wrong code."}[typed == ""]
		p.until("the answer to "+typed, func() bool { return strings.Contains(p.shown(), want) })
		p.eval(`(document.querySelectorAll("button[name=decision]").forEach(button => button.click()), "pressed")`)
	}
}
