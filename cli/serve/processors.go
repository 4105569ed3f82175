package serve

import (
	"context"
	"os"
	"runtime"
	"time"
)

// A scheduler with more than one processor wakes a second thread for each goroutine that becomes
// ready. With few calls there is nothing for it to do but to look around, on a core that the
// database or a client could use.
const (
	// processorWindow is how often the use of the cores is looked at.
	processorWindow = 25 * time.Millisecond
	// busyCores in one window is more than one processor should carry.
	busyCores = 0.7
	// calmCores, the mean of calmWindows windows that follow each other, is well within one.
	calmCores   = 0.5
	calmWindows = 40
)

// processorUse decides between one processor and as many as there are.
type processorUse struct {
	one     bool
	windows int
	sum     float64 // cores, of so many windows
}

// saw takes how many cores a window used, and returns whether one processor is enough.
func (u *processorUse) saw(cores float64) (one bool) {
	if cores > busyCores {
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

// useFewProcessors lets goroutines run on one processor while that is enough, until the context ends.
// It does nothing when GOMAXPROCS is set, or where the use of the cores cannot be read.
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
			runtime.SetDefaultGOMAXPROCS() // as many as the container may use now
		}
	})
	return nil
}

// watchProcessors looks at each tick at the time that the cores have worked, and sets what has changed.
// It begins and ends with all processors.
func watchProcessors(ctx context.Context, ticks <-chan time.Time, worked func() (time.Duration, bool), set func(one bool)) {
	var use processorUse
	at := time.Now()
	before, _ := worked() // it could be read a moment ago
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
			was := use.one
			if one := use.saw(float64(after-before) / float64(passed)); one != was {
				set(one)
			}
			at, before = now, after
		}
	}
}
