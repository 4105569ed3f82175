package door

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// Versioned is an Engine whose database may lose commits, for example if a standby takes over
// before it has received everything.
type Versioned interface {
	// Histories returns the database's state of sessions by id, without missing ones. eventIDs has
	// one event for each session.
	Histories(ctx context.Context, sessionIDs []string, eventIDs []int64) (map[string]History, error)
}

// History is the database's state of a session.
type History struct {
	// Life is the life of the session, see model.Session.
	Life                 string
	Version, LastEventID int64
	// EventHash is the hash of the requested event, or "" if unknown.
	EventHash string
}

const (
	// maxAcknowledged limits the sessions whose acknowledged version is kept. A failover loses the
	// newest commits, so the newest are enough.
	maxAcknowledged = 8192
	// maxLostNamed limits the sessions named in the log.
	maxLostNamed = 100
	// missingFor is the maximum age of a commit for its missing session to count as lost. Retention
	// deletes sessions too, but later. See also [Door.Retains].
	missingFor = time.Minute
	// The check for lost sessions is retried, because the first connections to a new server may
	// fail.
	lostTries, lostTimeout, lostPause = 5, 5 * time.Second, time.Second
)

// acknowledged is the newest state of a session that callers were told about.
type acknowledged struct {
	History
	at time.Time
}

// lostIn reports whether the database has lost acknowledged commits of the session. A session with
// another life counts as missing: its id was reused. within is the maximum age of a commit whose
// session is missing, because retention may have deleted an older session.
func (a *acknowledged) lostIn(there bool, found *History, at time.Time, within time.Duration) bool {
	switch {
	case !there, a.Life != "" && found.Life != a.Life:
		return at.Sub(a.at) <= within
	case a.Life == "" && found.Life != "":
		return false // there are newer events, in this life or another
	case found.LastEventID < a.LastEventID, found.Version < a.Version:
		return true
	}
	return a.EventHash != "" && found.EventHash != "" && found.EventHash != a.EventHash
}

// Retains tells the door that retention deletes sessions that ended this long ago.
func (d *Door) Retains(horizon time.Duration) {
	for {
		known := d.retains.Load()
		if known != 0 && known <= int64(horizon) || d.retains.CompareAndSwap(known, int64(max(horizon, 1))) {
			return
		}
	}
}

// acknowledge records the committed states of sessions.
func (d *Door) acknowledge(made *decisions) {
	if d.versioned == nil || len(made.changed) == 0 {
		return
	}
	now := time.Now()
	for _, changed := range made.changed {
		if session := changed.state.Session; session != nil {
			d.acknowledged.Add(session.SessionID, acknowledged{
				History: History{Life: session.Life, Version: session.Version, LastEventID: session.LastEventID, EventHash: session.LastEventHash},
				at:      now,
			})
		}
	}
}

// lookForLost checks in the background whether the database has lost acknowledged commits. It is
// called when the incarnation has changed, before anything is decided on the new one.
func (d *Door) lookForLost() {
	if d.versioned == nil {
		return
	}
	expected := make(map[string]acknowledged, d.acknowledged.Len())
	for _, sessionID := range d.acknowledged.Keys() {
		if newest, there := d.acknowledged.Peek(sessionID); there {
			expected[sessionID] = newest
		}
	}
	begun := time.Now()
	d.lanes.Go(func() { d.findLost(expected, begun) })
}

func (d *Door) findLost(expected map[string]acknowledged, begun time.Time) {
	sessionIDs := slices.Sorted(maps.Keys(expected))
	eventIDs := make([]int64, len(sessionIDs))
	for i, sessionID := range sessionIDs {
		eventIDs[i] = expected[sessionID].LastEventID
	}
	histories, err := d.histories(sessionIDs, eventIDs)
	if err != nil {
		d.options.Logger.Error("whether the database has lost what was acknowledged is not known: its sessions could not be read", slog.Any("error", err))
		return
	}
	within := missingFor
	if horizon := time.Duration(d.retains.Load()); horizon != 0 {
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
		d.acknowledged.Remove(sessionID)
	}
	if len(lost) == 0 {
		return
	}
	d.options.Logger.Error("the database has lost what was acknowledged", slog.Int("sessions", len(lost)),
		slog.Any("session_ids", lost[:min(len(lost), maxLostNamed)]))
	if d.options.Observer != nil {
		d.options.Observer.Lost(len(lost))
	}
}

// histories retries a few times until the database answers or the Door is closed.
func (d *Door) histories(sessionIDs []string, eventIDs []int64) (found map[string]History, err error) {
	open, closed := context.WithCancel(context.Background())
	defer closed()
	go func() {
		select {
		case <-d.lanes.Closing():
			closed()
		case <-open.Done():
		}
	}()
	for range lostTries {
		ctx, cancel := context.WithTimeout(open, lostTimeout)
		found, err = d.versioned.Histories(ctx, sessionIDs, eventIDs)
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
