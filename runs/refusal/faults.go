package refusal

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
)

// Faults collects the faults of a body, at most api.MaxFaults, so that a caller gets all of them
// in one reply. The zero value is empty. Every check adds at most one fault. A pointer is the
// JSON pointer (RFC 6901) of a member in the caller's body; the checks do not escape it.
type Faults struct{ List []api.Fault }

// Add adds a fault with a detail formatted as by [fmt.Sprintf]. Beyond api.MaxFaults it is a
// no-op.
func (l *Faults) Add(pointer, format string, args ...any) {
	if len(l.List) >= api.MaxFaults {
		return
	}
	l.List = append(l.List, api.Fault{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// AddBeside merges the faults of another check of the same body. It skips faults at or below a
// value that already has one.
func (l *Faults) AddBeside(others ...api.Fault) {
	known := make(map[string]bool, len(l.List))
	for _, fault := range l.List {
		known[fault.Pointer] = true
	}
	for _, other := range others {
		if !within(known, other.Pointer) {
			l.Add(other.Pointer, "%s", other.Detail)
		}
	}
}

// within reports whether a pointer equals a known one or lies below it.
func within(known map[string]bool, pointer string) bool {
	for end := len(pointer); end >= 0; end = strings.LastIndexByte(pointer[:end], '/') {
		if known[pointer[:end]] {
			return true
		}
	}
	return false
}

// Err returns invalid_request with all faults, or nil without any.
func (l *Faults) Err() error {
	if len(l.List) == 0 {
		return nil
	}
	return Invalid(l.List...)
}

// ID adds a fault unless id is valid; an empty id is reported as missing. See [ValidID].
func (l *Faults) ID(pointer, id string) {
	switch {
	case id == "":
		l.Add(pointer, "is required")
	case !ValidID(id):
		l.Add(pointer, "must have 1 to %d characters of A-Z a-z 0-9 . _ : - and not be . or ..", api.MaxIDLength)
	}
}

// OptionalID adds a fault when id is neither empty nor a valid id.
func (l *Faults) OptionalID(pointer, id string) {
	if id != "" {
		l.ID(pointer, id)
	}
}

// Text adds a fault if the text has more than limit bytes or is not a [ValidText]. An empty text
// is valid.
func (l *Faults) Text(pointer, text string, limit int) {
	switch {
	case len(text) > limit:
		l.Add(pointer, "must have at most %d bytes", limit)
	case !ValidText(text, limit):
		l.Add(pointer, "must not hold control characters")
	}
}

// RequiredText is Text for a required, non-empty member.
func (l *Faults) RequiredText(pointer, text string, limit int) {
	if text == "" {
		l.Add(pointer, "is required")
		return
	}
	l.Text(pointer, text, limit)
}

// Object adds a fault if value is neither nil nor a JSON object.
func (l *Faults) Object(pointer string, value api.JSON) {
	if value != nil && jsontext.Value(value).Kind() != '{' {
		l.Add(pointer, "must be an object")
	}
}

// Lease adds a fault if a lease length in ms is outside MinLeaseMs to MaxLeaseMs. 0 stands for
// the default and is valid.
func (l *Faults) Lease(pointer string, leaseMs int64) {
	if leaseMs != 0 && (leaseMs < api.MinLeaseMs || leaseMs > api.MaxLeaseMs) {
		l.Add(pointer, "must be between %d and %d", api.MinLeaseMs, api.MaxLeaseMs)
	}
}

// ValidID reports whether id is valid as an id and in a path: 1 to 200 characters of A-Z a-z 0-9
// . _ : - but not "." or ".." (docs/spec/v1.md#ids).
func ValidID(id string) bool {
	if id == "" || len(id) > api.MaxIDLength || id == "." || id == ".." {
		return false
	}
	for i := range len(id) {
		c := id[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}

// ValidText reports whether text may be stored in a text column: valid UTF-8, at most limit
// bytes, and no control characters except tabs and line breaks.
func ValidText(text string, limit int) bool {
	return len(text) <= limit && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
	})
}
