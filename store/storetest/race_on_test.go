//go:build race

package storetest_test

// underRace reports whether the race detector is enabled.
const underRace = true
