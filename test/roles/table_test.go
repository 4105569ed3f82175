//go:build faults

package roles

import (
	"regexp"
	"strings"
)

// caller is a caller with a role. A caller with a prefix can only reach sessions whose ids
// start with it, one with an agent only runs of that agent.
type caller struct {
	name, role, prefix, agent string
	// own reaches what it made alone: an agent without bounds.
	own    bool
	secret string
}

// principal is who the caller is in events.
func (c *caller) principal() string { return "user:" + c.name }

var callers = []*caller{
	{name: "observer", role: "observer"},
	{name: "observer-a", role: "observer", prefix: "a-"},
	{name: "agent-a", role: "agent", prefix: "a-"},
	{name: "agent-b", role: "agent", prefix: "b-"},
	{name: "agent-own", role: "agent", own: true},
	{name: "operator", role: "operator"},
	{name: "operator-a", role: "operator", prefix: "a-"},
	{name: "operator-coder", role: "operator", agent: "coder"},
	{name: "operator-other", role: "operator", agent: "other"},
	{name: "agent-other", role: "agent", agent: "other"},
	{name: "admin", role: "admin"},
	{name: "nobody"},
	{name: "forger"},
}

// reaches reports whether a session may be there for the caller. What an agent without bounds made
// has sessions of its own here; the others' are made before the calls.
func (c *caller) reaches(sessionID string) bool {
	if c.own {
		return !strings.HasPrefix(sessionID, "a-") && !strings.HasPrefix(sessionID, "b-")
	}
	return strings.HasPrefix(sessionID, c.prefix)
}

// fits reports whether a run is one that the caller may act on.
func (c *caller) fits(run string) bool { return c.agent == "" || run == "" || agentOf(run) == c.agent }

// rows says which roles may make a call; the first row that matches counts.
var rows = []struct {
	method string
	path   *regexp.Regexp
	roles  string
}{
	{"", regexp.MustCompile(`^/(livez|readyz|v1/keys)$`), "public"},
	{"", regexp.MustCompile(`^/v1/(me|stream-tickets|logout)$|^/version$`), "observer agent operator admin"},
	{"", regexp.MustCompile(`^/v1/(tokens|webhooks|audit)|/redact$|/dead-letter|/effects/.*/retry$`), "admin"},
	{"", regexp.MustCompile(`^/v1/channels`), "admin"},
	{"", regexp.MustCompile(`^/v1/me/|/acknowledgement$`), "operator admin"},
	{"", regexp.MustCompile(`/mailbox|/resume$`), "agent admin"},
	{"GET", regexp.MustCompile(``), "observer agent operator admin"},
	{"POST", regexp.MustCompile(`^/v1/rules/explain$`), "observer agent operator admin"},
	{"", regexp.MustCompile(`^/v1/rules`), "operator admin"},
	{"POST", regexp.MustCompile(`/(cancel|interrupt)$|^/cancel/`), "agent operator admin"},
	{"POST", regexp.MustCompile(`/(approvals|approval-runs|questions|end|decision|respond)$|^/chat/relay/`), "operator admin"},
	{"POST", regexp.MustCompile(``), "agent admin"},
}

// permits reports whether the caller's role may make a call at all.
func (c *caller) permits(method, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	for _, row := range rows {
		if (row.method == "" || row.method == method) && row.path.MatchString(path) {
			return row.roles == "public" || c.role != "" && strings.Contains(" "+row.roles+" ", " "+c.role+" ")
		}
	}
	return false
}

// mayCause reports whether an event of a type may have been caused by the caller.
func (c *caller) mayCause(sessionID, eventType string, outcomes []string) bool {
	if c.role == "" || c.role == "observer" || !c.reaches(sessionID) {
		return false
	}
	for _, outcome := range outcomes {
		switch outcome {
		case "allowed", "denied", "answered", "declined":
			if c.role == "agent" {
				return false
			}
		}
	}
	switch eventType {
	case "interrupted", "cancelled", "approval_resolved", "user_question_resolved", "user_question_answered", "request_acknowledged", "queued", "started":
		return true // the next run of a session starts when one ends
	}
	return c.role == "agent" || c.role == "admin"
}
