package committer

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
	// webhookPace is how often the webhooks are read, so that a decision seldom waits for that.
	webhookPace = time.Second
	// webhookFresh is how old what is known of them may be when a command is given to a lane.
	webhookFresh = 2 * time.Second
	// webhookPatience is how long a command waits for webhooks that are older.
	webhookPatience = 500 * time.Millisecond
)

// WebhookReader reads the webhooks that events are owed to.
type WebhookReader interface {
	Webhooks(ctx context.Context) ([]webhooks.Endpoint, error)
}

// webhookCache keeps the filters of the webhooks, so that a decision asks nobody for them.
type webhookCache struct {
	reader WebhookReader
	reads  singleflight.Group
	known  atomic.Pointer[knownWebhooks]
	// tried is when a command last waited for a read in vain, in nanoseconds of the epoch.
	tried atomic.Int64
}

type knownWebhooks struct {
	set *webhooks.Set
	// at is the moment before they were read.
	at time.Time
}

// set returns the webhooks that are known, nil for none.
func (c *webhookCache) set() *webhooks.Set {
	if c == nil {
		return nil
	}
	if known := c.known.Load(); known != nil {
		return known.set
	}
	return nil
}

// ensure returns once what is known is fresh. When it cannot be read it stays as it was, except
// at the start: then nobody is told that something is decided which a webhook would have to hear of.
func (c *webhookCache) ensure(ctx context.Context) error {
	if c == nil {
		return nil
	}
	known := c.known.Load()
	switch {
	case known == nil:
		return c.refresh(ctx)
	case time.Since(known.at) < webhookFresh, time.Since(time.Unix(0, c.tried.Load())) < webhookFresh:
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, webhookPatience)
	defer cancel()
	if err := c.refresh(waiting); err != nil {
		c.tried.Store(time.Now().UnixNano())
	}
	return ctx.Err()
}

// refresh reads the webhooks, once for all who ask at a time.
func (c *webhookCache) refresh(ctx context.Context) error {
	reading := c.reads.DoChan("", func() (any, error) {
		at := time.Now()
		endpoints, err := c.reader.Webhooks(context.WithoutCancel(ctx))
		if err != nil {
			return nil, fmt.Errorf("%w: read webhooks: %v", runs.ErrUnavailable, err) //nolint:errorlint // its deadline is not the caller's
		}
		fresh := &knownWebhooks{webhooks.NewSet(endpoints), at}
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

// RefreshWebhooks makes every decision after it owe what the webhooks of now want. Errors: those of
// the reader, and the context's.
func (c *Committer) RefreshWebhooks(ctx context.Context) error {
	if c.webhooks == nil {
		return nil
	}
	// A read that began before may not have seen the change.
	c.webhooks.reads.Forget("")
	return c.webhooks.refresh(ctx)
}

// watchWebhooks reads the webhooks again and again until the committer is closed.
func (c *Committer) watchWebhooks() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tick := time.NewTicker(webhookPace)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-c.closing:
			return
		case <-tick.C:
		}
		err := c.webhooks.refresh(ctx)
		if failed := err != nil; failed != failing {
			failing = failed
			if failed {
				c.options.Logger.Warn("webhooks cannot be read; those that are known count", slog.Any("error", err))
			}
		}
	}
}

var _ WebhookReader = webhooks.Store(nil)

// withWebhooks lets decisions from a state owe events to the webhooks that are known, and messages to people.
func (c *Committer) withWebhooks(state *runs.State) {
	state.Webhooks = c.webhooks.set()
	state.NotifyAfterMs = c.options.NotifyAfter.Milliseconds()
}
