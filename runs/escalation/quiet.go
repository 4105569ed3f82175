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
		at := func(minutes int) int64 {
			return time.Date(year, month, start+minutes/(24*60), 0, minutes%(24*60), 0, 0, zone).UnixMilli()
		}
		if at(from) <= atMs && atMs < at(to) {
			return at(to)
		}
	}
	return 0
}
