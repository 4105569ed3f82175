//go:build !unix

package serve

import "time"

// coreTime is not available on this system.
func coreTime() (worked time.Duration, readable bool) { return 0, false }
