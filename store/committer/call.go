package committer

import (
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// call is a command that was given to the committer.
type call struct {
	command   runs.Command
	needs     runs.Needs
	sessionID string
	size      runs.Size
	// caller identifies the caller for fair sharing of the lane.
	caller   string
	state    atomic.Int32
	enqueued time.Time
	span     CommandSpan // nil if not traced
	// lockedSince is when the call began to wait for a locked session. Only the lane uses it.
	lockedSince time.Time

	// reply and err may be read once done is closed.
	done  chan struct{}
	reply runs.Reply
	err   error
}

// A call ends up either decided or abandoned.
const (
	callQueued int32 = iota
	callDeciding
	callAbandoned
	// callSettled means that the decision is committed and the answer follows.
	callSettled
)

// beginDeciding marks the call as being decided. It returns false if the caller has given up.
func (c *call) beginDeciding() bool {
	return c.state.CompareAndSwap(callQueued, callDeciding) || c.state.Load() == callDeciding
}

// leave puts a call back in the queue if it was not decided after all.
func (c *call) leave() { c.state.CompareAndSwap(callDeciding, callQueued) }

// abandon withdraws the call. It returns false if the call is already being decided.
func (c *call) abandon() bool { return c.state.CompareAndSwap(callQueued, callAbandoned) }

func (c *call) abandoned() bool { return c.state.Load() == callAbandoned }

// settle marks the decision as committed. The lane is done with the call, which is answered later.
func (c *call) settle() { c.state.Store(callSettled) }

// large reports whether the call would block other calls for too long.
func (c *call) large() bool { return c.size.Rows >= largeRows || c.size.Bytes >= largeBytes }

// answered reports whether the lane is done with the call.
func (c *call) answered() bool {
	if c.state.Load() == callSettled {
		return true
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// answer ends the call. It must be called exactly once.
func (c *call) answer(reply runs.Reply, err error) {
	c.reply, c.err = reply, err
	close(c.done)
}
