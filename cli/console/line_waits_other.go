//go:build !unix

package console

import "io"

// lineWaits reports false: this system does not tell.
func lineWaits(io.Reader) bool { return false }
