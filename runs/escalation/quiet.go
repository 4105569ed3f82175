package escalation

import "time"

// QuietUntil returns when the quiet hours end in which a time lies; 0 if it lies in none. from and to are
// minutes since midnight. If to is not after from, they end on the next day.
func QuietUntil(zone *time.Location, from, to int, atMs int64) int64 {
	year, month, day := time.UnixMilli(atMs).In(zone).Date()
	if to <= from {
		to += 24 * 60
	}
	for _, start := range []int{day - 1, day} {
		begins, _ := shows(zone, year, month, start, from)
		_, ends := shows(zone, year, month, start, to)
		if begins.UnixMilli() <= atMs && atMs < ends.UnixMilli() {
			return ends.UnixMilli()
		}
	}
	return 0
}

// shows returns when the clock of a zone shows a time of a date for the first and for the last time. Both are the
// moment at which the clock skips the time if it never shows it. The day may exceed the month, the minutes the day.
func shows(zone *time.Location, year int, month time.Month, day, minutes int) (first, last time.Time) {
	shown := time.Date(year, month, day, 0, minutes, 0, 0, time.UTC)
	offset := func(at time.Time) time.Duration {
		_, seconds := at.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	const aDay = 24 * time.Hour
	before, after := offset(shown.Add(-aDay)), offset(shown.Add(aDay))
	east, west := max(before, after), min(before, after)
	first, last = shown.Add(-east), shown.Add(-west)
	switch isFirst, isLast := offset(first) == east, offset(last) == west; {
	case !isFirst && !isLast:
		skips, _ := last.In(zone).ZoneBounds()
		return skips, skips
	case !isFirst:
		first = last
	case !isLast:
		last = first
	}
	return first, last
}
