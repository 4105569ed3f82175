package channels

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
)

// accepting is an SMTP server that accepts a sign-in and every message, over TLS if it has certificates. commands waits for
// the end of its connection.
func accepting(t *testing.T, encrypted *tls.Config) (address string, commands func() []string) {
	t.Helper()
	var all []string
	address, ended := answering(t, func(connection net.Conn) {
		if encrypted != nil {
			connection = tls.Server(connection, encrypted)
		}
		fmt.Fprint(connection, "220 ready\r\n")
		lines := bufio.NewScanner(connection)
		for data := false; lines.Scan(); {
			command := lines.Text()
			if data && command != "." {
				continue
			}
			all = append(all, command)
			data = command == "DATA"
			switch {
			case data:
				fmt.Fprint(connection, "354 go on\r\n")
			case strings.HasPrefix(command, "EHLO"):
				fmt.Fprint(connection, "250-here\r\n250 AUTH PLAIN\r\n")
			case strings.HasPrefix(command, "AUTH"):
				fmt.Fprint(connection, "235 hello\r\n")
			case command == "QUIT":
				fmt.Fprint(connection, "221 bye\r\n")
			default:
				fmt.Fprint(connection, "250 ok\r\n")
			}
		}
	})
	return address, func() []string {
		<-ended
		return all
	}
}

// deadlines is a connection that records its deadlines.
type deadlines struct {
	net.Conn
	mu  sync.Mutex
	all []time.Time
}

func (d *deadlines) add(t time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, t)
	return t
}

func (d *deadlines) SetDeadline(t time.Time) error      { return d.Conn.SetDeadline(d.add(t)) }
func (d *deadlines) SetReadDeadline(t time.Time) error  { return d.Conn.SetReadDeadline(d.add(t)) }
func (d *deadlines) SetWriteDeadline(t time.Time) error { return d.Conn.SetWriteDeadline(d.add(t)) }

// A conversation with a mail server ends with the attempt to send, whose effect another replica takes over then. A connection
// that begins with TLS counts as encrypted: the password is sent.
func TestAConversationEndsWithItsAttempt(t *testing.T) {
	t.Parallel()
	certificates := httptest.NewUnstartedServer(nil)
	certificates.StartTLS()
	t.Cleanup(certificates.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(certificates.Certificate())
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "password"), []byte("s3cret\n"), 0o600))
	for name, test := range map[string]struct {
		settings channel
		server   *tls.Config
		signsIn  bool
	}{
		"smtp":  {channel{SMTP: "smtp://127.0.0.1"}, nil, false},
		"smtps": {channel{SMTP: "smtps://example.com", Username: "ada", PasswordFile: "password"}, &tls.Config{Certificates: certificates.TLS.Certificates}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, commands := accepting(t, test.server)
			test.settings.Kind, test.settings.From = api.ChannelEmail, "holdpoint@example.com"
			mail, err := test.settings.email(folder)
			require.NoError(t, err)
			if mail.tls != nil {
				mail.tls.RootCAs = trusted
			}
			connection := &deadlines{}
			mail.dial = func(ctx context.Context, network, _ string) (_ net.Conn, err error) {
				connection.Conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
				return connection, err
			}
			mail.timeout = 24 * time.Hour
			attempt := time.Now().Add(time.Hour)
			ctx, cancel := context.WithDeadline(t.Context(), attempt)
			defer cancel()
			require.NoError(t, mail.Send(ctx, "ada@example.com", &notify.Message{ID: "m", Subject: "s", Text: "t"}))
			require.NotEmpty(t, connection.all)
			for _, at := range connection.all {
				require.False(t, at.IsZero() || at.After(attempt), "%v is after %v", at, attempt)
			}
			conversation := strings.Join(commands(), "\n")
			require.Contains(t, conversation, "DATA")
			require.NotContains(t, conversation, "RSET")
			require.Equal(t, test.signsIn, strings.Contains(conversation, "AUTH PLAIN"))
		})
	}
}
