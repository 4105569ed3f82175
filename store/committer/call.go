package committer

import (
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// call is one command on its way.
type call struct {
	command   runs.Command
	needs     runs.Needs
	sessionID string
	size      runs.Size
	// caller is who shares the lane with others.
	caller string
	state  atomic.Int32
	// enqueued is when the call came.
	enqueued time.Time
	span     CommandSpan // nil for a call that is not traced
	// lockedSince is when the call began to wait for a locked session; the lane's.
	lockedSince time.Time

	// reply and err may be read once done is closed.
	done  chan struct{}
	reply runs.Reply
	err   error
}

// A call is decided or abandoned, whichever is first.
const (
	callQueued int32 = iota
	callDeciding
	callAbandoned
	// callSettled is a call whose answer is known, and given soon.
	callSettled
)

// beginDeciding says that the call is being decided. It returns false when the caller has
// given up before.
func (c *call) beginDeciding() bool {
	return c.state.CompareAndSwap(callQueued, callDeciding) || c.state.Load() == callDeciding
}

// leave lets a call wait again that was not decided after all.
func (c *call) leave() { c.state.CompareAndSwap(callDeciding, callQueued) }

// abandon withdraws the call. It returns false when the call is being decided.
func (c *call) abandon() bool { return c.state.CompareAndSwap(callQueued, callAbandoned) }

func (c *call) abandoned() bool { return c.state.Load() == callAbandoned }

// settle says that the decision is committed: the lane is done with the call, which is
// answered later.
func (c *call) settle() { c.state.Store(callSettled) }

// large reports whether the call would hold up others.
func (c *call) large() bool { return c.size.Rows >= largeRows || c.size.Bytes >= largeBytes }

// inParts reports whether what the call writes may be written in parts: nearly all of it is events, and
// it is decided from what its session has and from the caller's token, which are the same when the last part
// is written. The unique key of an idempotency record keeps that from being there twice.
func (c *call) inParts() bool {
	return c.command.Spec().AppendsOnly && !c.needs.Rules && c.large()
}

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

// answer ends the call. It is called once.
func (c *call) answer(reply runs.Reply, err error) {
	c.reply, c.err = reply, err
	close(c.done)
}
