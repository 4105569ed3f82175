//go:build !linux

package sqlite

import "math"

func diskOf(string) (free uint64, readOnly bool) { return math.MaxInt64, false }

func writable(string) bool { return true }
