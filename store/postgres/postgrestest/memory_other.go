//go:build !linux

package postgrestest

func memoryHolds(string) bool { return false }
