package door

import (
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/lanes"
)

// LaneState is the current state of a lane.
type LaneState = lanes.State

// Lanes returns the current state of each lane.
func (d *Door) Lanes() []LaneState { return d.lanes.States() }

// Stalled returns a [runs.NotReadyError] that wraps runs.ErrUnavailable and names a lane whose
// batch has been in flight for stallAfter or longer. It returns nil if there is none.
func (d *Door) Stalled() error {
	lane, busy, stalled := d.lanes.Stalled()
	if !stalled {
		return nil
	}
	detail := fmt.Sprintf("lane %d has not moved for %s", lane, busy.Round(time.Second))
	return &runs.NotReadyError{Detail: detail, Err: runs.ErrUnavailable}
}

// PoolState describes the use of one kind of connections of an engine. Waits and Waited count how
// often and how long callers waited for a connection since the start. They are 0 if the engine does
// not count them.
type PoolState struct {
	Name             string
	InUse, Idle, Max int
	Waits            int64
	Waited           time.Duration
}
