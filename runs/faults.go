package runs

import "fmt"

// Limits of texts, in bytes, and of counts. A reached limit is an invalid_request
// that names the member.
const (
	MaxTextLength            = 16 << 10
	MaxToolCallIDLength      = 256
	MaxNameLength            = 200
	MaxRequestsPerSuspension = 100
	MaxOpenRequests          = 1_000
	MaxQuestionsPerRequest   = 16
	MaxOptionsPerQuestion    = 64
	MaxPatternKeys           = 64
	MaxPatternKeyLength      = 1_024
	MaxEventsPerCall         = 1_000
	MaxContextIDs            = 64
	MaxResolutionsPerBatch   = 1_000
	// MaxExpiresAfterMs is a hundred years.
	MaxExpiresAfterMs = 100 * 365 * 24 * 3_600_000
)

// faultList gathers what is wrong with a body, so that a caller is told all of it
// at once.
type faultList struct{ faults []Fault }

func (l *faultList) add(pointer, format string, args ...any) {
	l.faults = append(l.faults, Fault{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// err returns an invalid_request with the faults, or nil when there are none.
func (l *faultList) err() error {
	if len(l.faults) == 0 {
		return nil
	}
	return invalid(l.faults...)
}

// id checks an identifier that must be there.
func (l *faultList) id(pointer, id string) {
	switch {
	case id == "":
		l.add(pointer, "is required")
	case !ValidID(id):
		l.add(pointer, "must have 1 to %d characters of A-Z a-z 0-9 . _ : - and not be . or ..", MaxIDLength)
	}
}

// optionalID checks an identifier that may be absent.
func (l *faultList) optionalID(pointer, id string) {
	if id != "" {
		l.id(pointer, id)
	}
}

// text checks free text that may be absent.
func (l *faultList) text(pointer, text string, limit int) {
	switch {
	case len(text) > limit:
		l.add(pointer, "must have at most %d bytes", limit)
	case !validText(text, limit):
		l.add(pointer, "must not hold control characters")
	}
}

// requiredText checks free text that must be there.
func (l *faultList) requiredText(pointer, text string, limit int) {
	if text == "" {
		l.add(pointer, "is required")
		return
	}
	l.text(pointer, text, limit)
}

// object checks a member that may be absent and otherwise is a JSON object.
func (l *faultList) object(pointer string, value JSON) {
	if value != nil && KindOf(value) != '{' {
		l.add(pointer, "must be an object")
	}
}

// lease checks a lease length in ms; 0 stands for the default.
func (l *faultList) lease(pointer string, leaseMs int64) {
	if leaseMs != 0 && (leaseMs < MinLeaseMs || leaseMs > MaxLeaseMs) {
		l.add(pointer, "must be between %d and %d", MinLeaseMs, MaxLeaseMs)
	}
}

// absentNull makes a JSON null of an optional member absent.
func absentNull(value *JSON) {
	if KindOf(*value) == 'n' {
		*value = nil
	}
}
