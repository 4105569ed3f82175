package stream

import (
	"context"
	"sync"
	"time"
)

// clockAge is the age at which the store's clock is read again. A sleeping machine stops the
// process's monotonic clock.
const clockAge = 5 * time.Second

// storeClock extrapolates the store's clock between reads.
type storeClock struct {
	mu     sync.Mutex
	readMs int64
	readAt time.Time
}

func (c *storeClock) set(nowMs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readMs, c.readAt = nowMs, time.Now() //nolint:forbidigo // measures the time since, with the process's clock
}

// nowMs returns the current time, 0 before the first read.
func (c *storeClock) nowMs() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readMs == 0 {
		return 0
	}
	return c.readMs + time.Since(c.readAt).Milliseconds() //nolint:forbidigo // as above
}

// refresh reads the store's clock when it is due.
func (c *storeClock) refresh(ctx context.Context, store Store) error {
	c.mu.Lock()
	due := time.Since(c.readAt) >= clockAge //nolint:forbidigo // as above
	c.mu.Unlock()
	if !due {
		return nil
	}
	nowMs, err := store.NowMs(ctx)
	if err == nil {
		c.set(nowMs)
	}
	return err
}
