package explain

import (
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// maxNamed bounds the names in a text.
const maxNamed = 3

// span formats a duration in its largest unit, such as "4 min".
func span(ms int64) string {
	const second, minute, hour, day = 1_000, 60_000, 3_600_000, 86_400_000
	switch {
	case ms < second:
		return "less than 1 s"
	case ms < minute:
		return fmt.Sprintf("%d s", ms/second)
	case ms < hour:
		return fmt.Sprintf("%d min", ms/minute)
	case ms < 2*day:
		return fmt.Sprintf("%d h", ms/hour)
	}
	return fmt.Sprintf("%d days", ms/day)
}

// ago returns how long before now a time was.
func ago(atMs, nowMs int64) string { return span(nowMs-atMs) + " ago" }

// named reports whether a principal's name identifies a person.
func named(name string) bool {
	return name != "" && name != auth.LocalPrincipal && name != api.ResolvedBySystem
}

// shortName returns a principal as people read it.
func shortName(name string) string { return strings.TrimPrefix(name, "user:") }

// names joins the first names of a list and counts the others. uncounted says that there are
// even more.
func names(list []string, more int64, uncounted bool) string {
	shown := make([]string, 0, maxNamed)
	for _, name := range list[:min(len(list), maxNamed)] {
		shown = append(shown, shortName(name))
	}
	more += int64(len(list) - len(shown))
	switch {
	case uncounted:
		return strings.Join(shown, ", ") + " and others"
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), more)
	case len(shown) < 2:
		return strings.Join(shown, "")
	}
	return strings.Join(shown[:len(shown)-1], ", ") + " or " + shown[len(shown)-1]
}

// allNames joins the first names of a list with "and", and counts the others.
func allNames(list []string) string {
	if len(list) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxNamed], ", "), len(list)-maxNamed)
	}
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// plural returns "1 run", "2 runs".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// lowered returns a sentence as the continuation of another.
func lowered(text string) string {
	if text == "" {
		return text
	}
	return strings.ToLower(text[:1]) + text[1:]
}
