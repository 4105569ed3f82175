package wire

import (
	"bytes"
	"net/http"
)

// Recorded is an http.ResponseWriter that keeps a response. The Status is 0 until it is written.
type Recorded struct {
	Status int
	Body   bytes.Buffer
	header http.Header
}

// Header implements http.ResponseWriter.
func (r *Recorded) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

// WriteHeader implements http.ResponseWriter.
func (r *Recorded) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
}

// Write implements http.ResponseWriter.
func (r *Recorded) Write(text []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.Body.Write(text)
}
