package visible

import (
	"fmt"
	"strings"
)

// Escape returns a text with the characters escaped that a person would not see, or would take for
// others: \u and their four hexadecimal digits, or more in braces. Line feeds and tabs stay.
func Escape(text string) string {
	likes := LookAlikes(text)
	var shown strings.Builder
	for at, r := range text {
		switch {
		case r == '\n' || r == '\t' || !likes[at] && !Hides(r):
			shown.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&shown, "\\u{%x}", r)
		default:
			fmt.Fprintf(&shown, "\\u%04x", r)
		}
	}
	return shown.String()
}
