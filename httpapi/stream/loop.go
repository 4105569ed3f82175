package stream

import "context"

// follower writes one stream.
type follower interface {
	// pass writes what there is to see. The channel is closed when there is more; it is nil
	// when there may be more already. ended says that the stream is complete.
	pass(ctx context.Context) (changed <-chan struct{}, wrote, ended bool, err error)
	// keepAlive writes that nothing has happened.
	keepAlive() error
}

// follow lets a follower write until its stream is complete, ctx ends, the hub is done,
// or writing fails. Its frame and those above it are small: a follower that waits has
// them on its stack, and stacks come in powers of two.
func (h *Hub) follow(ctx context.Context, f follower) error {
	idle := h.idle.after()
	for {
		changed, wrote, ended, err := f.pass(ctx)
		if ended || err != nil {
			return err
		}
		if wrote {
			idle = h.idle.after()
		}
		if changed == nil {
			if h.isDone(ctx) {
				return nil
			}
			continue
		}
		select {
		case <-changed:
		case <-idle:
			if err := f.keepAlive(); err != nil {
				return err
			}
			idle = h.idle.after()
		case <-h.done:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

func (h *Hub) isDone(ctx context.Context) bool {
	select {
	case <-h.done:
		return true
	default:
		return ctx.Err() != nil
	}
}
