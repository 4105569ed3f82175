package console

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// DefaultServerURL is the default address of serve, and the default server of all commands.
const DefaultServerURL = "http://127.0.0.1:4000"

// Connection holds the flags of every command that calls a service.
type Connection struct {
	Server string `default:"http://127.0.0.1:4000" from:"HOLDPOINT_SERVER" placeholder:"URL" help:"Server address, or unix:PATH (default ${default}; $$HOLDPOINT_SERVER)."`
	Actor  string `from:"HOLDPOINT_ACTOR" placeholder:"NAME" help:"Name to record with your decisions, when no token is required, or yours may act for others (default: your OS user name; $$HOLDPOINT_ACTOR)."`
	// There is no --token flag, because every user can list the command lines of processes.
	TokenFile string `from:"HOLDPOINT_TOKEN_FILE" placeholder:"PATH" help:"Read the token from this file (default: $$HOLDPOINT_TOKEN)."`

	Certificates

	Context string `placeholder:"NAME" help:"Named server, token and certificate; see holdpoint contexts ($$HOLDPOINT_CONTEXT)."`

	// Via is recorded as the way of the decision; cli if empty.
	Via string `kong:"-"`

	// Retry is the retry policy of calls.
	Retry client.RetryPolicy `kong:"-"`

	token string
}

// TokenVariable is the environment variable with the token.
const TokenVariable = "HOLDPOINT_TOKEN"

// AfterApply finds the token and fills in missing flags from the context.
func (c *Connection) AfterApply(terminal *Console) error {
	if c.Server == terminal.Context.Server {
		c.Complete(terminal.Context)
	}
	if c.TokenFile == "" {
		c.token, _ = terminal.LookupEnv(TokenVariable)
		c.token = strings.TrimSpace(c.token)
		if c.token == "" && c.Server == terminal.Context.Server {
			// The token of a context is only sent to its own server.
			c.token = terminal.Context.Token
		}
		return nil
	}
	text, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return Usage("--token-file: %w", err)
	}
	if c.token = strings.TrimSpace(string(text)); c.token == "" {
		return Usage("--token-file: %s is empty", c.TokenFile)
	}
	return nil
}

// Key returns a secret for one purpose. All processes with the same token get the same one;
// without a token it exists only in this process.
func (c *Connection) Key(purpose string) []byte {
	if c.token == "" {
		return []byte(rand.Text())
	}
	sum := hmac.New(sha256.New, []byte(c.token))
	_, _ = sum.Write([]byte(purpose)) // a hash never fails
	return sum.Sum(nil)
}

// Format holds the flag of commands that print records.
type Format struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Reporting holds the flags of a command that prints what the service returns.
type Reporting struct {
	Connection
	Format
}

// Call runs use with a client, which use must not keep, and returns its error. If the
// service did not answer, the error says what to do. An invalid --server and unusable TLS
// files are usage errors.
func (c *Connection) Call(use func(*client.Client) error) error {
	options := []client.Option{
		client.WithActor(c.ActorName()), client.WithVia(cmp.Or(c.Via, "cli")), client.WithUserAgent("holdpoint/" + Version()),
		client.WithRetry(c.Retry),
	}
	if c.token != "" {
		options = append(options, client.WithToken(c.token))
	}
	secured, err := c.Config(c.Server)
	if err != nil {
		return err
	}
	if secured != nil {
		options = append(options, client.WithTLS(secured))
	}
	server := ServerURL(c.Server)
	if path, isSocket := strings.CutPrefix(server, "unix:"); isSocket {
		server = "http://localhost"
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}
		defer transport.CloseIdleConnections()
		options = append(options, client.WithHTTPClient(&http.Client{Transport: transport}))
	}
	opened, err := client.New(server, options...)
	if err != nil {
		return Usage("%w", err)
	}
	defer opened.Close()
	err = use(opened)
	if hint := tlsHint(err); hint != "" && Unanswered(err) {
		return fmt.Errorf("%s: %w\n           %s", c.Server, err, hint)
	}
	if Unanswered(err) {
		return fmt.Errorf("no holdpoint service answers at %s (%w)\n"+
			"           start one with: %s serve\n"+
			"           or set its address with --server URL or HOLDPOINT_SERVER", ServerURL(c.Server), err, Program())
	}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return addressed(c.Server, refused, err)
	}
	return err
}

