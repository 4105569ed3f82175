// Package audit holds the commands to export a service's audit log, and to verify an export
// without the service. The audit library defines the format and the checks. The package must not know a
// database.
package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// Audit is the command holdpoint audit.
type Audit struct {
	Export export `cmd:"" help:"Export the audit log, to archive and verify it."`
	Verify verify `cmd:"" help:"Verify an export without the service."`
	Redact redact `cmd:"" help:"Permanently remove event contents from a session."`
	Log    log    `cmd:"" help:"Show changes of tokens, rules and webhooks, and sign-ins, oldest first."`
}

type export struct {
	console.Connection
	SessionID string `name:"session-id" aliases:"session" placeholder:"ID" help:"Only this session."`
	Since     string `placeholder:"TIME" help:"Start each session at its first event at or after this time: RFC 3339, or milliseconds since the epoch."`
}

// Run writes the export to stdout.
func (c *export) Run(ctx context.Context, terminal *console.Console) error {
	sinceMs, err := momentOf("--since", c.Since)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(terminal.Stdout, 64<<10)
	err = c.Call(func(service *client.Client) error {
		return service.ExportAudit(ctx, client.AuditExportParams{SessionID: c.SessionID, SinceMs: sinceMs}, out)
	})
	return errors.Join(err, out.Flush())
}

// momentOf returns the time that a flag gives, 0 without a text.
func momentOf(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 {
		return ms, nil
	}
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil || moment.UnixMilli() < 0 {
		return 0, console.Usage("%s: %q is neither RFC 3339 nor milliseconds since the epoch", flag, text)
	}
	return moment.UnixMilli(), nil
}

type verify struct {
	console.Format
	console.Certificates
	Keys string `required:"" placeholder:"FILE|URL" help:"Public keys: a file with the reply of GET /v1/keys, or its URL."`
	File string `arg:"" placeholder:"FILE" help:"Export file."`
}

// Help returns the text below the flags in --help.
func (c *verify) Help() string {
	return "Needs only the file and the keys. Keep the keys outside of the service: anyone who can change its database can add a key.\n\n" +
		"Exit codes: 0 the file is intact, 1 it is not (prints the first changed, added, moved or missing line), 2 usage, 3 the check could not run."
}

// verdict is the JSON that verify prints.
type verdict struct {
	Whole      bool   `json:"whole"`
	Line       int64  `json:"line,omitzero"`
	Detail     string `json:"detail,omitempty"`
	SessionID  string `json:"session_id,omitempty"`
	SinceMs    int64  `json:"since_ms,omitzero"`
	ExportedMs int64  `json:"exported_at_ms,omitzero"`
	EndedMs    int64  `json:"ended_at_ms,omitzero"`
	Sessions   int64  `json:"sessions"`
	Events     int64  `json:"events"`
	// Entries counts the entries of the audit log itself.
	Entries   int64 `json:"entries"`
	Redacted  int64 `json:"redacted"`
	Unchained int64 `json:"unchained"`
	// Checkpoints counts the signed checkpoints. SignedEvents counts the events that they
	// cover, AbsentEvents the covered events of sessions that the file leaves out.
	Checkpoints  int64 `json:"checkpoints"`
	SignedEvents int64 `json:"signed_events"`
	AbsentEvents int64 `json:"absent_events"`
	// YoungSessions counts the sessions that checkpoints contradict, unless the earlier session with the id was
	// deleted while the export was written.
	YoungSessions int64 `json:"young_sessions"`
	// TrimmedSessions counts the sessions without their first events, MissingSessions names those that checkpoints
	// name and that are neither in the file nor deleted by a line of the audit log.
	TrimmedSessions int64    `json:"trimmed_sessions"`
	MissingSessions []string `json:"missing_sessions,omitempty"`
}

// Run verifies the file.
func (c *verify) Run(ctx context.Context, terminal *console.Console) error {
	caller, err := c.caller(terminal)
	if err != nil {
		return err
	}
	defer caller.CloseIdleConnections()
	keys, err := readKeys(ctx, c.Keys, caller)
	if err != nil {
		return console.Failed(console.ExitNotExamined, "--keys: %w", err)
	}
	file, err := os.Open(c.File)
	if err != nil {
		return console.Failed(console.ExitNotExamined, "%w", err)
	}
	defer file.Close()
	report, err := audit.Verify(file, keys)
	var broken *audit.BrokenError
	if err != nil && !errors.As(err, &broken) {
		return console.Failed(console.ExitNotExamined, "%w", err)
	}
	found := verdict{
		Whole: broken == nil, SessionID: report.SessionID, SinceMs: report.SinceMs, ExportedMs: report.AtMs, EndedMs: report.EndMs,
		Sessions: report.Chains, Events: report.Events, Entries: report.Entries, Redacted: report.Redacted, Unchained: report.Unchained,
		Checkpoints: report.Checkpoints, SignedEvents: report.Signed, AbsentEvents: report.Absent, YoungSessions: report.Young,
		TrimmedSessions: report.Trimmed, MissingSessions: report.Missing,
	}
	if broken != nil {
		found.Line, found.Detail = broken.Line, broken.Detail
	}
	if c.JSON {
		if err := console.PrintJSON(terminal.Stdout, found); err != nil {
			return err
		}
	} else {
		found.print(terminal)
	}
	if broken != nil {
		return console.ExitWith(console.ExitError)
	}
	return nil
}

