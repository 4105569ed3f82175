package runs

import "errors"

// CountQueue prepares a command that was refused with err to be decided again with the bytes of
// the queue, and reports whether it must be. A Door never returns such an error.
func CountQueue(command Command, err error) bool {
	create, ok := Given(command).(*CreateRun)
	if !ok || !errors.Is(err, errCountQueue) {
		return false
	}
	create.countQueue = true
	return true
}
