//go:build !unix

package serve

import "time"

// coreTime is not known here.
func coreTime() (worked time.Duration, readable bool) { return 0, false }
