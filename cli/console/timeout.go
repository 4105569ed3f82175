package console

import "time"

// CheckTimeout validates --timeout. A time that has run out, as 0s, must not mean no limit.
func CheckTimeout(timeout *time.Duration) error {
	if timeout != nil && *timeout < time.Millisecond {
		return Usage("--timeout must be at least 1ms")
	}
	return nil
}

// Limit returns the value of --timeout, 0 without it.
func Limit(timeout *time.Duration) time.Duration {
	if timeout == nil {
		return 0
	}
	return *timeout
}
