package demo

import (
	"context"
	"io"
)

// endingReader reads until its context ends, so that a signal is heeded while the
// program waits at a prompt. The read that is under way then is left behind.
type endingReader struct {
	ctx  context.Context //nolint:containedctx // a Read is handed none
	from io.Reader
	// rest is what was read and not handed over yet.
	rest []byte
}

type pieceRead struct {
	piece []byte
	err   error
}

// Read returns the cause of the context once that has ended.
func (r *endingReader) Read(into []byte) (int, error) {
	if len(r.rest) == 0 {
		done := make(chan pieceRead, 1)
		go func() {
			piece := make([]byte, 4<<10)
			n, err := r.from.Read(piece)
			done <- pieceRead{piece[:n], err}
		}()
		select {
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		case read := <-done:
			if len(read.piece) == 0 {
				return 0, read.err
			}
			r.rest = read.piece // an error comes again
		}
	}
	n := copy(into, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
