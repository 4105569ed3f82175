package committer

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// Versioned is an Engine whose database may lose what it has committed, as a standby does that takes
// over without all that it should have.
type Versioned interface {
	// SessionVersions returns the versions that sessions have, of those that exist.
	SessionVersions(ctx context.Context, sessionIDs []string) (map[string]int64, error)
}

const (
	// maxAcknowledged bounds the sessions whose newest acknowledged version is known. What a failover
	// loses is the newest.
	maxAcknowledged = 8192
	// maxLostNamed bounds the sessions that the log names.
	maxLostNamed = 100
	// missingFor is how new a commit must be that a session without a row is missed for: retention
	// deletes sessions too, later.
	missingFor = time.Minute
	// Looking for what was lost is tried again, because the first connections to another server may fail.
	lostTries, lostTimeout, lostPause = 5, 5 * time.Second, time.Second
)

// acknowledged is the newest version of a session that callers were told of.
type acknowledged struct {
	version int64
	at      time.Time
}

// acknowledge notes the versions of sessions that are committed.
func (c *Committer) acknowledge(d *decisions) {
	if c.versioned == nil || len(d.changed) == 0 {
		return
	}
	now := time.Now()
	for _, changed := range d.changed {
		if session := changed.state.Session; session != nil {
			c.acknowledged.Add(session.SessionID, acknowledged{session.Version, now})
		}
	}
}

// lookForLost looks beside the lanes for sessions of which the database has less than was acknowledged.
// It is called when the database has another incarnation.
func (c *Committer) lookForLost() {
	if c.versioned != nil {
		c.running.Go(c.findLost)
	}
}

func (c *Committer) findLost() {
	begun := time.Now()
	expected := make(map[string]acknowledged, c.acknowledged.Len())
	for _, sessionID := range c.acknowledged.Keys() {
		if newest, there := c.acknowledged.Peek(sessionID); there {
			expected[sessionID] = newest
		}
	}
	versions, err := c.sessionVersions(slices.Collect(maps.Keys(expected)))
	if err != nil {
		c.options.Logger.Error("whether the database has lost what was acknowledged is not known: its sessions could not be read", slog.Any("error", err))
		return
	}
	var lost []string
	for sessionID, newest := range expected {
		version, there := versions[sessionID]
		if version >= newest.version || !there && begun.Sub(newest.at) > missingFor {
			continue
		}
		lost = append(lost, sessionID)
		c.acknowledged.Remove(sessionID)
	}
	if len(lost) == 0 {
		return
	}
	slices.Sort(lost)
	c.options.Logger.Error("the database has lost what was acknowledged", slog.Int("sessions", len(lost)),
		slog.Any("session_ids", lost[:min(len(lost), maxLostNamed)]))
	if c.options.Observer != nil {
		c.options.Observer.Lost(len(lost))
	}
}

// sessionVersions asks until it is answered, a few times, and no longer than the Committer is open.
func (c *Committer) sessionVersions(sessionIDs []string) (versions map[string]int64, err error) {
	open, closed := context.WithCancel(context.Background())
	defer closed()
	go func() {
		select {
		case <-c.closing:
			closed()
		case <-open.Done():
		}
	}()
	for range lostTries {
		ctx, cancel := context.WithTimeout(open, lostTimeout)
		versions, err = c.versioned.SessionVersions(ctx, sessionIDs)
		cancel()
		if err == nil {
			return versions, nil
		}
		select {
		case <-time.After(lostPause):
		case <-open.Done():
			return nil, runs.ErrClosed
		}
	}
	return nil, err
}
