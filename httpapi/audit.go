package httpapi

import (
	"bufio"
	"net/http"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// exportBufferBytes is how much of an export is written to the connection at a time.
const exportBufferBytes = 64 << 10

// exportAudit writes an export of the audit. What fails once it has begun ends the connection: the
// file is cut off then, and its verification says so.
func (s *Server) exportAudit(w http.ResponseWriter, r *http.Request) error {
	if s.signing == nil {
		return refusal.New(wire.CodeServiceUnavailable, "this service signs nothing")
	}
	query, scope := queryOf(r), audit.Scope{}
	if query.Has("session_id") {
		scope.SessionID = query.Get("session_id")
		if !refusal.ValidID(scope.SessionID) {
			return refusal.UnknownSession(wire.Shown(scope.SessionID))
		}
	}
	if query.Has("since_ms") {
		var readable bool
		if scope.SinceMs, readable = parseDecimal(query.Get("since_ms")); !readable {
			return badQuery("since_ms", "milliseconds since the epoch")
		}
	}
	nowMs, err := s.store.NowMs(r.Context())
	if err != nil {
		return err
	}
	reply := &exportReply{ResponseWriter: w}
	buffered := bufio.NewWriterSize(reply, exportBufferBytes)
	if err = audit.Export(r.Context(), buffered, audit.Sources{Log: s.store, Checkpoints: s.checkpoints}, s.signing, scope, nowMs); err == nil {
		err = buffered.Flush()
	}
	if err != nil && reply.begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

// exportReply writes the headers with the first line, so that what is refused before is a problem.
type exportReply struct {
	http.ResponseWriter

	begun bool
}

func (e *exportReply) Write(text []byte) (int, error) {
	if !e.begun {
		e.begun = true
		e.Header()["Content-Type"] = []string{"application/x-ndjson"}
		e.WriteHeader(http.StatusOK)
	}
	return e.ResponseWriter.Write(text)
}
