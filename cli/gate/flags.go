package gate

import (
	"time"

	"github.com/holdpoint/holdpoint/cli/console"
)

// checkKey checks a --key, nil when none was given.
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

// checkTimeout checks a --timeout.
func checkTimeout(timeout time.Duration) error {
	if timeout < 0 || timeout > 0 && timeout < time.Millisecond {
		return console.Usage("--timeout must be at least 1ms")
	}
	return nil
}
