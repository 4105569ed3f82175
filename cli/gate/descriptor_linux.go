package gate

import (
	"fmt"
	"os"
)

// descriptorPath returns a path to the open file itself, wherever its name leads by now; ""
// if /proc is not mounted.
func descriptorPath(file *os.File) string {
	path := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
