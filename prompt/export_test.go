package prompt

import (
	"maps"
	"slices"
)

// FixedWays are the ways that have words of their own.
func FixedWays() []string { return slices.Sorted(maps.Keys(ways)) }