// maxNamed is how many missing sessions the text names.
const maxNamed = 5

func (v *verdict) print(terminal *console.Console) {
	if !v.Whole {
		fmt.Fprintf(terminal.Stdout, "line %d: %s\n", v.Line, console.Printable(v.Detail, false))
		return
	}
	fmt.Fprintf(terminal.Stdout, "whole: %d events of %d sessions and %d lines of the audit's own log, exported at %s", v.Events, v.Sessions, v.Entries, time.UnixMilli(v.ExportedMs).UTC().Format(time.RFC3339))
	if v.Redacted > 0 {
		fmt.Fprintf(terminal.Stdout, ", %d of them redacted", v.Redacted)
	}
	if v.Unchained > 0 {
		fmt.Fprintf(terminal.Stdout, ", %d of them from before there were hashes", v.Unchained)
	}
	fmt.Fprintf(terminal.Stdout, "; %d checkpoints name %d of them", v.Checkpoints, v.SignedEvents)
	if v.AbsentEvents > 0 {
		fmt.Fprintf(terminal.Stdout, " and %d of sessions that are not in the file", v.AbsentEvents)
	}
	fmt.Fprintln(terminal.Stdout)
	if v.SessionID != "" {
		fmt.Fprintf(terminal.Stdout, "the file has session %s alone\n", console.Printable(v.SessionID, false))
	}
	if v.SinceMs > 0 {
		fmt.Fprintf(terminal.Stdout, "the file begins at %s: it says nothing about what was before\n", time.UnixMilli(v.SinceMs).UTC().Format(time.RFC3339))
	}
	if v.TrimmedSessions > 0 {
		fmt.Fprintf(terminal.Stdout, "not checked: %d sessions are without their first events, as retention leaves them. "+
			"Where --keep-runs was never given, somebody has deleted these events.\n", v.TrimmedSessions)
	}
	if count := len(v.MissingSessions); count > 0 {
		shown := strings.Join(v.MissingSessions[:min(count, maxNamed)], ", ")
		if count > maxNamed {
			shown += ", …"
		}
		fmt.Fprintf(terminal.Stdout, "not checked: %d sessions that checkpoints name are not in the file, and no line says that they were deleted: %s. "+
			"Export again: if a later file does not say it either, somebody has deleted them.\n", count, console.Printable(shown, false))
	}
	if v.YoungSessions > 0 {
		fmt.Fprintf(terminal.Stdout, "not checked: %d sessions began while the export was written, and have other first events than checkpoints name. "+
			"Export again: a later file says whether the earlier sessions with their ids were deleted.\n", v.YoungSessions)
	}
}

// Limits for keys read over HTTP.
const (
	maxKeysBytes = 4 << 20
	keysTimeout  = 30 * time.Second
)

// IsURL reports whether --keys of verify is a URL, and not a file.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// caller returns the HTTP client for reading keys.
func (c *verify) caller(terminal *console.Console) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if IsURL(c.Keys) {
		if chosen := terminal.Context; chosen.Server != "" && strings.HasPrefix(c.Keys, strings.TrimRight(chosen.Server, "/")+"/") {
			c.Complete(chosen)
		}
		secured, err := c.Config(c.Keys)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = secured
	}
	return &http.Client{Transport: transport}, nil
}

func readKeys(ctx context.Context, from string, caller *http.Client) (*signing.Public, error) {
	text, err := readKeyText(ctx, from, caller)
	if err != nil {
		return nil, err
	}
	var set api.KeySet
	if err := json.Unmarshal(text, &set); err != nil || set.Keys == nil {
		return nil, errors.New("not a JWKS: save the reply of GET /v1/keys to a file")
	}
	return signing.NewPublic(set)
}

func readKeyText(ctx context.Context, from string, caller *http.Client) ([]byte, error) {
	if !IsURL(from) {
		file, err := os.Open(from)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return io.ReadAll(io.LimitReader(file, maxKeysBytes))
	}
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := caller.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", from, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxKeysBytes))
}
