package facts

import "sync"

// sampleMs is how long the best reading of the deciding clock is used.
const sampleMs = 5_000

// clock estimates the deciding clock from recent readings. Each reading is late by its own latency,
// so the one that is furthest ahead in the last few seconds counts. An estimate can be wrong if a
// clock was set, so the commit compares it with the deciding clock. It is safe for concurrent use.
type clock struct {
	// decides reads the deciding clock, or is nil if that clock is in the database.
	decides func() int64
	// local runs at the pace of the deciding clock, in milliseconds.
	local func() int64

	mu      sync.Mutex
	read    bool
	aheadMs int64 // deciding clock minus local
	readMs  int64 // local time of that reading
	lastMs  int64
}

// observe records a reading of the deciding clock.
func (c *clock) observe(nowMs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	localMs := c.local()
	if ahead := nowMs - localMs; !c.read || ahead >= c.aheadMs || localMs-c.readMs >= sampleMs {
		c.read, c.aheadMs, c.readMs = true, ahead, localMs
	}
	c.lastMs = max(c.lastMs, nowMs)
}

// estimate returns the current time, and false before the first reading. Estimates never go back,
// and are never earlier than a reading.
func (c *clock) estimate() (nowMs int64, known bool) {
	if c.decides != nil {
		return c.decides(), true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastMs = max(c.lastMs, c.local()+c.aheadMs)
	return c.lastMs, c.read
}

// distrust discards all readings. There is no estimate until the next one.
func (c *clock) distrust() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.lastMs = false, 0
}
