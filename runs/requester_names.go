package runs

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// maxRequesters limits the requesters that a session stores. Beyond it every principal counts as one,
// so nobody can allow an approval that excludes requesters.
const maxRequesters = 200

// everybody stands for all principals in a list of requesters. It is not a valid principal.
const everybody = "*"

// requesters are principals, one per line, normalized by requesterName. A session's list has every
// principal that created a run in it or held a lease, so that a decision need not read the runs.
type requesters string

// requesterName normalizes a name, so that a principal and a gateway's name for the same person are
// equal. A name that is not a principal in any spelling is treated as a user.
func requesterName(name string) string {
	if auth.ValidPrincipal(name) {
		return name
	}
	if principal := rules.Folded(name); auth.ValidPrincipal(principal) {
		return principal
	}
	return "user:" + strings.ReplaceAll(name, "\n", " ")
}

func (r requesters) lists(name string) bool {
	return strings.Contains("\n"+string(r)+"\n", "\n"+name+"\n")
}

// has reports whether a name belongs to a requester, however either is spelled: one person may have the
// tokens of both "user:ada" and "user:Ada".
func (r requesters) has(name string) bool {
	all := requesters(rules.Folded(string(r)))
	return name != "" && (all.lists(everybody) || all.lists(rules.Folded(requesterName(name))))
}

// with returns the list extended by the names.
func (r requesters) with(names ...string) requesters {
	for _, name := range names {
		if name != "" {
			r = r.and(requesterName(name))
		}
	}
	return r
}

// and returns the list extended by one line.
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

// joined returns the names of several lists, or everybody if there are more than maxRequesters.
func joined(lists []requesters) requesters {
	known := map[string]bool{"": true}
	var names []string
	for _, list := range lists {
		for name := range strings.SplitSeq(string(list), "\n") {
			switch {
			case known[name]:
				continue
			case len(names) == maxRequesters:
				return everybody
			}
			known[name] = true
			names = append(names, name)
		}
	}
	return requesters(strings.Join(names, "\n"))
}

// ancestors are the requesters of the ancestor sessions, read before the lock. Nil means that they
// were not read.
type ancestors *requesters

func excludesRequester(s *api.Suspension) bool {
	return slices.ContainsFunc(s.Approvals, func(asked api.ApprovalRequest) bool { return asked.ExcludeRequester })
}
