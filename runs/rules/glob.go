package rules

import (
	"strings"
	"unicode/utf8"
)

// matchGlob reports whether a glob matches a whole text (docs/spec/v1.md#glob): "*" is any text
// without "/", "**" any text, "?" one character other than "/", and every other character is
// literal. A text or glob that is not UTF-8 matches nothing.
//
// It runs on a glob and a text that callers choose, so it must not backtrack. It follows all positions in the glob at once, one bit for each: a step for each
// character of the text, with the work of one word for 64 characters of the glob.
func matchGlob(glob, text string) bool {
	if !utf8.ValidString(glob) || !utf8.ValidString(text) {
		return false
	}
	if !strings.ContainsAny(glob, "*?") {
		return glob == text
	}
	compiled := compileGlob(glob)
	// Bit n is set when the first n characters of the glob, stars not counted, match the text
	// so far.
	reached := newBits(compiled.length)
	reached.set(0)
	for _, character := range text {
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
	}
	return reached.has(compiled.length)
}

// compiledGlob has what the matching of a glob needs. In takes and any, bit n is for the n-th
// character of the glob, from 1. In stars and doubleStars, bit n is for a star that follows n
// characters.
type compiledGlob struct {
	length      int // in characters, stars not counted
	takes       map[rune]bits
	any         bits // for characters that are not in the glob
	stars       bits // single and double ones
	doubleStars bits
}

func compileGlob(glob string) compiledGlob {
	size := utf8.RuneCountInString(glob)
	compiled := compiledGlob{takes: map[rune]bits{}, any: newBits(size), stars: newBits(size), doubleStars: newBits(size)}
	afterStar := false
	for _, character := range glob {
		switch {
		case character == '*' && afterStar:
			compiled.doubleStars.set(compiled.length)
		case character == '*':
			compiled.stars.set(compiled.length)
		case character == '?':
			compiled.length++
			compiled.any.set(compiled.length)
		default:
			compiled.length++
			if compiled.takes[character] == nil {
				compiled.takes[character] = newBits(size)
			}
			compiled.takes[character].set(compiled.length)
		}
		afterStar = character == '*'
	}
	for character, takes := range compiled.takes {
		if character != '/' {
			takes.add(compiled.any)
		}
	}
	return compiled
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

// overlaps reports whether a number is in both sets, of which other may be the shorter.
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
	for _, word := range b {
		if word != 0 {
			return false
		}
	}
	return true
}

// step moves each number up by one where takes has the next number, and keeps it where stays
// has it. It reports whether any is left. A nil takes is empty.
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
