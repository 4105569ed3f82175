//go:build !unix

package agent

import "os"

// readerGone is not supported on this system.
func readerGone(*os.File) bool { return false }
