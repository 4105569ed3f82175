//go:build unix && faults

package linearizability

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/client"
)

// leaseMs is the shortest lease that the service gives, so that leases lapse.
const leaseMs = 1000

// load has many callers of a few runs. A finished run is replaced by a new one.
type load struct {
	// seed determines the callers' choices. Their results depend on the machine too.
	seed    uint64
	history *history
	// services are, for each caller, its clients of the replicas.
	services [][]*client.Client
	// waits is the longest pause of a caller between two calls.
	waits time.Duration

	mu     sync.Mutex
	boards []*board
	made   int
	picks  int
}

// runsAtOnce is at how many runs the callers are. Few enough that they meet, and so
// many that a run lives longer than a lease.
const runsAtOnce = 12

// run calls until the context ends.
func (l *load) run(ctx context.Context) {
	for range runsAtOnce {
		l.boards = append(l.boards, newBoard(l.made))
		l.made++
	}
	var callers sync.WaitGroup
	for number, services := range l.services {
		c := &chooser{
			caller: caller{number: number, name: callerName(number), history: l.history},
			load:   l, services: services, random: rand.New(rand.NewPCG(l.seed, uint64(number))),
		}
		callers.Go(func() { c.work(ctx) })
	}
	callers.Wait()
}

func callerName(number int) string { return fmt.Sprintf("caller-%d", number) }

// board returns one of the runs that the callers are at, and its place. Every other
// time it is the one that the others are at as well.
func (l *load) board(random *rand.Rand) (b *board, place int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.picks++
	place = l.picks / 10 % len(l.boards)
	if random.IntN(2) == 0 {
		place = random.IntN(len(l.boards))
	}
	return l.boards[place], place
}

// replace puts a new run in the place of one that is over.
func (l *load) replace(b *board, place int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.boards[place] == b {
		l.boards[place] = newBoard(l.made)
		l.made++
	}
}
