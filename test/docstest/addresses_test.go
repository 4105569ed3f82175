package docstest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// mailServer hands on the text of each mail.
type mailServer struct{ mails chan string }

// NewSession implements smtp.Backend.
func (m *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) { return m, nil }

func (m *mailServer) Reset()                               {}
func (m *mailServer) Logout() error                        { return nil }
func (m *mailServer) Mail(string, *smtp.MailOptions) error { return nil }
func (m *mailServer) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (m *mailServer) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	m.mails <- string(text)
	return err
}

// TestAnAddressIsVerifiedAsThePageSays starts a service with the file of the page, adds an address with the page's first command,
// and verifies it with the second one and the code of the mail.
func TestAnAddressIsVerifiedAsThePageSays(t *testing.T) {
	t.Parallel()
	const page, host, address, code = "docs/notifications.md", "smtp://mail.example.com:587", "$ADDRESS_ID", "123456"
	all := blocksOf(t)
	one := func(is func(b block) bool) string {
		at := slices.IndexFunc(all, func(b block) bool { return b.page == page && is(b) })
		require.GreaterOrEqual(t, at, 0)
		return all[at].text
	}
	commands := strings.Split(strings.TrimSpace(one(func(b block) bool { return b.mark == "test:address" })), "\n")
	require.Len(t, commands, 2)
	channels := one(func(b block) bool { return b.language == "yaml" && strings.Contains(b.text, host) })

	mail := &mailServer{mails: make(chan string, 1)}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := smtp.NewServer(mail)
	server.Domain = "localhost"
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		require.NoError(t, server.Close())
		if err := <-served; !errors.Is(err, smtp.ErrServerClosed) {
			require.NoError(t, err)
		}
	}()
	file := filepath.Join(t.TempDir(), "channels.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(channels, host, "smtp://"+listener.Addr().String(), 1)), 0o600))

	first := func(pattern, text string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		require.NotNil(t, found, text)
		return found[1]
	}
	startOnce(t, page, []string{"serve", "--channels", file}, func(url string) {
		told := func(command string) string {
			var stdout bytes.Buffer
			words := strings.Fields(strings.ReplaceAll(command, `"`, "") + " --server " + url)[1:]
			code, stderr := runIn(t.Context(), nil, words, &stdout)
			require.Zero(t, code, "%s: %s", command, stderr)
			return stdout.String()
		}
		added := told(commands[0])
		require.Regexp(t, `(?m)^verified: +no`, added)
		sent := first(`(?m)^Code: (\d{6})\r?$`, <-mail.mails)
		require.Contains(t, commands[1], address)
		require.Contains(t, commands[1], code)
		verify := strings.NewReplacer(address, first(`(?m)^address id: +(address_\S+)`, added), code, sent).Replace(commands[1])
		require.NotRegexp(t, `(?m)^verified: +no`, told(verify))
		require.Regexp(t, `address_\S+ +mail +ada@example\.com `, told("holdpoint me addresses list"))
	})
}
