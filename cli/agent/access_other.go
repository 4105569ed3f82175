//go:build !linux

package agent

// accessible returns true: other systems check the rights first.
func accessible(string) bool { return true }
