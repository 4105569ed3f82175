package serve

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Horizon is a retention period: a Go duration, or a number of days such as 90d.
type Horizon time.Duration

const day = 24 * time.Hour

// maxDays is a hundred years.
const maxDays = 36_500

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Horizon) UnmarshalText(text []byte) error {
	if days, given := strings.CutSuffix(string(text), "d"); given {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > maxDays {
			return fmt.Errorf("%q is not a number of days up to %d", days, maxDays)
		}
		*h = Horizon(time.Duration(n) * day)
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 90d or 36h", text)
	}
	if d < 0 || d > maxDays*day {
		return fmt.Errorf("%q is not between 0 and %dd", text, maxDays)
	}
	*h = Horizon(d)
	return nil
}

// String returns the horizon in a form that UnmarshalText reads.
func (h Horizon) String() string {
	if d := time.Duration(h); d > 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return time.Duration(h).String()
}
