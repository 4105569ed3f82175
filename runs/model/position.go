package model

import (
	"strconv"
	"strings"
)

// Position names an event of a session's log and the history before it. A number alone does not: a
// session with the same id, or a restored database, gives the same numbers to other events.
type Position struct {
	// EventID is the number of the event, 0 before the first.
	EventID int64
	// Mark is the beginning of the event's hash. It is "" at 0 and where the event is in no chain.
	Mark string
}

// A mark is so many digits of a hash. Faces that have less room cut it to MinMark at least.
const (
	markDigits = 16
	MinMark    = 7
)

// MarkOf returns the mark of a hash, "" for "".
func MarkOf(hash string) string { return hash[:min(markDigits, len(hash))] }

// Position returns the place of the newest event.
func (s *Session) Position() Position { return Position{s.LastEventID, MarkOf(s.LastEventHash)} }

// Position returns the place of the event.
func (e *Event) Position() Position { return Position{e.EventID, MarkOf(e.Hash())} }

// String returns the position as text: the number, and the mark behind a point.
func (p Position) String() string {
	number := strconv.FormatInt(p.EventID, 10)
	if p.Mark == "" {
		return number
	}
	return number + "." + p.Mark
}

// ParsePosition reads the text of a position.
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

// Known reports whether the position says which history it is of.
func (p Position) Known() bool { return p.EventID == 0 || p.Mark != "" }

// Of reports whether the event may be the one with a hash. What is in no chain may be any.
func (p Position) Of(hash string) bool {
	return p.Mark == "" || hash == "" || strings.HasPrefix(hash, MarkOf(p.Mark))
}

// JoinsOn reports whether an event, if it is the next one, follows the position in the same history.
func (p Position) JoinsOn(next *Event) bool {
	return next.EventID != p.EventID+1 || next.BodyDigest == "" || p.Of(next.Prev)
}
