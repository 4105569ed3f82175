// Package visible finds what people would not see in a text, or would take for something else: hidden
// characters, and letters that imitate those of ASCII, such as a Cyrillic а in a host that otherwise is
// Latin. It must not call a text suspicious because it is not English.
package visible

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Hides reports whether a character is not visible as itself: control characters, direction marks,
// unusual blanks, fillers, and invalid UTF-8.
func Hides(r rune) bool {
	const brailleBlank = 0x2800
	return !unicode.IsPrint(r) || r == utf8.RuneError || r == brailleBlank ||
		r > 0x7f && unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// letters pairs each letter with the one of ASCII that it imitates. lookalikes.js has the same pairs.
const letters = "" +
	"аaеeоoрpсcуyхxіiјjѕsһhԁdԛqԝwӏlѵvүyҁcгrпnАAВBЕEКKМMНHОOРPСCТTХXУYІIЈJЅSҮYԌGԚQԜWӀIѴVЗ3" + // Cyrillic
	"οoνvρpιiΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϲcϳjϹCͿJ" + // Greek
	"օoոnսuհhյjզqցgՍUՕOԼLՏS" + // Armenian
	"ᎠDᎢTᎩYᎪAᎫJᎬEᎳWᎷMᎻHᏀGᏃZᏎ4ᏏbᏒRᏔWᏙVᏚSᏞLᏟCᏢPᏦKᏧdᏴB" + // Cherokee
	"ⲟoⲣpⲤCⲥcⲒIⲔKⲘMⲚNⲞOⲢPⲦTⲨYⲬX" + // Coptic
	"ꓐBꓑPꓒdꓓDꓔTꓖGꓗKꓙJꓚCꓜZꓝFꓟMꓠNꓡLꓢSꓣRꓦVꓧHꓪWꓫXꓬYꓮAꓰEꓲIꓳOꓴU" + // Lisu
	"ɑaɡgɩiʋv" // phonetic

// signs part hosts and paths in a person's eye only.
const signs = "⁄∕⧸╱／․。．∶꞉：；\u037e"

var imitated = func() map[rune]rune {
	found, all := map[rune]rune{}, []rune(letters)
	for i := 0; i < len(all); i += 2 {
		found[all[i]] = all[i+1]
	}
	return found
}()

// LookAlikes returns the positions, in bytes, of the characters of a text that imitate others, nil for none.
// They are letters in a word that mixes alphabets, words wholly of such letters in a name with Latin
// letters, such as a host, or on a line whose other letters all are Latin, and signs between letters.
func LookAlikes(text string) map[int]bool {
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil
	}
	var found map[int]bool
	at := 0
	for line := range strings.Lines(text) {
		for _, one := range inLine(line) {
			if found == nil {
				found = map[int]bool{}
			}
			found[at+one] = true
		}
		at += len(line)
	}
	return found
}

// Skeleton returns what a person takes a text for: look-alikes are the letters that they imitate, and
// blanks are one space. Texts with the same skeleton look the same.
func Skeleton(text string) string {
	var look strings.Builder
	for _, r := range norm.NFC.String(text) {
		if imitated[r] == 0 && imitates(r) {
			look.WriteString(norm.NFKC.String(string(r)))
		} else {
			look.WriteRune(cmp.Or(imitated[r], r))
		}
	}
	return strings.Join(strings.Fields(look.String()), " ")
}

func inLine(line string) (found []int) {
	whole := lettersOf(line)
	for from, name := range runs(line, inName) {
		ofName := lettersOf(name)
		for start, word := range runs(name, inWord) {
			of := lettersOf(word)
			mixed := of.latin > 0
			alone := of.foreign == 0 && (ofName.latin > 0 || whole.latin > 0 && whole.foreign == 0 && of.imitating > 1)
			if !mixed && !alone {
				continue
			}
			for i, r := range word {
				if imitates(r) {
					found = append(found, from+start+i)
				}
			}
		}
	}
	return append(found, signsIn(line)...)
}

// signsIn finds signs between two letters, or a letter and a digit, of ASCII.
func signsIn(line string) (found []int) {
	for i, r := range line {
		if !strings.ContainsRune(signs, r) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(line[:i])
		after, _ := utf8.DecodeRuneInString(line[i+utf8.RuneLen(r):])
		if isLetter(before) && (isLetter(after) || isDigit(after)) || isDigit(before) && isLetter(after) {
			found = append(found, i)
		}
	}
	return found
}

// counts are the letters of a text: plain Latin ones, imitating ones and others.
type counts struct{ latin, imitating, foreign int }

func lettersOf(text string) (of counts) {
	for _, r := range text {
		switch {
		case imitates(r):
			of.imitating++
		case unicode.Is(unicode.Latin, r):
			of.latin++
		case unicode.IsLetter(r):
			of.foreign++
		}
	}
	return of
}

// imitates reports whether a letter or digit looks like one of ASCII. Those that Unicode calls
// compatible with one do: full-width and mathematical ones.
func imitates(r rune) bool {
	if r < utf8.RuneSelf {
		return false
	}
	if imitated[r] != 0 {
		return true
	}
	if !unicode.In(r, unicode.Ll, unicode.Lu, unicode.Nd) {
		return false
	}
	compatible := norm.NFKC.String(string(r))
	return !strings.ContainsFunc(compatible, func(r rune) bool { return !isLetter(r) && !isDigit(r) })
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }
func inWord(r rune) bool   { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r) }
func inName(r rune) bool   { return inWord(r) || r == '.' || r == '-' || r == '_' }

// runs yields the longest runs of characters that are in something, with where they begin.
func runs(text string, in func(rune) bool) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for from := 0; from < len(text); {
			start := strings.IndexFunc(text[from:], in)
			if start < 0 {
				return
			}
			from += start
			end := strings.IndexFunc(text[from:], func(r rune) bool { return !in(r) })
			if end < 0 {
				end = len(text) - from
			}
			if !yield(from, text[from:from+end]) {
				return
			}
			from += end
		}
	}
}
