package rules

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// holdsIn reports whether the rule applies to calls in a directory, which is empty if unknown
// (docs/spec/v1.md#match). An allow applies to the same text alone. A deny or an ask cannot be
// avoided by another spelling, from a directory below, or by not naming the directory.
func (r *Rule) holdsIn(directory string) bool {
	of := r.Match.Directory
	switch {
	case of == "":
		return true
	case r.Effect == api.RuleAllow:
		return directory == of
	}
	above, below := spelledDirectory(of), spelledDirectory(directory)
	unknown := directory == "" || climbs(directory) || absolute(below) != absolute(above)
	return unknown || strings.HasPrefix(below, above)
}

// spelledDirectory returns the one spelling of a directory that deny and ask rules compare, with a
// slash at its end.
func spelledDirectory(text string) string {
	short := Folded(cleaned(strings.TrimSpace(text)))
	return strings.TrimRight(withoutTails(withoutAlias(strings.TrimSuffix(short, "/")+"/")), "/") + "/"
}

// shownDirectory returns the condition on the directory as part of the rule's text.
func (r *Rule) shownDirectory() string {
	switch {
	case r.Match.Directory == "":
		return ""
	case r.Effect == api.RuleAllow:
		return ", in the directory " + quoted(r.Match.Directory)
	}
	return ", in the directory " + quoted(r.Match.Directory) + " or below it, or in an unknown one"
}
