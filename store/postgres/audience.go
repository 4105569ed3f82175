package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// audienceEvery is how often a replica checks for other listeners.
	audienceEvery = 5 * time.Second
	// audienceTimeout bounds a check.
	audienceTimeout = 5 * time.Second
	// toldFor is how long a telling counts: until two regular ones are missing. A replica whose tellings fail may have
	// workers that ask it, so it is soon not known any more what they ask for.
	toldFor = 2 * tellEvery * audienceEvery
)

// audience knows whether another replica may be listening; if not, nothing is sent. Listeners
// hold a shared lock, and then greet. A replica that hears a greeting, or cannot hear any,
// assumes listeners until it has checked the locks without a greeting meanwhile. It is safe for
// concurrent use.
type audience struct {
	pool *pgxpool.Pool
	now  func() time.Time

	mu sync.Mutex
	// nobody reports that no other replica listens.
	nobody bool
	// others are the server processes of the other listeners at the last check.
	others []int32
	// toldAt has the listeners that have told what workers ask them for, with the time of the last telling.
	toldAt map[int32]time.Time
	// known counts the regular checks since others changed at which all of them had told.
	known int64
	// pid is the server process of this replica's listener, 0 while it does not listen.
	pid int32
	// changes counts greetings and connections of the listener.
	changes int
	// lookedAfter is the value of changes before the last check.
	lookedAfter int
}

func newAudience(pool *pgxpool.Pool) *audience {
	return &audience{pool: pool, now: time.Now, toldAt: map[int32]time.Time{}}
}

// absent reports whether no other replica listens.
func (a *audience) absent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nobody
}

// listener returns the server process of this replica's listener, 0 while it does not listen.
func (a *audience) listener() int32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pid
}

// listening records that this replica hears greetings on the connection of this server process, or
// no longer does if pid is 0. It may have missed tellings.
func (a *audience) listening(pid int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pid, a.nobody, a.known = pid, false, 0
	clear(a.toldAt)
	a.changes++
}

// greeted records that another replica listens.
func (a *audience) greeted() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nobody, a.known = false, 0
	a.changes++
}

// told records a telling of the replica with this listener, 0 for one that does not listen.
func (a *audience) told(pid int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if pid != 0 {
		a.toldAt[pid] = a.now()
	}
}

// look checks for listeners if it is time to, or if something has changed since the last check.
func (a *audience) look(ctx context.Context, due bool) error {
	a.mu.Lock()
	pid, changes := a.pid, a.changes
	if pid == 0 || !due && changes == a.lookedAfter {
		a.mu.Unlock()
		return nil
	}
	a.lookedAfter = changes
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, audienceTimeout)
	defer cancel()
	var others []int32
	if err := a.pool.QueryRow(ctx, sqlOtherListeners, pid).Scan(&others); err != nil {
		return err
	}
	a.saw(others, changes, due)
	return nil
}

// saw records the result of a check that began after these changes.
func (a *audience) saw(others []int32, changes int, due bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if changes != a.changes {
		return
	}
	a.nobody = len(others) == 0
	// What workers asked a listener for since its last telling is lost when it leaves.
	if !slices.Equal(others, a.others) {
		a.others, a.known = others, 0
	}
	for told, at := range a.toldAt {
		if a.now().Sub(at) > toldFor {
			delete(a.toldAt, told)
		}
	}
	switch {
	case !a.allTold():
		a.known = 0
	case due:
		a.known++
	}
}

// allTold reports whether each other listener has told a short time ago.
func (a *audience) allTold() bool {
	for _, other := range a.others {
		if at, told := a.toldAt[other]; !told || a.now().Sub(at) > toldFor {
			return false
		}
	}
	return true
}

// knownMs returns for how long each regular check has found that this replica hears of all claims of workers, by
// their interval; 0 if it may miss some.
func (a *audience) knownMs() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.allTold() {
		return 0
	}
	return a.known * audienceEvery.Milliseconds()
}
