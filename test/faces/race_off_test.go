//go:build !race

package faces

const underRace = false
