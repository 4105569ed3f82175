// Package escalation computes when the steps of an escalation are due. It is pure: the caller supplies
// the time, and it knows neither the database nor people.
package escalation

import (
	"time"
)

// maxDays bounds how far ahead a calendar is searched.
const maxDays = 4_000

// Calendar is working time in a zone.
type Calendar struct {
	Zone *time.Location
	// Days are the working days, by time.Weekday.
	Days [7]bool
	// From and To are minutes since midnight, From < To <= 24 h. The clock of the zone counts, so a day
	// on which it changes may be longer or shorter.
	From, To int
	// Closed are dates without work, such as "2026-12-25".
	Closed map[string]bool
}

// Add returns when workingMs of working time have passed since a time, in ms since the epoch. With 0 it
// is the time itself, or the next opening. It returns false if that is more than 4,000 days away.
func (c *Calendar) Add(atMs, workingMs int64) (int64, bool) {
	at := time.UnixMilli(atMs).In(c.Zone)
	year, month, day := at.Date()
	for i := range maxDays {
		fromMs, toMs := c.open(year, month, day+i)
		fromMs = max(fromMs, atMs)
		switch left := toMs - fromMs; {
		case left <= 0:
		case workingMs < left || workingMs == left && workingMs > 0:
			return fromMs + workingMs, true
		default:
			workingMs -= left
		}
	}
	return 0, false
}

// open returns the working time of a date; nothing if both are 0. The day may exceed the month.
func (c *Calendar) open(year int, month time.Month, day int) (fromMs, toMs int64) {
	// Noon exists on every date of every zone.
	noon := time.Date(year, month, day, 12, 0, 0, 0, c.Zone)
	if !c.Days[noon.Weekday()] || c.Closed[noon.Format(time.DateOnly)] {
		return 0, 0
	}
	at := func(minutes int) int64 { return time.Date(year, month, day, 0, minutes, 0, 0, c.Zone).UnixMilli() }
	return at(c.From), at(c.To)
}
