package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// shownLength bounds the characters of a caller's text in a rule's text.
const shownLength = 200

// shownGlob describes a param's glob and its wildcards. A glob without wildcards is shown as an
// exact text.
func (r *Rule) shownGlob(name string) string {
	glob := r.Match.Params[name]
	// Three or more stars in a row match the same as two.
	single, several := false, false
	for _, stars := range strings.FieldsFunc(glob, func(r rune) bool { return r != '*' }) {
		single, several = single || len(stars) == 1, several || len(stars) > 1
	}
	command := meaningOf(r.ToolName, name) == meansCommand
	var means []string
	if single {
		means = append(means, "* is any text without a slash")
	}
	if several {
		means = append(means, "** is any text with or without slashes")
	}
	if strings.Contains(glob, "?") {
		means = append(means, "? is any one character but a slash")
	}
	wild := len(means) > 0
	if bare := (&Rule{}).bareCommand(glob); command && bare != "" {
		means = append(means, bareMeans)
	}
	if command && r.Effect != api.RuleAllow {
		shown := plain(name) + ", or a command in it, is exactly " + quoted(glob)
		if wild {
			shown = plain(name) + ", or a command in it, matches " + quoted(glob) + " (" + strings.ReplaceAll(strings.Join(means, ", "), "* is any text without a slash", "* is any text with or without slashes") + ")"
		}
		return shown
	}
	if !wild {
		return plain(name) + " is exactly " + quoted(glob)
	}
	if command {
		means = append(means, "no wildcard covers shell operators")
	}
	return plain(name) + " matches " + quoted(glob) + " (" + strings.Join(means, ", ") + ")"
}

// shownInput returns the canonical form of an input. If cut, it is followed by the digest,
// because the rule matches the whole input.
func shownInput(input, digest string) string {
	shown := 0
	for at := range input {
		if shown == shownLength {
			return visible(input[:at]) + "… (cut, " + strconv.Itoa(len(input)) + " bytes in all, " + digest + ")"
		}
		shown++
	}
	return visible(input)
}

// visible escapes invisible characters, and characters that change how others are displayed, as
// in JSON.
func visible(text string) string {
	var shown strings.Builder
	for _, r := range text {
		switch {
		case strconv.IsPrint(r):
			shown.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&shown, `\u%04x`, r)
		default:
			fmt.Fprintf(&shown, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		}
	}
	return shown.String()
}

// utcTime returns a time as RFC 3339, in UTC and whole seconds. It rounds up, so that a rule
// never ends after its text says.
func utcTime(ms int64) string {
	const secondsPerDay = 24 * 3600
	seconds := ms / 1000
	if ms%1000 > 0 {
		seconds++
	}
	days, second := seconds/secondsPerDay, seconds%secondsPerDay
	if second < 0 {
		days, second = days-1, second+secondsPerDay
	}
	year, month, day := civilDate(days)
	return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02dZ", year, month, day, second/3600, second/60%60, second%60)
}

// civilDate returns the Gregorian date of a number of days after 1970-01-01. The domain must not
// import package time. It counts eras of 400 years, which all have the same length, and years
// from the first of March, so that a leap day is the last day of its year.
func civilDate(days int64) (year, month, day int64) {
	const daysPerEra, daysToEpoch = 146_097, 719_468
	days += daysToEpoch
	era := days / daysPerEra
	if days < 0 {
		era = (days - daysPerEra + 1) / daysPerEra
	}
	dayOfEra := days - era*daysPerEra
	yearOfEra := (dayOfEra - dayOfEra/1_460 + dayOfEra/36_524 - dayOfEra/146_096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	fromMarch := (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*fromMarch+2)/5 + 1
	month = fromMarch + 3
	if month > 12 {
		month -= 12
	}
	year = yearOfEra + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// ExactInput returns the canonical form of an approval's input and its digest. It panics if
// there is none, which [document.Check] excludes when the approval is raised.
func ExactInput(input api.JSON) (canonical []byte, digest string) {
	canonical, err := document.Canonical(input)
	if err != nil {
		panic("runs: the input of an approval has no canonical form: " + err.Error())
	}
	return canonical, document.DigestOfCanonical(canonical)
}
