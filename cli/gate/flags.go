package gate

import "github.com/holdpoint/holdpoint/cli/console"

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
