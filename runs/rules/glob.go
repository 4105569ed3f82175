package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// globMatch is a glob and a text to match as a whole (docs/spec/v1.md#glob): "*" matches any text
// without "/", "**" any text, "?" one character other than "/"; all other characters are literal. A
// text or glob that is not UTF-8 matches nothing.
//
// Callers choose both, so it does not backtrack. It tracks all positions in the glob in
// parallel, one bit for each: a step per character of the text, with one word of work per 64
// characters of the glob.
type globMatch struct {
	glob, text string
	// folders lets "**/" at the start of a segment also match no folder.
	folders bool
	// unknown gives [shellcmd.UnknownText] and [shellcmd.UnknownWord] in the text their meaning. In a
	// text as written they are characters like others.
	unknown bool
	// spelled marks the bytes of the text that only the same character of the glob, marked in
	// globSpelled, may match. Nil for none.
	spelled, globSpelled []bool
}

func (m globMatch) holds() bool {
	if !utf8.ValidString(m.glob) || !utf8.ValidString(m.text) {
		return false
	}
	if !hasWildcard(m.glob) && m.spelled == nil {
		return m.glob == m.text
	}
	compiled := compileGlob(m.glob, m.globSpelled, m.folders)
	// Bit n is set when the first n positions of the glob match the text so far.
	reached := newBits(compiled.length)
	reached.set(0)
	compiled.enter(reached)
	nowhere := newBits(compiled.length)
	for at, character := range m.text {
		if m.spelled != nil && m.spelled[at] {
			if !reached.step(compiled.takesSpelled[character], nowhere) {
				return false
			}
			compiled.enter(reached)
			continue
		}
		if m.unknown && (character == shellcmd.UnknownText || character == shellcmd.UnknownWord) {
			compiled.skip(reached, character == shellcmd.UnknownWord)
			continue
		}
		takes, there := compiled.takes[character]
		if !there && character != '/' {
			takes = compiled.any
		}
		stays := compiled.stars
		if character == '/' {
			stays = compiled.doubleStars
		}
		if !reached.step(takes, stays) {
			return false
		}
		compiled.enter(reached)
	}
	return reached.has(compiled.length)
}

// compiledGlob is a glob prepared for matching. In takes and any, bit n is the step to position
// n of the glob, from 1. In stars and doubleStars, bit n is a star at position n.
type compiledGlob struct {
	length       int // in positions: characters, stars not counted, and two for each "**/" of folders
	takes        map[rune]bits
	takesSpelled map[rune]bits
	any          bits // for characters that are not in the glob
	stars        bits // single and double ones
	doubleStars  bits
	// folders has the positions before each "**/" of folders. Without a character they lead to
	// the next position, which accepts any text, and to the one after the slash.
	folders    bits
	hasFolders bool
}

func compileGlob(glob string, spelled []bool, folders bool) compiledGlob {
	size := utf8.RuneCountInString(glob) + strings.Count(glob, "**/")
	compiled := compiledGlob{
		takes: map[rune]bits{}, takesSpelled: map[rune]bits{}, any: newBits(size),
		stars: newBits(size), doubleStars: newBits(size), folders: newBits(size),
	}
	take := func(takes map[rune]bits, character rune) {
		compiled.length++
		if takes[character] == nil {
			takes[character] = newBits(size)
		}
		takes[character].set(compiled.length)
	}
	begins := true // a segment
	for at := 0; at < len(glob); {
		character, width := utf8.DecodeRuneInString(glob[at:])
		switch stars := len(glob[at:]) - len(strings.TrimLeft(glob[at:], "*")); {
		case folders && begins && stars > 1 && strings.HasPrefix(glob[at+stars:], "/"):
			// "**/**/" is "**/".
			rest := glob[at+stars+1:]
			if more := len(rest) - len(strings.TrimLeft(rest, "*")); more > 1 && strings.HasPrefix(rest[more:], "/") {
				at += stars + 1
				continue
			}
			compiled.folders.set(compiled.length)
			compiled.hasFolders = true
			compiled.length++
			compiled.stars.set(compiled.length)
			compiled.doubleStars.set(compiled.length)
			take(compiled.takes, '/')
			at += stars + 1
			continue
		case stars > 1:
			compiled.doubleStars.set(compiled.length)
			compiled.stars.set(compiled.length)
			width = stars
		case stars == 1:
			compiled.stars.set(compiled.length)
		case character == '?':
			compiled.length++
			compiled.any.set(compiled.length)
		case spelled != nil && spelled[at]:
			take(compiled.takesSpelled, character)
		default:
			take(compiled.takes, character)
		}
		begins = character == '/'
		at += width
	}
	for character, takes := range compiled.takes {
		if character != '/' {
			takes.add(compiled.any)
		}
	}
	return compiled
}

// enter adds the positions reachable without a character. A "**/" never follows another
// directly.
func (c *compiledGlob) enter(reached bits) {
	if !c.hasFolders {
		return
	}
	before := uint64(0)
	for i := range reached {
		entered := reached[i] & c.folders[i]
		reached[i] |= entered<<1 | entered<<2 | before>>63 | before>>62
		before = entered
	}
}

// skip adds the positions reachable by some text, or by some text without a blank.
func (c *compiledGlob) skip(reached bits, withinWord bool) {
	blanks := c.takes[' ']
	from := false
	for at := 0; at <= c.length; at++ {
		if withinWord && blanks != nil && blanks.has(at) && !c.any.has(at) {
			from = false
		}
		if from = from || reached.has(at); from {
			reached.set(at)
		}
	}
}

// bits is a set of small numbers.
type bits []uint64

// newBits returns an empty set for the numbers 0 to most.
func newBits(most int) bits { return make(bits, most/64+1) }

func (b bits) set(n int)      { b[n/64] |= 1 << (n % 64) }
func (b bits) has(n int) bool { return b[n/64]&(1<<(n%64)) != 0 }

func (b bits) add(other bits) {
	for i := range other {
		b[i] |= other[i]
	}
}

// overlaps reports whether the sets share a number. other may be shorter.
func (b bits) overlaps(other bits) bool {
	for i := range other {
		if b[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

func (b bits) remove(other bits) {
	for i := range other {
		b[i] &^= other[i]
	}
}

func (b bits) empty() bool {
	return !slices.ContainsFunc(b, func(word uint64) bool { return word != 0 })
}

// step moves each number up by one if takes has the next number, and keeps it if stays has it.
// It reports whether any is left. A nil takes is empty.
func (b bits) step(takes, stays bits) bool {
	carried, left := uint64(0), uint64(0)
	for i, word := range b {
		next := word & stays[i]
		if takes != nil {
			next |= (word<<1 | carried) & takes[i]
		}
		carried = word >> 63
		b[i] = next
		left |= next
	}
	return left != 0
}
