package tasks

import (
	"bytes"
	"io"
	"net/http"
)

// ReadAhead returns at most one byte more of a request's body than it may have, so a longer result means that there is
// more. putBack puts these bytes, or others, in front of the rest for the next handler.
func ReadAhead(r *http.Request, maxBodyBytes int64) (start []byte, putBack func([]byte), err error) {
	rest := r.Body
	start, err = io.ReadAll(io.LimitReader(rest, maxBodyBytes+1))
	return start, func(start []byte) {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(start), rest), rest}
	}, err
}
