package rules

import (
	"regexp"
	"strings"

	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// hostNames are members that hold the name of a host. A tool may put it into a URL, or among the words of a command.
var hostNames = shellcmd.WordSet("host hostname hosts domain domainname fqdn remotehost targethost serverhost serverhostname remote server")

// leavesHost reports whether a glob's wildcard covers more than the name of a host in a member that holds one.
func (c *Call) leavesHost(name string, match globMatch) bool {
	if !hostNames[foldedName(name)] || strings.Trim(match.glob, "*?") == "" {
		return false
	}
	mark := func(text string) []bool {
		spelled := make([]bool, len(text))
		markHost(text, 0, false, spelled)
		if at := strings.IndexByte(text, '/'); at >= 0 {
			spelled[at] = true
		}
		if strings.HasPrefix(text, "-") { // an option of ssh
			spelled[0] = true
		}
		return spelled
	}
	match.spelled, match.globSpelled = mark(match.text), mark(withoutSingle(match.glob))
	matches, _ := c.Budget.match(match)
	return !matches
}

const beforeHost = "://"

var (
	hostOfGlob = regexp.MustCompile(beforeHost + `([^/\s"']*)(/?)`)
	port       = regexp.MustCompile(`^:[0-9*]*(?:$|[/?#\s"'])`)
	inBrackets = regexp.MustCompile(`^\[[0-9A-Fa-f:.]+\](?::[0-9*]*)?(?:$|[/?#\s"'])`)
	// query is the "?" of a glob that ends the host of a URL: no name of a host has a "=".
	query = regexp.MustCompile(`\?[^/\s"'=?*]*=`)
)

// markHosts marks the bytes in the hosts of the URLs of a command, and of a glob for it, that only the same ones of the
// glob may match. It marks none for a glob that names each host in full, or none. If the only wildcard of a host is at its
// end, as in http://localhost:**, anything may follow the host.
func (m *globMatch) markHosts() {
	named, open := false, true
	for _, found := range hostOfGlob.FindAllStringSubmatch(m.glob, -1) {
		host := found[1]
		if at := query.FindStringIndex(host); at != nil {
			host = host[:at[0]]
		}
		if hasWildcard(host) && strings.Trim(host, "*?") != "" {
			named = true
			open = open && host == found[1] && found[2] == "" && !hasWildcard(strings.TrimRight(host, "*"))
		}
	}
	if !named {
		return
	}
	mark := func(text string, spelled []bool) {
		for from := 0; ; {
			at := strings.Index(text[from:], beforeHost)
			if at < 0 {
				return
			}
			from += at + len(beforeHost)
			markHost(text, from, open, spelled)
		}
	}
	mark(m.text, m.spelled)
	if m.globSpelled != nil {
		mark(withoutSingle(m.glob), m.globSpelled)
	}
}

// withoutSingle makes the wildcards of a glob stars: a "?" does not end the host of its URL.
func withoutSingle(glob string) string { return strings.ReplaceAll(glob, "?", "*") }

// markHost marks the bytes of a host in which a program may read another host than the rest says: all but letters, digits,
// "-", ".", "_" and the port. It marks what ends the host as well, unless that is open: it may follow.
func markHost(text string, from int, open bool, spelled []bool) {
	if address := inBrackets.FindString(text[from:]); address != "" {
		from += strings.IndexByte(address, ']') + 1
	}
	for at, r := range text[from:] {
		at += from
		plain := string(r)
		if r >= 0x80 {
			plain = Folded(plain)
		}
		switch {
		case r == '/':
			return
		case strings.ContainsRune("?# \t\n", r):
			spelled[at] = spelled[at] || !open
			return
		case open && (r == '"' || r == '\''): // of the shell
		case r == ':' && port.MatchString(text[at:]):
		case plain == "" || strings.ContainsFunc(plain, endsName):
			spelled[at] = true
		}
	}
}

// endsName reports whether a character is in no name of a host.
func endsName(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
		return false
	case r == '\u2044', r == '\u2215': // look like slashes
		return true
	}
	return r < 0x80
}
