package postgres

import (
	"context"
	"log/slog"
	"sync"

	"github.com/holdpoint/holdpoint/runs/reads"
)

// tellEvery is how many regular checks for listeners pass between two tellings, which makes 10 s.
const tellEvery = 2

// telling is the part of a payload about the claims of workers since the replica's last telling, empty if there
// were none. A telling may take several payloads.
type telling struct {
	// PID is the server process of the replica's listener, 0 while it does not listen.
	PID int32 `json:"pid,omitzero"`
	// Any stands for all agents: there are too many to name.
	Any    bool               `json:"any,omitzero"`
	Agents []reads.AskedAgent `json:"agents,omitempty"`
}

// tellings says when to tell other replicas what. It is safe for concurrent use.
type tellings struct {
	mu   sync.Mutex
	asks reads.Asks // nil before ShareAsks
	// sinceMs is the end of the last telling that was sent, by the clock of asks; named has its agents, and
	// checks counts the regular checks after it.
	sinceMs int64
	named   map[string]bool
	checks  int
}

// share makes tellings of these claims, until stop is called.
func (t *tellings) share(asks reads.Asks) (stop func()) {
	t.set(asks)
	return func() { t.set(nil) }
}

func (t *tellings) set(asks reads.Asks) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asks, t.sinceMs, t.named, t.checks = asks, 0, nil, tellEvery
}

// again makes the next telling due, for a listener that has heard none.
func (t *tellings) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sinceMs, t.checks = 0, tellEvery
}

// due returns the telling that is due at a regular check, and what to call once it was sent. An agent that the last
// one did not name is told of at once. sent is nil if none is due.
func (t *tellings) due() (asked reads.Asked, sent func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asks == nil {
		return reads.Asked{}, nil
	}
	asks, sinceMs := t.asks, t.sinceMs
	asked, nowMs := asks.AskedSince(sinceMs)
	t.checks++
	due, named := t.checks >= tellEvery || asked.Any, map[string]bool{}
	for _, agent := range asked.Agents {
		due, named[agent.AgentID] = due || !t.named[agent.AgentID], true
	}
	if !due {
		return reads.Asked{}, nil
	}
	return asked, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.asks == asks && t.sinceMs == sinceMs {
			t.sinceMs, t.named, t.checks = nowMs, named, 0
		}
	}
}

// hear adds another replica's telling. It reports false if nothing here wants it.
func (t *tellings) hear(told *telling) bool {
	t.mu.Lock()
	asks := t.asks
	t.mu.Unlock()
	if asks == nil {
		return false
	}
	asks.HearAsked(reads.Asked{Any: told.Any, Agents: told.Agents})
	return true
}

// payloadsOfAsked returns the payloads of a telling.
func payloadsOfAsked(replica string, pid int32, asked reads.Asked) []string {
	messageOf := func(agents []reads.AskedAgent) message {
		return message{Replica: replica, Told: &telling{PID: pid, Agents: agents}}
	}
	payloads, fit := packed(asked.Agents, messageOf)
	switch {
	case asked.Any || !fit:
		return payloadOf(message{Replica: replica, Told: &telling{PID: pid, Any: true}})
	case len(payloads) == 0:
		return payloadOf(messageOf(nil))
	}
	return payloads
}

// tellAsked sends the telling that is due, if another replica may listen. After a failure the next regular check
// repeats it.
func (n *notifier) tellAsked(ctx context.Context) {
	var pid int32
	if n.audience != nil {
		if n.audience.absent() {
			return
		}
		pid = n.audience.listener()
	}
	asked, sent := n.tellings.due()
	if sent == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	if err := n.tell(ctx, payloadsOfAsked(n.replica, pid, asked)); err != nil {
		n.logger.WarnContext(ctx, "could not tell other replicas what workers ask for", slog.Any("error", err))
		return
	}
	sent()
}

// hear handles another replica's telling.
func (n *notifier) hear(told *telling) {
	if n.tellings.hear(told) {
		n.audience.told(told.PID)
	}
}

// ShareAsks tells other replicas what workers ask this one for, and hears of theirs, until stop is called.
func (s *Store) ShareAsks(asks reads.Asks) (stop func()) {
	if s.notifier == nil {
		return func() {}
	}
	return s.notifier.tellings.share(asks)
}
