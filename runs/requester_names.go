package runs

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// maxRequesters bounds the requesters that a session keeps. Beyond it everybody is one: what excludes
// them is then allowed by nobody.
const maxRequesters = 200

// everybody stands for all principals in a list of requesters. No principal has this name.
const everybody = "*"

// requesters are principals, one a line, in the form of requesterName. The list of a session has
// whoever made a run in it or held the lease of one, so that a decision need not read the runs.
type requesters string

// requesterName returns one name for a principal and for what a gateway calls the same person: a name
// that is no principal is a user's.
func requesterName(name string) string {
	if auth.ValidPrincipal(name) {
		return name
	}
	return "user:" + strings.ReplaceAll(name, "\n", " ")
}

func (r requesters) lists(name string) bool {
	return strings.Contains("\n"+string(r)+"\n", "\n"+name+"\n")
}

// has reports whether a name is that of a requester.
func (r requesters) has(name string) bool {
	return name != "" && (r.lists(everybody) || r.lists(requesterName(name)))
}

// with returns the list with the names.
func (r requesters) with(names ...string) requesters {
	for _, name := range names {
		if name != "" {
			r = r.and(requesterName(name))
		}
	}
	return r
}

// and returns the list with a line of another.
func (r requesters) and(line string) requesters {
	switch {
	case line == "" || r.lists(everybody) || r.lists(line):
		return r
	case r == "":
		return requesters(line)
	case strings.Count(string(r), "\n")+1 >= maxRequesters:
		line = everybody
	}
	return r + "\n" + requesters(line)
}

// ancestors are the requesters of the sessions above one, read before the lock. Nil says that they
// were not read.
type ancestors *requesters

func excludesRequester(s *api.Suspension) bool {
	for i := range s.Approvals {
		if s.Approvals[i].ExcludeRequester {
			return true
		}
	}
	return false
}
