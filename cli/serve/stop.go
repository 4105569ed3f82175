package serve

import (
	"fmt"
	"time"
)

// closeTimeout is how much longer than --shutdown-timeout the end of the service may take.
// Supervisors kill it soon after.
const closeTimeout = 2 * time.Second

// endWithin returns the result of work. If work does not end within the limit after
// stopping is closed, it is abandoned: a lane that waits for the database must not keep the
// process alive. Uncommitted work has not been acknowledged to any caller.
func endWithin(limit time.Duration, stopping <-chan struct{}, work func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- work() }()
	select {
	case err := <-ended:
		return err
	case <-stopping:
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(limit):
		return fmt.Errorf("stopped without finishing: the service was not done %s after the stop signal", limit)
	}
}
