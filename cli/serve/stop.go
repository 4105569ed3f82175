package serve

import (
	"fmt"
	"time"
)

// closeTimeout is what the end of the service may take beyond --shutdown-timeout. Whoever
// supervises the service kills it a little after that time.
const closeTimeout = 2 * time.Second

// endWithin returns what work returns. When work does not end within the limit after stopping was
// closed it is left behind: a lane that waits for the database must not keep the process alive,
// and what it has not committed was answered to nobody.
func endWithin(limit time.Duration, stopping <-chan struct{}, work func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- work() }()
	select {
	case err := <-ended:
		return err
	case <-stopping:
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return fmt.Errorf("ended without the rest: the service was not done %s after it was told to stop", limit)
	}
}
