package multiplex

import "time"

// PauseAtLeast makes the pause after a failure long enough that no test outlasts it.
func (t *Transport) PauseAtLeast(pause time.Duration) { t.leastPause = pause }
