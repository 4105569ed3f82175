package model

import (
	"strconv"
	"strings"
)

// Position names an event of a session's log together with its history. The number alone is
// ambiguous: another session with the same id, or a restored database, has other events with the
// same numbers.
type Position struct {
	// EventID is the number of the event, 0 before the first.
	EventID int64
	// Mark is the start of the event's hash. It is "" at 0 and for events outside of a chain.
	Mark string
}

// Lengths of marks, in digits of the hash. Short cursor formats cut a mark, at most down to
// MinMark.
const (
	markDigits = 16
	MinMark    = 7
)

// MarkOf returns the mark of a hash, or "" for "".
func MarkOf(hash string) string { return hash[:min(markDigits, len(hash))] }

// Position returns the position of the newest event.
func (s *Session) Position() Position { return Position{s.LastEventID, MarkOf(s.LastEventHash)} }

// Position returns the event's position.
func (e *Event) Position() Position { return Position{e.EventID, MarkOf(e.Hash())} }

// String returns the number and the mark, separated by a dot.
func (p Position) String() string {
	number := strconv.FormatInt(p.EventID, 10)
	if p.Mark == "" {
		return number
	}
	return number + "." + p.Mark
}

// ParsePosition parses the result of [Position.String].
func ParsePosition(text string) (Position, bool) {
	number, mark, marked := strings.Cut(text, ".")
	if strings.Trim(number, "0123456789") != "" || len(number) > 1 && number[0] == '0' {
		return Position{}, false
	}
	eventID, err := strconv.ParseInt(number, 10, 64)
	if err != nil || marked && (len(mark) < MinMark || len(mark) > 64 || strings.Trim(mark, "0123456789abcdef") != "") {
		return Position{}, false
	}
	return Position{eventID, mark}, true
}

// Known reports whether the position identifies its history.
func (p Position) Known() bool { return p.EventID == 0 || p.Mark != "" }

// Of reports whether the position can belong to an event with this hash. Without a mark or a
// hash it always can.
func (p Position) Of(hash string) bool {
	return p.Mark == "" || hash == "" || strings.HasPrefix(hash, MarkOf(p.Mark))
}

// JoinsOn reports whether next, as the following event, continues the same history.
func (p Position) JoinsOn(next *Event) bool {
	return next.EventID != p.EventID+1 || next.BodyDigest == "" || p.Of(next.Prev)
}
