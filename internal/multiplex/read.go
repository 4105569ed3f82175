package multiplex

import (
	"bytes"
	"context"

	"github.com/coder/websocket"
)

// readFrames hands the frames of each message to take, until the connection ends or a message cannot be
// taken. The payloads are overwritten by the next message. The error wraps errMalformed for what the other
// side must not send, or says that the connection has ended.
func readFrames(conn *websocket.Conn, take func(frame) error) error {
	var message bytes.Buffer
	for {
		// A connection without messages keeps no large buffer.
		if message.Reset(); message.Cap() > keptBytes {
			message = bytes.Buffer{}
		}
		_, from, err := conn.Reader(context.Background())
		if err != nil {
			return err
		}
		if _, err := message.ReadFrom(from); err != nil {
			return err
		}
		for rest := message.Bytes(); len(rest) > 0; {
			var f frame
			if f, rest, err = nextFrame(rest); err == nil {
				err = take(f)
			}
			if err != nil {
				return err
			}
		}
	}
}
