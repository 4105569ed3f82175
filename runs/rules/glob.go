package rules

import (
	"strings"
	"unicode/utf8"
)

// matchGlob reports whether a glob matches a whole text (decisions.md 17): "*" is any
// text without "/", "**" any text, "?" one character but "/", and everything else is
// itself. A text that is no UTF-8 matches nothing.
//
// It runs under a session's lock, over a glob and a text of other people's choice, so
// no pair of them may be slow: it follows all ways through the glob side by side, a
// bit for each, and takes one step for each character and 64 characters of the glob.
func matchGlob(glob, text string) bool {
	if !utf8.ValidString(glob) || !utf8.ValidString(text) {
		return false
	}
	if !strings.ContainsAny(glob, "*?") {
		return glob == text
	}
	compiled := compileGlob(glob)
	// The bit n says that the first n characters of the glob, stars not counted, may
	// have matched so far.
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

// compiledGlob holds what matching a glob needs. The bits of takes and any name the
// characters of the glob by their number from 1, those of stars how many of them come
// before the star.
type compiledGlob struct {
	length      int // in characters, stars not counted
	takes       map[rune]bits
	any         bits // for characters that do not stand in the glob
	stars       bits // of both kinds
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

// newBits returns an empty set for the numbers from 0 to most.
func newBits(most int) bits { return make(bits, most/64+1) }

func (b bits) set(n int)      { b[n/64] |= 1 << (n % 64) }
func (b bits) has(n int) bool { return b[n/64]&(1<<(n%64)) != 0 }

func (b bits) add(other bits) {
	for i := range b {
		b[i] |= other[i]
	}
}

// step moves each number up by one where takes has the next one, and keeps it where
// stays has it. It reports whether any is left. A nil takes is empty.
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
