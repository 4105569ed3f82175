package gate

import (
	"fmt"
	"os"
)

// descriptorPath returns a path that leads to the open file itself, whatever its name leads to by now; ""
// where /proc is not mounted.
func descriptorPath(file *os.File) string {
	path := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
