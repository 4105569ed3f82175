package stream

import (
	"context"
	"sync"
	"time"
)

// clockAge is after how long the store's clock is read again: a machine that sleeps stops the
// monotonic clock of the process.
const clockAge = 5 * time.Second

// storeClock shows the store's clock between the times at which it was read.
type storeClock struct {
	mu     sync.Mutex
	readMs int64
	readAt time.Time
}

func (c *storeClock) set(nowMs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readMs, c.readAt = nowMs, time.Now() //nolint:forbidigo // measures the time since, by the clock of this process
}

// nowMs returns the present moment, 0 before the first read.
func (c *storeClock) nowMs() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readMs == 0 {
		return 0
	}
	return c.readMs + time.Since(c.readAt).Milliseconds() //nolint:forbidigo // as above
}

// refresh reads the store's clock when that is due.
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
