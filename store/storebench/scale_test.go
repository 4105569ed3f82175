package storebench

import (
	"testing"
	"time"
)

// shortScale is the part of the rows and of the time that a benchmark takes with -short, which shows
// that it runs and measures nothing.
const shortScale = 50

// rows returns how many rows a benchmark makes.
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
