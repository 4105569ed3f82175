package api

// ClockMinutes parses a time of day, "00:00" to "24:00", as minutes since midnight. It reports false for
// anything else.
func ClockMinutes(text string) (minutes int, ok bool) {
	if len(text) != len("00:00") || text[2] != ':' {
		return 0, false
	}
	for _, at := range []int{0, 1, 3, 4} {
		if text[at] < '0' || text[at] > '9' {
			return 0, false
		}
	}
	hour, minute := int(text[0]-'0')*10+int(text[1]-'0'), int(text[3]-'0')*10+int(text[4]-'0')
	return hour*60 + minute, minute < 60 && hour*60+minute <= 24*60
}
