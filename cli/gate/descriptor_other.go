//go:build !linux

package gate

import "os"

// descriptorPath returns "": on this system programs are started by path.
func descriptorPath(*os.File) string { return "" }
