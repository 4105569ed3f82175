//go:build unix && browser

package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// addresses adds a mail address in the settings, mistypes its code, types it, sets quiet hours, and removes both.
func (f *flows) addresses(t *testing.T) {
	mailbox := rig.NewMailbox(t)
	file := filepath.Join(t.TempDir(), "channels.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "channels:\n  mail: {kind: email, smtp: \"smtp://%s\", from: holdpoint@example.com}\n"+
		"  pager: {kind: http, url: \"http://127.0.0.1:9/\"}\n", mailbox.Address()), 0o600))
	service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db"), Args: []string{"--channels", file, "--webhook-allow", "127.0.0.0/8"}})
	caller := service.ConnectPatiently()

	p := openPage(t, f.browser, service.URL(), "/settings")
	shows := func(text string) { t.Helper(); p.until(text, func() bool { return strings.Contains(p.shown(), text) }) }
	fits := func(where string) {
		t.Helper()
		for theme, width := range map[string]int64{"dark": 360, "light": 1280} {
			p.in(theme, width, 900)
			p.accessible(where)
			require.Equal(t, "yes", p.eval(`document.documentElement.scrollWidth <= innerWidth ? "yes" : document.documentElement.scrollWidth + " wide"`), where)
		}
	}
	p.find("combobox", "Channel").choose("pager")
	p.find("textbox", "Address").write("ada")
	p.find("button", "Send a code").click()
	shows("the code could not be sent")
	p.find("combobox", "Channel").choose("mail")
	p.find("textbox", "E-mail address").write("ada@example.com")
	p.find("button", "Send a code").click()
	code := p.find("textbox", "Code sent to ada@example.com")
	require.Eventually(t, func() bool { return len(bodies(t, mailbox, "Code: ")) == 1 }, patience, 20*time.Millisecond, "the code")
	code.write("wrong")
	p.find("button", "Verify").click()
	shows("4 tries left")
	fits("settings with a wrong code")
	p.find("button", "Send another code").click()
	shows("less than a minute ago")

	p.load("/settings")
	p.find("button", "Type the code for ada@example.com").click()
	p.find("textbox", "Code sent to ada@example.com").write(sixDigits.FindStringSubmatch(bodies(t, mailbox, "Code: ")[0])[1])
	p.find("button", "Verify").click()
	p.until("it is verified", func() bool {
		list, err := caller.ListAddresses(t.Context())
		require.NoError(t, err)
		return len(list.Data) == 2 && list.Data[1].VerifiedAtMs != 0 && len(p.all(nil, "textbox", "Code sent to ada@example.com")) == 0
	})

	p.find("textbox", "Time zone").write("Nowhere/At all")
	p.find("button", "Save").click()
	shows("time zone, such as")
	p.find("textbox", "Time zone").write("Europe/Berlin")
	p.find("button", "Save").click()
	shows("No messages from 22:00 to 07:00, Europe/Berlin.")
	fits("settings with a verified address and quiet hours")
	quiet, err := caller.GetQuietHours(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Europe/Berlin", quiet.QuietHours.Zone)
	p.find("button", "Turn off").click()
	shows("Messages come at any time.")

	remove := func() []*element { return p.all(nil, "button", "Remove") }
	for n := range 2 {
		p.until("the addresses", func() bool { return len(remove()) == 2-n && len(p.all(nil, "button", "Back")) == 0 })
		remove()[0].click()
		p.find("button", "Back")
		remove()[0].click()
	}
	p.until("there are no addresses", func() bool { return len(remove()) == 0 })
	list, err := caller.ListAddresses(t.Context())
	require.NoError(t, err)
	require.Empty(t, list.Data)
}
