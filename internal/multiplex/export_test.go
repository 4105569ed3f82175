package multiplex

import "time"

// PauseAtLeast makes the pause after a failure longer than any test.
func (t *Transport) PauseAtLeast(pause time.Duration) { t.leastPause = pause }