// addressed adds to a refusal what to change in the address, if that is at fault: another program answered, or the path
// of the address reached the service.
func addressed(server string, refused *client.Error, err error) error {
	server = ServerURL(server)
	address, unreadable := url.Parse(server)
	if unreadable != nil {
		return err
	}
	if refused.Code != "" {
		if path := strings.Trim(address.Path, "/"); refused.Code == "route_not_found" && path != "" && strings.Contains(refused.Detail, "/"+path+"/") {
			return fmt.Errorf("%w: give the address without the path %s in --server or HOLDPOINT_SERVER", err, address.Path)
		}
		return err
	}
	hint := "check the address in --server or HOLDPOINT_SERVER, or ask the log of the proxy in front of the service"
	switch {
	case address.Scheme == "http" && (refused.Status == http.StatusBadRequest || refused.Status/100 == 3):
		hint = "if it serves HTTPS, give the address with https:// in --server or HOLDPOINT_SERVER"
	case refused.Status >= http.StatusInternalServerError:
		hint = "a proxy whose service is down answers so; or check the address in --server or HOLDPOINT_SERVER"
	}
	return fmt.Errorf("%s answers, but not as a holdpoint service: %w; %s", server, err, hint)
}

// ActorName returns the name to record with decisions: --actor, or the OS user, or
// "unknown".
func (c *Connection) ActorName() string {
	if c.Actor != "" {
		return c.Actor
	}
	current, err := user.Current()
	if err != nil || !plainASCII(current.Username) {
		return "unknown"
	}
	return current.Username
}

// ServerFlag returns the flags with which a copied command line reaches the same service,
// each preceded by a space; "" for the default.
func (c *Connection) ServerFlag() string {
	flags := ""
	if c.Server != DefaultServerURL {
		flags = " --server " + prompt.QuoteArgument(c.Server)
	}
	if c.CA != "" {
		flags += " --ca " + prompt.QuoteArgument(c.CA)
	}
	return flags
}

// Link returns the address at which the inbox shows a request; "" for a service on a socket, which no
// browser reaches.
func (c *Connection) Link(handle string) string {
	if strings.HasPrefix(c.Server, "unix:") {
		return ""
	}
	return strings.TrimRight(ServerURL(c.Server), "/") + "/?prompt=" + url.QueryEscape(handle)
}

// ServerURL returns the URL of a server address, which may have no scheme; unix:PATH stays as it is.
func ServerURL(server string) string {
	if strings.Contains(server, "://") || strings.HasPrefix(server, "unix:") {
		return server
	}
	return "http://" + server
}

func plainASCII(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// Unanswered reports whether an error means that no service answered.
func Unanswered(err error) bool {
	return errors.Is(err, client.ErrUnavailable) && !errors.As(err, new(*client.Error))
}

// Explain returns an error as text for a person. It includes the decision that was recorded
// before, if any.
func Explain(err error, now time.Time) string {
	text := err.Error()
	var refused *client.Error
	if !errors.As(err, &refused) {
		return text
	}
	if refused.Recorded != nil {
		// The last line says it with a time that people read faster.
		text = strings.TrimSuffix(text, "; "+refused.Recorded.String())
	}
	text = withoutCode(text, refused.Code)
	lines := []string{text}
	for _, fault := range refused.Faults {
		if !strings.Contains(text, fault.Detail) {
			lines = append(lines, strings.TrimSpace(fault.Pointer+" "+fault.Detail))
		}
	}
	if refused.Code == api.CodeUnauthenticated {
		lines = append([]string{"sign in first: set " + TokenVariable + " or use --token-file PATH"}, lines...)
	}
	if recorded := refused.Recorded; recorded != nil {
		lines = append(lines, recorded.RequestID+" was "+
			prompt.Decided(recorded.Outcome, recorded.ResolvedBy, recorded.Via, Ago(recorded.ResolvedAtMs, now)))
	}
	for i := range lines {
		lines[i] = Printable(lines[i], false)
	}
	return strings.Join(lines, "\n           ")
}

// unknownName matches the service's message about a name that does not exist.
var unknownName = regexp.MustCompile(`\b(?:unknown (\w+) (\S+)|there is no such (\w+))$`)

// withoutCode moves the code of an error about a name that does not exist to the end, as in
// `no run "r1" (run_not_found)`. Other errors stay unchanged.
func withoutCode(text string, code api.Code) string {
	before, message, found := strings.Cut(text, string(code)+": ")
	match := unknownName.FindStringSubmatch(message)
	switch {
	case !found || !strings.HasSuffix(string(code), "_not_found") || match == nil:
		return text
	case match[1] != "":
		message = fmt.Sprintf("no %s %q", match[1], match[2])
	default:
		message = "no such " + match[3]
	}
	return before + message + " (" + string(code) + ")"
}

// Version returns the module's version, its commit, or "dev".
func Version() string {
	info, there := debug.ReadBuildInfo()
	if !there {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return "dev-" + setting.Value[:12]
		}
	}
	return "dev"
}
