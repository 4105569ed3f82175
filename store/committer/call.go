package committer

import (
	"sync/atomic"

	"github.com/holdpoint/holdpoint/runs"
)

// call is one command on its way.
type call struct {
	command   runs.Command
	needs     runs.Needs
	sessionID string
	state     atomic.Int32

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
)

// beginDeciding says that the call is being decided. It returns false when the caller has
// given up before.
func (c *call) beginDeciding() bool {
	return c.state.CompareAndSwap(callQueued, callDeciding) || c.state.Load() == callDeciding
}

// abandon takes the call back. It returns false when the call is being decided.
func (c *call) abandon() bool { return c.state.CompareAndSwap(callQueued, callAbandoned) }

func (c *call) abandoned() bool { return c.state.Load() == callAbandoned }

// answer ends the call. It is called once.
func (c *call) answer(reply runs.Reply, err error) {
	c.reply, c.err = reply, err
	close(c.done)
}
