package stream

import "context"

// follower writes one stream.
type follower interface {
	// pass writes everything available. The channel is closed when there is more; nil means there
	// may be more already. ended says that the stream is complete.
	pass(ctx context.Context) (changed <-chan struct{}, wrote, ended bool, err error)
	// keepAlive writes a keep-alive.
	keepAlive() error
}

// follow runs a follower until its stream is complete, ctx ends, the hub is done, or writing fails.
// Keep its frame and its callers' frames small: a waiting follower keeps them on its stack, and
// stack sizes are powers of two.
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
		case <-h.options.Done:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

func (h *Hub) isDone(ctx context.Context) bool {
	select {
	case <-h.options.Done:
		return true
	default:
		return ctx.Err() != nil
	}
}
