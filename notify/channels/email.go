package channels

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/loopback"
	"github.com/holdpoint/holdpoint/notify"
)

// smtpTimeout limits a connection to the mail server.
const smtpTimeout = 15 * time.Second

// email sends through the operator's SMTP server.
type email struct {
	host    string
	options []gomail.Option
	from    string
	domain  string
	timeout time.Duration
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	// tls is set if the connection begins with TLS.
	tls      *tls.Config
	showMore bool
	links    api.LinkMode
}

// mechanisms are the sign-ins over a connection that begins with TLS, the best one first. The library would find them itself,
// but does not know that a connection which it did not dial is encrypted.
var mechanisms = []gomail.SMTPAuthType{
	gomail.SMTPAuthSCRAMSHA256PLUS, gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1PLUS, gomail.SMTPAuthSCRAMSHA1,
	gomail.SMTPAuthNTLM, gomail.SMTPAuthCramMD5, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin,
}

func (c *channel) email(folder string) (*email, error) {
	if c.hasHTTP() {
		return nil, errors.New("url, method, headers, body, settled_body and secret_files are of http channels")
	}
	at, err := url.Parse(c.SMTP)
	if err != nil || at.Scheme != "smtp" && at.Scheme != "smtps" || at.Hostname() == "" || at.User != nil {
		return nil, errors.New("smtp must be smtp://HOST:PORT or smtps://HOST:PORT")
	}
	from, err := mail.ParseAddress(c.From)
	if err != nil {
		return nil, errors.New("from must be an address")
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	made := &email{host: at.Hostname(), from: from.String(), domain: domain, timeout: smtpTimeout, dial: (&net.Dialer{}).DialContext, showMore: c.Content == contentSummary, links: c.Links}
	made.options = []gomail.Option{gomail.WithoutNoop(), gomail.WithoutRset()}
	switch {
	case at.Scheme == "smtps":
		made.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: made.host}
		made.options = append(made.options, gomail.WithSSL(), gomail.WithPort(465))
	case loopback.Is(at.Hostname()):
		// A mail server of this machine may be used without TLS, so its certificate proves nothing: usually
		// it is self-signed.
		unverified := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: made.host, InsecureSkipVerify: true} //nolint:gosec // G402: a loopback address
		made.options = append(made.options, gomail.WithTLSPolicy(gomail.TLSOpportunistic), gomail.WithTLSConfig(unverified), gomail.WithPort(25))
	default:
		made.options = append(made.options, gomail.WithTLSPolicy(gomail.TLSMandatory), gomail.WithPort(587))
	}
	if at.Port() != "" {
		port, err := strconv.Atoi(at.Port())
		if err != nil {
			return nil, errors.New("smtp has no such port")
		}
		made.options = append(made.options, gomail.WithPort(port))
	}
	if c.Username != "" {
		password, err := secret(folder, c.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("password_file: %w", err)
		}
		signIn := gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover)
		if made.tls != nil {
			signIn = gomail.WithOpportunisticSMTPAuth(mechanisms...)
		}
		made.options = append(made.options, signIn, gomail.WithUsername(c.Username), gomail.WithPassword(password))
	}
	if _, err := gomail.NewClient(made.host, made.options...); err != nil {
		return nil, errors.New("the mail server cannot be used with these settings")
	}
	return made, nil
}

// Kind implements notify.Channel.
func (e *email) Kind() api.ChannelKind { return api.ChannelEmail }

// Summary implements notify.Channel.
func (e *email) Summary() bool { return e.showMore }

// Links implements notify.Channel.
func (e *email) Links() api.LinkMode { return e.links }

// CheckAddress implements notify.Channel.
func (e *email) CheckAddress(address string) error {
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || parsed.Name != "" || strings.ContainsAny(address, "\r\n \t\"<>") {
		return errors.New("must be the address of a mailbox, such as ada@example.com")
	}
	return nil
}

