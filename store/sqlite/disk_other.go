//go:build !linux

package sqlite

import "math"

func diskOf(string) (free uint64, readOnly bool) { return math.MaxInt64, false }

func remoteOf(string) string { return "" }

func writable(string) bool { return true }
