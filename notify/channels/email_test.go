package channels

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	gomail "github.com/wneessen/go-mail"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
)

// answering is a server that takes one connection. ended is closed after it.
func answering(t *testing.T, answer func(net.Conn)) (address string, ended <-chan struct{}) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	over := make(chan struct{})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		<-over
	})
	go func() {
		defer close(over)
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		answer(connection)
	}()
	return listener.Addr().String(), over
}

// mute is an SMTP server that stops answering at a command: "" for the greeting, "." for the end of the
// message. If hangsUp, it closes the connection there.
func mute(t *testing.T, at string, hangsUp bool) string {
	t.Helper()
	address, _ := answering(t, func(connection net.Conn) {
		lines := bufio.NewScanner(connection)
		if at != "" {
			fmt.Fprint(connection, "220 ready\r\n")
		}
		for data := false; at != "" && lines.Scan(); {
			command := strings.ToUpper(lines.Text())
			switch {
			case data && command != ".":
				continue
			case strings.HasPrefix(command, at):
				if hangsUp {
					return
				}
				at = ""
			case command == "DATA":
				data = true
				fmt.Fprint(connection, "354 go on\r\n")
			case command == ".":
				data = false
				fmt.Fprint(connection, "250 taken\r\n")
			default:
				fmt.Fprint(connection, "250 ok\r\n")
			}
		}
		_, _ = io.Copy(io.Discard, connection) // until the client hangs up
	})
	return "smtp://" + address
}

// A mail server that stops answering costs one attempt its time, and the message is tried again.
func TestAMailServerThatStopsAnswering(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"", "EHLO", "MAIL", "RCPT", "DATA", "."} {
		t.Run("at "+at, func(t *testing.T) {
			t.Parallel()
			mail, err := (&channel{Kind: api.ChannelEmail, SMTP: mute(t, at, false), From: "holdpoint@example.com"}).email("")
			require.NoError(t, err)
			require.Less(t, mail.timeout, 20*time.Second, "what Channel.Send promises")
			mail.timeout = 100 * time.Millisecond
			done := make(chan error, 1)
			go func() {
				done <- mail.Send(t.Context(), "ada@example.com", &notify.Message{ID: "m", Subject: "s", Text: "t"})
			}()
			select {
			case err := <-done:
				require.EqualError(t, err, "the mail server did not answer in time")
				require.NotErrorIs(t, err, notify.ErrPermanent)
			case <-time.After(time.Minute):
				t.Fatal("the message is sent for a minute")
			}
		})
	}
}

// refusing is an SMTP server that answers a command with a code, and everything else as it should: "" for the greeting.
func refusing(t *testing.T, at string, code int) string {
	t.Helper()
	address, _ := answering(t, func(connection net.Conn) {
		if at == "" {
			fmt.Fprintf(connection, "%d ada@example.com is not welcome\r\n", code)
			return
		}
		fmt.Fprint(connection, "220 ready\r\n")
		for lines := bufio.NewScanner(connection); lines.Scan(); {
			switch command, _, _ := strings.Cut(strings.ToUpper(lines.Text()), " "); {
			case strings.Contains(at, command):
				fmt.Fprintf(connection, "%d ada@example.com is not welcome\r\n", code)
			case command == "EHLO":
				fmt.Fprint(connection, "250-here\r\n250 AUTH CRAM-MD5\r\n")
			default:
				fmt.Fprint(connection, "250 ok\r\n")
			}
		}
	})
	return "smtp://" + address
}

// A reply of 5xx is final from the greeting on, except to the sign-in: that is the operator's to correct.
func TestAMailServerThatRefuses(t *testing.T) {
	t.Parallel()
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte("secret"), 0o600))
	for name, test := range map[string]struct {
		at    string
		code  int
		final bool
		want  string
	}{
		"the greeting":            {"", 554, true, "the mail server answered 554"},
		"the greeting for now":    {"", 421, false, "the mail server answered 421"},
		"EHLO and HELO":           {"EHLO HELO", 550, true, "the mail server answered 550"},
		"EHLO and HELO for now":   {"EHLO HELO", 421, false, "the mail server answered 421"},
		"the sign-in":             {"AUTH", 535, false, "the mail server refused the sign-in with 535"},
		"the sender":              {"MAIL", 550, true, "the mail server answered 550"},
		"the recipient":           {"RCPT", 550, true, "the mail server answered 550"},
		"the recipient for now":   {"RCPT", 451, false, "the mail server answered 451"},
		"the beginning of a mail": {"DATA", 554, true, "the mail server answered 554"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := &channel{Kind: api.ChannelEmail, SMTP: refusing(t, test.at, test.code), From: "holdpoint@example.com"}
			if test.at == "AUTH" {
				settings.Username, settings.PasswordFile = "holdpoint", password
			}
			mail, err := settings.email("")
			require.NoError(t, err)
			err = mail.Send(t.Context(), "ada@example.com", &notify.Message{ID: "m", Subject: "s", Text: "t"})
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "ada@example.com")
			require.Equal(t, test.final, errors.Is(err, notify.ErrPermanent))
		})
	}
}

