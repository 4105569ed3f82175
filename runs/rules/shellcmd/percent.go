package shellcmd

import (
	"encoding/hex"
	"iter"
	"strings"
)

// maxUnescaped is how many levels of percent-encoding are decoded.
const maxUnescaped = 3

// Unescaped yields a text and each of its percent-decoded forms.
func Unescaped(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for range maxUnescaped {
			plain := decoded(text)
			if !yield(text) || plain == text {
				return
			}
			text = plain
		}
	}
}

// decoded decodes each percent-encoded byte by itself: browsers and servers decode those next to a "%" that encodes nothing.
func decoded(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	plain := make([]byte, 0, len(text))
	for at := 0; at < len(text); at++ {
		var escaped [1]byte
		if text[at] == '%' && at+2 < len(text) {
			if _, err := hex.Decode(escaped[:], []byte(text[at+1:at+3])); err == nil {
				plain = append(plain, escaped[0])
				at += 2
				continue
			}
		}
		plain = append(plain, text[at])
	}
	return string(plain)
}

// IsEscaped reports whether a text has percent-encoded bytes.
func IsEscaped(text string) bool { return decoded(text) != text }
