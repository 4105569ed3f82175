package rules

import (
	"regexp"
	"strings"

	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// hostNames are members that hold the name of a host. A tool may put it into a URL, or among the words of a command.
var hostNames = shellcmd.WordSet("host hostname hosts domain domainname fqdn remotehost targethost serverhost serverhostname remote server")

// uncoveredHost returns why a glob's wildcard may not cover the name of a host.
func (c *Call) uncoveredHost(match globMatch) paramFault {
	match.spelled, match.globSpelled = make([]bool, len(match.text)), make([]bool, len(match.glob))
	markHost(match.text, 0, false, match.spelled)
	markHost(withoutSingle(match.glob), 0, false, match.globSpelled)
	if at := strings.IndexByte(match.text, '/'); at >= 0 {
		match.spelled[at] = true
	}
	if matches, _ := c.Budget.match(match); !matches {
		return paramUncovered
	}
	return noFault
}

const beforeHost = "://"

var (
	hostOfGlob = regexp.MustCompile(beforeHost + `([^/\s"']*)(/?)`)
	port       = regexp.MustCompile(`^:[0-9*]*(?:$|[/?#\s"'])`)
)

// markHosts marks the bytes in the hosts of the URLs of a command, and of a glob for it, that only the same ones of the
// glob may match. It marks none for a glob that allows every host. After a wildcard at the end of a host, such as that of
// http://localhost:**, anything may follow the host.
func (m *globMatch) markHosts() {
	named, open := false, false
	for _, found := range hostOfGlob.FindAllStringSubmatch(m.glob, -1) {
		if host := found[1]; strings.Trim(host, "*?") != "" {
			named, open = true, open || found[2] == "" && strings.HasSuffix(host, "*")
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
	for at, r := range text[from:] {
		at += from
		switch plain := Folded(string(r)); {
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
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
		return false
	case r == '\u2044', r == '\u2215': // look like slashes
		return true
	}
	return r < 0x80
}
