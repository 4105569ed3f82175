//go:build !linux

package sqlite

func diskOf(string) (free uint64, readOnly bool) { return leastFree, false }

func writable(string) bool { return true }
