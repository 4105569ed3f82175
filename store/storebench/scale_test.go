package storebench

import (
	"testing"
	"time"
)

// shortScale is the reduction of rows and time with -short, which only checks that a benchmark
// runs.
const shortScale = 50

// rows returns the number of rows for a benchmark.
func rows(count int) int {
	if testing.Short() {
		return count / shortScale
	}
	return count
}

// turnOf returns how long a turn lasts.
func turnOf(whole time.Duration) time.Duration {
	if testing.Short() {
		return whole / 10
	}
	return whole
}
