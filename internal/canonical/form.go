package canonical

import (
	"bytes"
	"slices"
)

// form writes the RFC 8785 form of a valid value in one pass. Its methods return false if
// only jsontext can do it: names that are not ASCII without escapes, and values that have
// no form.
type form struct {
	text []byte
	at   int // offset of the next byte to read
	to   []byte
}

// formOf returns the form of a valid value without white space around it.
func formOf(text []byte) (written []byte, ok bool) {
	f := form{text: text, to: make([]byte, 0, len(text))}
	ok = f.value() && f.at == len(text)
	return f.to, ok
}

// next returns the first byte of the next token, 0 at the end.
func (f *form) next() byte {
	for ; f.at < len(f.text); f.at++ {
		switch c := f.text[f.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (f *form) value() bool {
	switch f.next() {
	case '{':
		return f.object()
	case '[':
		return f.array()
	case '"':
		_, ok := f.string()
		return ok
	case 't', 'n':
		return f.copy(f.at + len("true"))
	case 'f':
		return f.copy(f.at + len("false"))
	default:
		return f.number()
	}
}

// copy writes the text up to end unchanged.
func (f *form) copy(end int) bool {
	if end <= f.at || end > len(f.text) {
		return false
	}
	f.to = append(f.to, f.text[f.at:end]...)
	f.at = end
	return true
}

// canonicalize writes a string or a number as jsontext does.
func (f *form) canonicalize(end int) bool {
	value, err := canonicalize(f.text[f.at:end])
	if err != nil {
		return false
	}
	f.to = append(f.to, value...)
	f.at = end
	return true
}

// string writes a string. plain reports that the result is ASCII without escapes.
func (f *form) string() (plain, ok bool) {
	end, plain, escaped := f.endOfString()
	if !escaped {
		return plain, f.copy(end)
	}
	start := len(f.to)
	ok = f.canonicalize(end)
	return isPlain(f.to[start:]), ok
}

// endOfString returns the end of the string that begins here, or the end of the text if it
// is not closed.
func (f *form) endOfString() (end int, plain, escaped bool) {
	plain = true
	for end = f.at + 1; end < len(f.text); end++ {
		switch c := f.text[end]; {
		case c == '"':
			return end + 1, plain, escaped
		case c == '\\':
			plain, escaped = false, true
			end++
		case c >= 0x80:
			plain = false
		}
	}
	return len(f.text), plain, escaped
}

func (f *form) number() bool {
	end, integer := f.endOfNumber()
	if integer && string(f.text[f.at:end]) != "-0" {
		return f.copy(end)
	}
	return end > f.at && f.canonicalize(end)
}

// endOfNumber returns the end of the number that begins here, and whether it is written as
// an integer.
func (f *form) endOfNumber() (end int, integer bool) {
	integer = true
	for end = f.at; end < len(f.text); end++ {
		switch c := f.text[end]; {
		case c >= '0' && c <= '9', c == '-' && end == f.at:
		case bytes.IndexByte([]byte("+-.eE"), c) >= 0:
			integer = false
		default:
			return end, integer
		}
	}
	return end, integer
}

// skip moves to the comma or bracket after a value.
func (f *form) skip() {
	for depth := 0; f.at < len(f.text); f.at++ {
		switch f.text[f.at] {
		case '"':
			end, _, _ := f.endOfString()
			f.at = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return
			}
		case ',':
			if depth == 0 {
				return
			}
		}
	}
}

func (f *form) array() bool {
	f.at++
	f.to = append(f.to, '[')
	for first := true; f.next() != ']'; first = false {
		if !first && !f.comma() || !f.value() {
			return false
		}
	}
	f.at++
	f.to = append(f.to, ']')
	return true
}

// comma writes the comma that must come next.
func (f *form) comma() bool {
	if f.next() != ',' {
		return false
	}
	f.at++
	f.to = append(f.to, ',')
	return true
}

// written is a member in the output: it starts at the quote before its name and ends after
// its value.
type written struct{ from, endOfName, to int }

func (f *form) object() bool {
	f.at++
	start := len(f.to)
	f.to = append(f.to, '{')
	var few [8]written
	members, sorted := few[:0], true
	for f.next() != '}' {
		if len(members) > 0 && !f.comma() {
			return false
		}
		m, ok := f.member()
		if !ok {
			return false
		}
		if len(members) > 0 {
			order := f.compare(members[len(members)-1], m)
			if order == 0 {
				return false
			}
			sorted = sorted && order < 0
		}
		members = append(members, m)
	}
	f.at++
	f.to = append(f.to, '}')
	return sorted || f.sort(start, members)
}

// member writes a member whose name is plain.
func (f *form) member() (m written, ok bool) {
	m.from = len(f.to)
	if f.next() != '"' {
		return m, false
	}
	if plain, written := f.string(); !plain || !written || f.next() != ':' {
		return m, false
	}
	m.endOfName = len(f.to)
	f.at++
	f.to = append(f.to, ':')
	ok = f.value()
	m.to = len(f.to)
	return m, ok
}

// compare compares the names of two members.
func (f *form) compare(a, b written) int {
	return bytes.Compare(unquoted(f.to[a.from:a.endOfName]), unquoted(f.to[b.from:b.endOfName]))
}

// sort sorts the members of the object at start in the output. It returns false if two
// members have the same name.
func (f *form) sort(start int, members []written) bool {
	slices.SortFunc(members, f.compare)
	sorted := make([]byte, 0, len(f.to)-start)
	for i, m := range members {
		if i > 0 && f.compare(members[i-1], m) == 0 {
			return false
		}
		sorted = append(append(sorted, ','), f.to[m.from:m.to]...)
	}
	copy(f.to[start+1:], sorted[1:])
	return true
}
