//go:build race

package storetest_test

// underRace tells whether the race detector is at work.
const underRace = true
