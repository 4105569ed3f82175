//go:build race

package faces

// underRace is set under the race detector.
const underRace = true
