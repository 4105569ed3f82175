package gate

import (
	"time"

	"github.com/holdpoint/holdpoint/cli/console"
)

// checkKey validates --key; nil if it was not given.
func checkKey(key *string) error {
	if key != nil && *key == "" {
		return console.Usage("--key is empty: give one, or leave it out")
	}
	return nil
}

func keyOf(key *string) string {
	if key == nil {
		return ""
	}
	return *key
}

// checkTimeout validates --timeout. A time that has run out, as 0s, must not mean no limit.
func checkTimeout(timeout *time.Duration) error {
	if timeout != nil && *timeout < time.Millisecond {
		return console.Usage("--timeout must be at least 1ms")
	}
	return nil
}

// limitOf returns the value of --timeout, 0 without it.
func limitOf(timeout *time.Duration) time.Duration {
	if timeout == nil {
		return 0
	}
	return *timeout
}
