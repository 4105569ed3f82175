package multiplex

import (
	"bytes"
	"context"

	"github.com/coder/websocket"
)

// readFrames passes the frames of each message to take, until the connection ends or take
// fails. The next message overwrites the payloads. The error wraps errMalformed for a
// protocol violation; otherwise it says how the connection ended.
func readFrames(conn *websocket.Conn, take func(frame) error) error {
	var message bytes.Buffer
	for {
		// Do not keep a large buffer for an idle connection.
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
