package refusal

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
)

// faultList gathers what is wrong with a body, so that a caller is told all of it
// at once.
type Faults struct{ List []api.Fault }

func (l *Faults) Add(pointer, format string, args ...any) {
	l.List = append(l.List, api.Fault{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// err returns an invalid_request with the faults, or nil when there are none.
func (l *Faults) Err() error {
	if len(l.List) == 0 {
		return nil
	}
	return Invalid(l.List...)
}

// id checks an identifier that must be there.
func (l *Faults) ID(pointer, id string) {
	switch {
	case id == "":
		l.Add(pointer, "is required")
	case !ValidID(id):
		l.Add(pointer, "must have 1 to %d characters of A-Z a-z 0-9 . _ : - and not be . or ..", api.MaxIDLength)
	}
}

// optionalID checks an identifier that may be absent.
func (l *Faults) OptionalID(pointer, id string) {
	if id != "" {
		l.ID(pointer, id)
	}
}

// text checks free text that may be absent.
func (l *Faults) Text(pointer, text string, limit int) {
	switch {
	case len(text) > limit:
		l.Add(pointer, "must have at most %d bytes", limit)
	case !ValidText(text, limit):
		l.Add(pointer, "must not hold control characters")
	}
}

// requiredText checks free text that must be there.
func (l *Faults) RequiredText(pointer, text string, limit int) {
	if text == "" {
		l.Add(pointer, "is required")
		return
	}
	l.Text(pointer, text, limit)
}

// object checks a member that may be absent and otherwise is a JSON object.
func (l *Faults) Object(pointer string, value api.JSON) {
	if value != nil && jsontext.Value(value).Kind() != '{' {
		l.Add(pointer, "must be an object")
	}
}

// lease checks a lease length in ms; 0 stands for the default.
func (l *Faults) Lease(pointer string, leaseMs int64) {
	if leaseMs != 0 && (leaseMs < api.MinLeaseMs || leaseMs > api.MaxLeaseMs) {
		l.Add(pointer, "must be between %d and %d", api.MinLeaseMs, api.MaxLeaseMs)
	}
}

// ValidID reports whether a caller may use the text as an identifier: 1 to 200
// characters of A-Z a-z 0-9 . _ : - but not "." or ".." (v1-work.md).
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

// validText reports whether free text may be stored in a column of its own: UTF-8,
// no control characters but tab and line breaks, and at most limit bytes.
func ValidText(text string, limit int) bool {
	return len(text) <= limit && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
	})
}
