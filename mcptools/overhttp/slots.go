package overhttp

import (
	"net/http"
	"sync"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// slots limit the calls in progress. Each caller gets as many as are free.
type slots struct {
	mu   sync.Mutex
	free int
	of   map[string]int
}

func newSlots(total int) *slots { return &slots{free: total, of: map[string]int{}} }

// take takes a slot for a caller. Errors: too_many_calls when the caller holds as many as are free,
// service_unavailable when none is free.
func (s *slots) take(caller string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch own := s.of[caller]; {
	case s.free == 0:
		return refusal.New(wire.CodeServiceUnavailable, "too many calls of /mcp are waiting")
	case own >= s.free:
		return refusal.New(wire.CodeTooManyCalls, "%d of your calls of /mcp are waiting, and %d are left for all callers", own, s.free)
	}
	s.free--
	s.of[caller]++
	return nil
}

func (s *slots) giveBack(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.of[caller]--; s.of[caller] == 0 {
		delete(s.of, caller)
	}
}

// use returns how much of its share the busiest caller holds: 1 if its next call is refused.
func (s *slots) use() (share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, own := range s.of {
		share = max(share, float64(own)/float64(max(own, s.free)))
	}
	return share
}

// callerOf returns the key that a caller's slots are counted under: the principal, or the agent
// when the service requires no credential.
func callerOf(r *http.Request, agentID string) string {
	if identity := auth.From(r.Context()); identity != nil && identity.Via != auth.ViaOpen {
		return identity.Principal
	}
	return "agent " + agentID
}
