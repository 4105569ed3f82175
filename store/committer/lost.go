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
	// Histories returns what the database has of sessions, by their ids, without the missing ones.
	// eventIDs has an event for each session.
	Histories(ctx context.Context, sessionIDs []string, eventIDs []int64) (map[string]History, error)
}

// History is what a database has of a session.
type History struct {
	// Life is the session's, see model.Session.
	Life                 string
	Version, LastEventID int64
	// EventHash is the hash of the event that was asked for, "" when it is not known.
	EventHash string
}

const (
	// maxAcknowledged bounds the sessions whose newest acknowledged version is known. What a failover
	// loses is the newest.
	maxAcknowledged = 8192
	// maxLostNamed bounds the sessions that the log names.
	maxLostNamed = 100
	// missingFor is how new a commit must be for a missing session to count as lost: retention deletes
	// sessions too, later. See also [Committer.Retains].
	missingFor = time.Minute
	// Looking for what was lost is tried again, because the first connections to another server may fail.
	lostTries, lostTimeout, lostPause = 5, 5 * time.Second, time.Second
)

// acknowledged is the newest state of a session that callers were told of.
type acknowledged struct {
	History
	at time.Time
}

// lostIn reports whether a database that has a history of the session has lost what was acknowledged. A
// session with another life is a missing one whose id is used again. within is how new a missing
// session must be: retention may have deleted an older one.
func (a *acknowledged) lostIn(there bool, found *History, at time.Time, within time.Duration) bool {
	switch {
	case !there, a.Life != "" && found.Life != a.Life:
		return at.Sub(a.at) <= within
	case a.Life == "" && found.Life != "":
		return false // events came since, in this life or in another
	case found.LastEventID < a.LastEventID, found.Version < a.Version:
		return true
	}
	return a.EventHash != "" && found.EventHash != "" && found.EventHash != a.EventHash
}

// Retains tells the committer that retention deletes sessions that have been over for so long.
func (c *Committer) Retains(horizon time.Duration) {
	for {
		known := c.retains.Load()
		if known != 0 && known <= int64(horizon) || c.retains.CompareAndSwap(known, int64(max(horizon, 1))) {
			return
		}
	}
}

// acknowledge notes the states of sessions that are committed.
func (c *Committer) acknowledge(d *decisions) {
	if c.versioned == nil || len(d.changed) == 0 {
		return
	}
	now := time.Now()
	for _, changed := range d.changed {
		if session := changed.state.Session; session != nil {
			c.acknowledged.Add(session.SessionID, acknowledged{
				History: History{Life: session.Life, Version: session.Version, LastEventID: session.LastEventID, EventHash: session.LastEventHash},
				at:      now,
			})
		}
	}
}

// lookForLost looks beside the lanes for sessions of which the database has less than was acknowledged.
// It is called when the database has another incarnation, before anything is decided on it.
func (c *Committer) lookForLost() {
	if c.versioned == nil {
		return
	}
	expected := make(map[string]acknowledged, c.acknowledged.Len())
	for _, sessionID := range c.acknowledged.Keys() {
		if newest, there := c.acknowledged.Peek(sessionID); there {
			expected[sessionID] = newest
		}
	}
	begun := time.Now()
	c.running.Go(func() { c.findLost(expected, begun) })
}

func (c *Committer) findLost(expected map[string]acknowledged, begun time.Time) {
	sessionIDs := slices.Sorted(maps.Keys(expected))
	eventIDs := make([]int64, len(sessionIDs))
	for i, sessionID := range sessionIDs {
		eventIDs[i] = expected[sessionID].LastEventID
	}
	histories, err := c.histories(sessionIDs, eventIDs)
	if err != nil {
		c.options.Logger.Error("whether the database has lost what was acknowledged is not known: its sessions could not be read", slog.Any("error", err))
		return
	}
	within := missingFor
	if horizon := time.Duration(c.retains.Load()); horizon != 0 {
		within = min(within, horizon)
	}
	var lost []string
	for _, sessionID := range sessionIDs {
		newest := expected[sessionID]
		found, there := histories[sessionID]
		if !newest.lostIn(there, &found, begun, within) {
			continue
		}
		lost = append(lost, sessionID)
		c.acknowledged.Remove(sessionID)
	}
	if len(lost) == 0 {
		return
	}
	c.options.Logger.Error("the database has lost what was acknowledged", slog.Int("sessions", len(lost)),
		slog.Any("session_ids", lost[:min(len(lost), maxLostNamed)]))
	if c.options.Observer != nil {
		c.options.Observer.Lost(len(lost))
	}
}

// histories asks until it is answered, a few times, and no longer than the Committer is open.
func (c *Committer) histories(sessionIDs []string, eventIDs []int64) (found map[string]History, err error) {
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
		found, err = c.versioned.Histories(ctx, sessionIDs, eventIDs)
		cancel()
		if err == nil {
			return found, nil
		}
		select {
		case <-time.After(lostPause):
		case <-open.Done():
			return nil, runs.ErrClosed
		}
	}
	return nil, err
}
