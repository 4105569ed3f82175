package door

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"
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
	// The check for lost sessions is retried until the database answers, because connections to a new server may
	// fail. After lostTries the log says that the outcome is not known.
	lostTries, lostTimeout, lostPause, longestLostPause = 5, 5 * time.Second, time.Second, 30 * time.Second
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
	check := d.lostChecks.Add(1)
	// A check that has not ended leaves its sessions to this one, and they have been missing since then.
	d.lostSince.CompareAndSwap(0, time.Now().UnixNano())
	begun := time.Unix(0, d.lostSince.Load())
	d.lanes.Go(func() { d.findLost(expected, begun, check) })
}

func (d *Door) findLost(expected map[string]acknowledged, begun time.Time, check int64) {
	sessionIDs := slices.Sorted(maps.Keys(expected))
	eventIDs := make([]int64, len(sessionIDs))
	for i, sessionID := range sessionIDs {
		eventIDs[i] = expected[sessionID].LastEventID
	}
	histories, there := d.histories(sessionIDs, eventIDs, check)
	if !there {
		return
	}
	d.lostSince.Store(0)
	within := missingFor
	if horizon := time.Duration(d.retains.Load()); horizon != 0 {
		within = min(within, horizon-time.Since(begun))
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

// histories retries until the database answers. It returns false if the Door is closed, or if the incarnation has
// changed again: then another check looks for the same sessions.
func (d *Door) histories(sessionIDs []string, eventIDs []int64, check int64) (found map[string]History, there bool) {
	open, closed := context.WithCancel(context.Background())
	defer closed()
	go func() {
		select {
		case <-d.lanes.Closing():
			closed()
		case <-open.Done():
		}
	}()
	pause := lostPause
	for tries := 1; ; tries++ {
		ctx, cancel := context.WithTimeout(open, lostTimeout)
		found, err := d.versioned.Histories(ctx, sessionIDs, eventIDs)
		cancel()
		// What a check reads of a server that is gone would be counted by the next one as well.
		switch {
		case d.lostChecks.Load() != check:
			return nil, false
		case err == nil && tries > lostTries:
			d.options.Logger.Warn("the sessions can be read again, in which acknowledged commits may be lost")
			return found, true
		case err == nil:
			return found, true
		case tries == lostTries, open.Err() != nil:
			d.options.Logger.Error("whether acknowledged commits are lost is not known: the sessions cannot be read", slog.Any("error", err))
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, longestLostPause)
		case <-open.Done():
			return nil, false
		}
	}
}
