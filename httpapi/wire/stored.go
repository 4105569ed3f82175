package wire

import (
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Stored limits how many bytes the calls of each principal add to the database in a day. Budgets refill
// evenly over the day. A nil Stored has no limit.
type Stored struct {
	known, open int64
	now         func() time.Time

	mu      sync.Mutex
	budgets map[string]*budget
	sweepAt int
}

// budget is what a principal has left; negative after a debt. Stored.mu guards it.
type budget struct {
	limit, left float64
	at          time.Time
}

// day is how long an empty budget takes to be full.
const day = 24 * time.Hour

// NewStored returns budgets with the limits of a quota. now is the process's clock.
func NewStored(quota Quota, now func() time.Time) *Stored {
	return &Stored{known: quota.orDefault().Stored, open: quota.ofAll().Stored, now: now, budgets: map[string]*budget{}, sweepAt: minSweep}
}

// Take takes bytes from a principal's budget. Call giveBack if they were not stored. A call that
// settles something is never refused; it may leave a debt. Callers without credentials (open) share
// one budget. Errors: too_many_stored_bytes.
func (s *Stored) Take(principal string, open bool, bytes int64, settles bool) (giveBack func(), err error) {
	limit, key := int64(-1), principal
	if s != nil {
		limit = s.known
		if open {
			limit, key = s.open, ""
		}
	}
	if limit < 0 || bytes <= 0 {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, now := s.budgetOf(key, float64(limit)), s.now()
	b.refill(now)
	// A call larger than the budget passes when the budget is full, and leaves a debt.
	if missing := min(float64(bytes), b.limit) - b.left; missing > 0 && !settles {
		return nil, &laterError{
			refusal.New(CodeTooManyStoredBytes, "the calls of %s have added the maximum of %d bytes a day to the database at this replica: decide, cancel or end open requests, or wait", principal, limit),
			time.Duration(missing / b.limit * float64(day)),
		}
	}
	b.left -= float64(bytes)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		b.refill(s.now())
		b.left = min(b.left+float64(bytes), b.limit)
	}, nil
}

func (b *budget) refill(now time.Time) {
	b.left = min(b.left+now.Sub(b.at).Seconds()/day.Seconds()*b.limit, b.limit)
	b.at = now
}

// budgetOf returns a principal's budget. A new one is full. The caller holds the lock.
func (s *Stored) budgetOf(key string, limit float64) *budget {
	if b := s.budgets[key]; b != nil {
		return b
	}
	now := s.now()
	if len(s.budgets) >= s.sweepAt {
		for other, b := range s.budgets {
			if b.refill(now); b.left >= b.limit {
				delete(s.budgets, other)
			}
		}
		s.sweepAt = max(minSweep, 2*len(s.budgets))
	}
	b := &budget{limit, limit, now}
	s.budgets[key] = b
	return b
}

// Use returns the largest used share of a principal's budget: 0 to 1, or more with a debt.
func (s *Stored) Use() (share float64) {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, b := range s.budgets {
		b.refill(now)
		share = max(share, 1-b.left/b.limit)
	}
	return share
}