// A message that the mail server accepted is not sent again, even if the server hangs up at once.
func TestAMailServerThatHangsUpAfterTheMessage(t *testing.T) {
	t.Parallel()
	mail, err := (&channel{Kind: api.ChannelEmail, SMTP: mute(t, "QUIT", true), From: "holdpoint@example.com"}).email("")
	require.NoError(t, err)
	require.NoError(t, mail.Send(t.Context(), "ada@example.com", &notify.Message{ID: "m", Subject: "s", Text: "t"}))
}

// selfSigned is an SMTP server with STARTTLS and a certificate of no known authority. It accepts every
// message.
func selfSigned(t *testing.T) (address string) {
	t.Helper()
	certificates := httptest.NewUnstartedServer(nil)
	certificates.StartTLS()
	t.Cleanup(certificates.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		<-ended
	})
	go func() {
		defer close(ended)
		plain, err := listener.Accept()
		if err != nil {
			return
		}
		defer plain.Close()
		connection, encrypted := plain, false
		fmt.Fprint(connection, "220 ready\r\n")
		lines := bufio.NewScanner(connection)
		for data := false; lines.Scan(); {
			command := strings.ToUpper(lines.Text())
			switch {
			case data && command != ".":
			case strings.HasPrefix(command, "EHLO") && !encrypted:
				fmt.Fprint(connection, "250-here\r\n250 STARTTLS\r\n")
			case command == "STARTTLS":
				fmt.Fprint(connection, "220 go on\r\n")
				connection, encrypted = tls.Server(plain, &tls.Config{Certificates: certificates.TLS.Certificates}), true
				lines = bufio.NewScanner(connection)
			case command == "DATA":
				data = true
				fmt.Fprint(connection, "354 go on\r\n")
			default:
				data = false
				fmt.Fprint(connection, "250 ok\r\n")
			}
		}
	}()
	return listener.Addr().String()
}

// The mail server of the machine itself may have a certificate that nobody signed; any other may not.
func TestTheCertificateOfAMailServer(t *testing.T) {
	t.Parallel()
	message := &notify.Message{ID: "m", Subject: "s", Text: "t"}
	mail, err := (&channel{Kind: api.ChannelEmail, SMTP: "smtp://" + selfSigned(t), From: "holdpoint@example.com"}).email("")
	require.NoError(t, err)
	require.NoError(t, mail.Send(t.Context(), "ada@example.com", message))

	address := selfSigned(t)
	mail, err = (&channel{Kind: api.ChannelEmail, SMTP: "smtp://mail.example:587", From: "holdpoint@example.com"}).email("")
	require.NoError(t, err)
	mail.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	require.ErrorContains(t, mail.Send(t.Context(), "ada@example.com", message), "the certificate of the mail server is not trusted")
}

// Only a mail server of the machine itself may do without TLS, however its name is written.
func TestWhichMailServersNeedTLS(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"localhost": "TLSOpportunistic", "LocalHost": "TLSOpportunistic", "127.0.0.1": "TLSOpportunistic", "[::1]": "TLSOpportunistic", "mail.example": "TLSMandatory",
	} {
		mail, err := (&channel{Kind: api.ChannelEmail, SMTP: "smtp://" + host, From: "holdpoint@example.com"}).email("")
		require.NoError(t, err)
		server, err := gomail.NewClient(mail.host, mail.options...)
		require.NoError(t, err)
		require.Equal(t, want, server.TLSPolicy(), host)
	}
}

func TestAMailServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	mail, err := (&channel{Kind: api.ChannelEmail, SMTP: "smtp://mail.example", From: "holdpoint@example.com"}).email("")
	require.NoError(t, err)
	mail.dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	require.EqualError(t, mail.Send(t.Context(), "ada@example.com", &notify.Message{ID: "m", Subject: "s", Text: "t"}), "the mail server cannot be reached")
}
