package shellcmd

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// windowsSyntax are the characters that mean something to PowerShell or cmd, in some place or other.
// Their quotes end elsewhere than those of bash.
const windowsSyntax = ";&|<>(){}$`%^!@#\r\n"

// SpellWindows also marks, in what [Command.Spelled] returned for a text, what PowerShell or cmd may
// read as syntax, even in quotes. Nil marks are left alone.
func SpellWindows(text string, spelled []bool) {
	if spelled == nil {
		return
	}
	for at, r := range text {
		escapes := r == '\\' && at+1 < len(text) && (text[at+1] == '"' || text[at+1] == '\'')
		if escapes || strings.ContainsRune(windowsSyntax, r) || r >= utf8.RuneSelf && !unicode.In(r, unicode.L, unicode.N, unicode.M) {
			for i := range utf8.RuneLen(r) {
				spelled[at+i] = true
			}
		}
	}
	spellClimbs(text, spelled)
}

// spellClimbs marks the segments "..": for these shells a backslash is a slash, and quotes may stand anywhere in a word.
func spellClimbs(text string, spelled []bool) {
	var bare []byte
	var places []int
	for at := range len(text) {
		if !strings.ContainsRune("\"'`^", rune(text[at])) {
			bare, places = append(bare, text[at]), append(places, at)
		}
	}
	for from := 0; from < len(bare); {
		length := bytes.IndexFunc(bare[from:], parts)
		if length < 0 {
			length = len(bare) - from
		}
		if to := from + length; Climbs(string(bare[from:to])) {
			spelled[places[to-2]], spelled[places[to-1]] = true, true
		}
		from += length + 1
	}
}

// WindowsParts returns the commands that PowerShell or cmd may run for a text: what stands between all
// characters of their syntax and all quotes, by the name of its program as well.
func WindowsParts(text string) []string {
	var parts []string
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return strings.ContainsRune(windowsSyntax+`"'=`, r) || unicode.In(r, unicode.Pi, unicode.Pf)
	}) {
		words := strings.Fields(piece)
		if len(words) == 0 {
			continue
		}
		whole := strings.Join(words, " ")
		parts = append(parts, whole)
		if name := programName(words[0]); name != words[0] && name != "" {
			parts = append(parts, name+whole[len(words[0]):])
		}
		parts = append(parts, namedForms(words)...)
	}
	return parts
}
