package committer

import (
	"sync"
	"time"
)

// sampleMs is for how long the best reading of the clock that decides is used.
const sampleMs = 5_000

// clock estimates the clock that decides from the moments that it was last read at. A reading
// is as late as it took to arrive, so the earliest of the last few seconds counts, and an
// estimate is late by what that one took, unless a clock was set; whoever uses one has it
// compared. It is safe for concurrent use.
type clock struct {
	// decides is the clock that decides itself, nil when that is elsewhere.
	decides func() int64
	// local goes at the pace of the clock that decides, in milliseconds.
	local func() int64

	mu      sync.Mutex
	read    bool
	aheadMs int64 // of local
	readMs  int64 // when that was, by local
	lastMs  int64
}

// monotonicMs returns a clock that nobody sets.
func monotonicMs() func() int64 {
	started := time.Now()
	return func() int64 { return time.Since(started).Milliseconds() }
}

// observe tells what the clock that decides has just shown.
func (c *clock) observe(nowMs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	localMs := c.local()
	if ahead := nowMs - localMs; !c.read || ahead >= c.aheadMs || localMs-c.readMs >= sampleMs {
		c.read, c.aheadMs, c.readMs = true, ahead, localMs
	}
	c.lastMs = max(c.lastMs, nowMs)
}

// estimate returns the present moment, none before the first reading. Estimates never go
// back, nor behind what was observed.
func (c *clock) estimate() (nowMs int64, known bool) {
	if c.decides != nil {
		return c.decides(), true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastMs = max(c.lastMs, c.local()+c.aheadMs)
	return c.lastMs, c.read
}

// distrust forgets everything, until the clock is read again.
func (c *clock) distrust() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.lastMs = false, 0
}