// Send implements notify.Channel. Retries have the same Message-ID, so that a mailbox shows one
// message.
func (e *email) Send(ctx context.Context, address string, m *notify.Message) error {
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(message.From(e.from), message.To(address)); err != nil {
		return fmt.Errorf("%w: the address cannot be used", notify.ErrPermanent)
	}
	message.Subject(m.Subject)
	message.SetMessageIDWithValue(idOf(m.ID) + "@" + e.domain)
	if m.Thread != "" {
		message.SetGenHeader(gomail.HeaderReferences, "<"+idOf("session "+m.Thread)+"@"+e.domain+">")
	}
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(gomail.TypeTextPlain, m.Text)
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	// The library leaves the connection open if the server stops answering.
	var dialed net.Conn
	defer func() {
		if dialed != nil {
			_ = dialed.Close() // usually closed already
		}
	}()
	dial := func(ctx context.Context, network, address string) (made net.Conn, err error) {
		if dialed, err = e.dialUntil(ctx, network, address); err != nil || e.tls == nil {
			return dialed, err
		}
		encrypted := tls.Client(dialed, e.tls)
		return encrypted, encrypted.HandshakeContext(ctx)
	}
	client, err := gomail.NewClient(e.host, append(slices.Clip(e.options), gomail.WithTimeout(e.timeout), gomail.WithDialContextFunc(dial))...)
	if err != nil {
		return errors.New("the mail server cannot be used with these settings")
	}
	err = client.DialAndSendWithContext(ctx, message)
	if message.IsDelivered() {
		return nil // the server has the message, however it ended the conversation
	}
	return mailFailure(err)
}

// dialUntil returns a connection whose conversation ends with ctx.
func (e *email) dialUntil(ctx context.Context, network, address string) (net.Conn, error) {
	made, err := e.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	atMost, _ := ctx.Deadline()
	return &ending{made, atMost}, nil
}

// ending is a connection with a last deadline. The library sets a new one for each part of a conversation: without a
// bound, an attempt to send outlasts the lease of its effect, and another replica sends the mail again.
type ending struct {
	net.Conn
	at time.Time
}

func (c *ending) SetDeadline(t time.Time) error      { return c.Conn.SetDeadline(c.bounded(t)) }
func (c *ending) SetReadDeadline(t time.Time) error  { return c.Conn.SetReadDeadline(c.bounded(t)) }
func (c *ending) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(c.bounded(t)) }

// bounded returns a deadline, or the last one for a later one and for none.
func (c *ending) bounded(t time.Time) time.Time {
	if t.IsZero() || t.After(c.at) {
		return c.at
	}
	return t
}

func idOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// signInFailed is in the library's error for a refused sign-in, for which it has no type.
const signInFailed = "SMTP AUTH failed"

// mailFailure returns an error without the server's reply, which often contains the address.
func mailFailure(err error) error {
	var refused *gomail.SendError
	var reply *textproto.Error
	var network net.Error
	var dial *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.ErrorCode() >= 500:
		return fmt.Errorf("%w: the mail server answered %d", notify.ErrPermanent, refused.ErrorCode())
	case errors.As(err, &refused) && refused.ErrorCode() >= 400:
		return fmt.Errorf("the mail server answered %d", refused.ErrorCode())
	case refused == nil && errors.As(err, &reply) && strings.Contains(err.Error(), signInFailed):
		// Giving up would lose the messages to everyone until the operator has corrected the password.
		return fmt.Errorf("the mail server refused the sign-in with %d", reply.Code)
	case refused == nil && errors.As(err, &reply) && reply.Code >= 500:
		return fmt.Errorf("%w: the mail server answered %d", notify.ErrPermanent, reply.Code)
	case refused == nil && errors.As(err, &reply) && reply.Code >= 400:
		return fmt.Errorf("the mail server answered %d", reply.Code)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return errors.New("the mail server did not answer in time")
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return errors.New("the certificate of the mail server is not trusted: it is of an unknown authority, expired, or for another name")
	case errors.As(err, &dial) && dial.Op == "dial":
		return errors.New("the mail server cannot be reached")
	}
	return errors.New("the mail server broke off the conversation, or has no STARTTLS or no such sign-in")
}
