package serve

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
)

// With more than one processor, the scheduler wakes a second thread for each goroutine that
// becomes ready. With few calls, that thread only spins on a core that the database or a
// client could use.
const (
	// processorWindow is the interval at which the CPU use is measured.
	processorWindow = 25 * time.Millisecond
	// busyCores in one window is more than one processor should carry.
	busyCores = 0.7
	// calmCores, the mean over calmWindows consecutive windows, is well within one.
	calmCores   = 0.5
	calmWindows = 40
)

// processorUse decides between one processor and all of them.
type processorUse struct {
	one     bool
	windows int
	sum     float64 // cores, over that many windows
}

// saw records the cores used in a window, and returns whether one processor is enough. Large work
// needs another one, however seldom: on the same one, all other calls wait for it.
func (u *processorUse) saw(cores float64, large bool) (one bool) {
	if cores > busyCores || large {
		u.one, u.windows, u.sum = false, 0, 0
		return false
	}
	if u.one {
		return true
	}
	u.windows++
	u.sum += cores
	if u.windows == calmWindows {
		u.one = u.sum/calmWindows < calmCores
		u.windows, u.sum = 0, 0
	}
	return u.one
}

// useFewProcessors limits goroutines to one processor while that is enough, until the
// context ends. It does nothing if GOMAXPROCS is set, or if CPU use cannot be read.
func useFewProcessors(ctx context.Context) error {
	if _, set := os.LookupEnv("GOMAXPROCS"); set {
		return nil
	}
	if _, readable := coreTime(); !readable {
		return nil
	}
	ticker := time.NewTicker(processorWindow)
	defer ticker.Stop()
	watchProcessors(ctx, ticker.C, coreTime, func(one bool) {
		if one {
			runtime.GOMAXPROCS(1)
		} else {
			runtime.SetDefaultGOMAXPROCS() // as many as the container allows now
		}
	})
	return nil
}

// watchProcessors measures the CPU time and the large work at each tick, and sets GOMAXPROCS on changes. It
// starts and ends with all processors.
func watchProcessors(ctx context.Context, ticks <-chan time.Time, worked func() (time.Duration, bool), set func(one bool)) {
	var use processorUse
	at, larges := time.Now(), cpulimit.Began()
	before, _ := worked() // it could be read before
	for {
		select {
		case <-ctx.Done():
			if use.one {
				set(false)
			}
			return
		case now := <-ticks:
			after, readable := worked()
			passed := now.Sub(at)
			if !readable || passed <= 0 {
				continue
			}
			was, began := use.one, cpulimit.Began()
			if one := use.saw(float64(after-before)/float64(passed), began != larges); one != was {
				set(one)
			}
			at, before, larges = now, after, began
		}
	}
}
