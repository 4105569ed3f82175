package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// audienceEvery is how often a replica checks for other listeners.
	audienceEvery = 5 * time.Second
	// audienceTimeout bounds a check.
	audienceTimeout = 5 * time.Second
)

// audience knows whether another replica may be listening; if not, nothing is sent. Listeners
// hold a shared lock, and then greet. A replica that hears a greeting, or cannot hear any,
// assumes listeners until it has checked the locks without a greeting meanwhile. It is safe for
// concurrent use.
type audience struct {
	pool *pgxpool.Pool

	mu sync.Mutex
	// nobody reports that no other replica listens. known counts the regular checks since then.
	nobody bool
	known  int64
	// pid is the server process of this replica's listener, 0 while it does not listen.
	pid int32
	// changes counts greetings and connections of the listener.
	changes int
	// lookedAfter is the value of changes before the last check.
	lookedAfter int
}

// absent reports whether no other replica listens.
func (a *audience) absent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nobody
}

// listening records that this replica hears greetings on the connection of this server process, or
// no longer does if pid is 0.
func (a *audience) listening(pid int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pid, a.nobody, a.known = pid, false, 0
	a.changes++
}

// greeted records that another replica listens.
func (a *audience) greeted() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nobody, a.known = false, 0
	a.changes++
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
	var others bool
	if err := a.pool.QueryRow(ctx, sqlOthersListen, pid).Scan(&others); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if changes == a.changes {
		a.nobody = !others
		switch {
		case others:
			a.known = 0
		case due:
			a.known++
		}
	}
	return nil
}

// knownMs returns for how long each regular check has found no other listener, by their interval; 0 if there
// may be one.
func (a *audience) knownMs() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.nobody {
		return 0
	}
	return a.known * audienceEvery.Milliseconds()
}
