//go:build race

package faces

// underRace tells whether the race detector is at work.
const underRace = true
