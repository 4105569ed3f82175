package facts

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/webhooks"
)

const (
	// webhookPace is how often the webhooks are read in the background, so that commands rarely
	// wait.
	webhookPace = time.Second
	// webhookFresh is the maximum age of the cached webhooks when a command enters a lane.
	webhookFresh = 2 * time.Second
	// webhookPatience is how long a command waits for older webhooks to be read again.
	webhookPatience = 500 * time.Millisecond
)

// WebhookReader reads who receives events.
type WebhookReader interface {
	Webhooks(ctx context.Context) ([]webhooks.Endpoint, error)
	// AnyAddress reports whether somebody has a verified address for notifications.
	AnyAddress(ctx context.Context) (bool, error)
}

// Webhooks caches the filters of the webhooks, so that decisions need no read. They have no version,
// so they are read again every second. A nil pointer has no webhooks. It is safe for concurrent use.
type Webhooks struct {
	reader WebhookReader
	// people says that whether anybody has an address matters.
	people bool
	reads  singleflight.Group
	known  atomic.Pointer[knownWebhooks]
	// tried is when a command last waited in vain for a read, in Unix nanoseconds.
	tried atomic.Int64
}

type knownWebhooks struct {
	set *webhooks.Set
	// people says that somebody has an address.
	people bool
	// at is the time just before they were read.
	at time.Time
}

// Set returns the cached webhooks, or nil.
func (c *Webhooks) Set() *webhooks.Set {
	if c == nil {
		return nil
	}
	if known := c.known.Load(); known != nil {
		return known.set
	}
	return nil
}

// Anybody reports whether somebody has an address.
func (c *Webhooks) Anybody() bool {
	if c == nil {
		return false
	}
	known := c.known.Load()
	return known != nil && known.people
}

// Ensure waits until the cache is fresh. If the read fails, the old webhooks stay in use. Only
// before the first successful read does it return the error: a decision could miss a webhook's
// delivery.
func (c *Webhooks) Ensure(ctx context.Context) error {
	if c == nil {
		return nil
	}
	known := c.known.Load()
	switch {
	case known == nil:
		return c.read(ctx)
	case time.Since(known.at) < webhookFresh, time.Since(time.Unix(0, c.tried.Load())) < webhookFresh:
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, webhookPatience)
	defer cancel()
	if err := c.read(waiting); err != nil {
		c.tried.Store(time.Now().UnixNano())
	}
	return ctx.Err()
}

// read reads the webhooks. Concurrent callers share one read.
func (c *Webhooks) read(ctx context.Context) error {
	reading := c.reads.DoChan("", func() (any, error) {
		at := time.Now()
		endpoints, err := c.reader.Webhooks(context.WithoutCancel(ctx))
		if err != nil {
			return nil, fmt.Errorf("%w: read webhooks: %v", runs.ErrUnavailable, err) //nolint:errorlint // its deadline is not the caller's
		}
		fresh := &knownWebhooks{set: webhooks.NewSet(endpoints), at: at}
		if c.people {
			if fresh.people, err = c.reader.AnyAddress(context.WithoutCancel(ctx)); err != nil {
				return nil, fmt.Errorf("%w: read addresses: %v", runs.ErrUnavailable, err) //nolint:errorlint // as above
			}
		}
		for {
			known := c.known.Load()
			if known != nil && known.at.After(at) || c.known.CompareAndSwap(known, fresh) {
				return nil, nil
			}
		}
	})
	select {
	case read := <-reading:
		return read.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Refresh reads the webhooks, so that later decisions create deliveries for the current ones. It
// returns the errors of the reader and of the context.
func (c *Webhooks) Refresh(ctx context.Context) error {
	if c == nil {
		return nil
	}
	// A read that began earlier may have missed the change.
	c.reads.Forget("")
	return c.read(ctx)
}

// Watch reads the webhooks periodically until closing is closed.
func (c *Webhooks) Watch(closing <-chan struct{}, logger *slog.Logger) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tick := time.NewTicker(webhookPace)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-closing:
			return
		case <-tick.C:
		}
		err := c.read(ctx)
		if failed := err != nil; failed != failing {
			failing = failed
			if failed {
				logger.Warn("webhooks cannot be read; those that are known count", slog.Any("error", err))
			}
		}
	}
}
