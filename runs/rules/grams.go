package rules

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// gram is three bytes of a text.
type gram uint32

const gramLength = 3

func gramAt(text string, at int) gram {
	return gram(text[at])<<16 | gram(text[at+1])<<8 | gram(text[at+2])
}

// indexedParam returns the param that indexes a rule: the one with the longest glob. The name is
// empty if the rule has none, or is indexed otherwise.
func indexedParam(rule *Rule) (name, glob string) {
	if len(rule.Match.PatternKeys) > 0 || rule.Match.ToolCallID != "" {
		return "", ""
	}
	for _, candidate := range paramNames(&rule.Match) {
		if name == "" || len(rule.Match.Params[candidate]) > len(glob) {
			name, glob = candidate, rule.Match.Params[candidate]
		}
	}
	return name, glob
}

// grams returns the grams that every call which the rule matches has in its indexed param. An allow
// compares the text as written. A deny or an ask compares several globs, each with several texts:
// only a gram of all these globs is certain.
func (r *Rule) grams() (all []gram) {
	name, glob := indexedParam(r)
	if number, is := canonicalNumber(glob); name == "" || is && number != glob {
		return nil // a number also matches texts in another form
	}
	if r.Effect == api.RuleAllow {
		for rest := strings.TrimLeft(glob, "*"); len(glob)-len(rest) > 1 && strings.HasPrefix(rest, "/"); rest = strings.TrimLeft(glob, "*") {
			glob = rest[1:] // "**/" may match no folder
		}
		glob = strings.TrimSuffix(glob, shellcmd.FurtherWords) // a command may have none
		eachGram(glob, func(c rune) bool { return c == '*' || c == '?' }, func(g gram) { all = append(all, g) })
		return all
	}
	var compared refusingGlobs
	compared.of(r.ToolName, name, glob)
	globs := slices.Concat(compared.globs, compared.relative)
	if compared.written != "" {
		globs = append(globs, compared.written)
	}
	foundIn := map[gram]int{}
	for n, glob := range globs {
		eachGram(glob, notAlphanumeric, func(g gram) {
			if foundIn[g] == n {
				foundIn[g]++
			}
		})
	}
	eachGram(globs[0], notAlphanumeric, func(g gram) {
		if foundIn[g] == len(globs) {
			foundIn[g] = 0
			all = append(all, g)
		}
	})
	return all
}

func notAlphanumeric(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }

// eachGram calls do with the grams between the separators of a glob.
func eachGram(glob string, separates func(rune) bool, do func(gram)) {
	for literal := range strings.FieldsFuncSeq(glob, separates) {
		for at := 0; at+gramLength <= len(literal); at++ {
			do(gramAt(literal, at))
		}
	}
}
