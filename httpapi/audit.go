package httpapi

import (
	"bufio"
	"net/http"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// audits are the routes of the audit log: reading it, exporting it, and redacting what it shows. Each
// member except store and bodies may be nil; the route that needs it then answers
// service_unavailable.
type audits struct {
	store       runs.Service
	bodies      *wire.Bodies
	signing     *signing.Keys
	journal     journal.Rows
	checkpoints audit.CheckpointRows
	redactor    runs.Redactor
}

// exportBufferBytes is the size of the buffer between an export and the connection.
const exportBufferBytes = 64 << 10

// export writes an export of the audit log. A failure after the first line ends the
// connection, and verification then reports a cut-off file.
func (a *audits) export(w http.ResponseWriter, r *http.Request) error {
	if a.signing == nil {
		return refusal.New(wire.CodeServiceUnavailable, "this service signs nothing")
	}
	query, scope := wire.Query(r), audit.Scope{}
	if query.Has("session_id") {
		scope.SessionID = query.Get("session_id")
		if !refusal.ValidID(scope.SessionID) {
			return refusal.UnknownSession(wire.Shown(scope.SessionID))
		}
	}
	if query.Has("since_ms") {
		var readable bool
		if scope.SinceMs, readable = wire.Decimal(query.Get("since_ms")); !readable {
			return wire.BadQuery("since_ms", "milliseconds since the epoch")
		}
	}
	nowMs, err := a.store.NowMs(r.Context())
	if err != nil {
		return err
	}
	if a.journal != nil {
		event := api.AuditEvent{Type: api.AuditExported, SessionID: scope.SessionID, SinceMs: scope.SinceMs}
		if err := a.journal.AddEntry(r.Context(), auth.EntryBy(auth.From(r.Context()), nowMs, event)); err != nil {
			return err
		}
	}
	reply := &exportReply{ResponseWriter: w}
	buffered := bufio.NewWriterSize(reply, exportBufferBytes)
	if err = audit.Export(r.Context(), buffered, audit.Sources{Log: a.store.Reader(r.Context()), Entries: a.journal, Checkpoints: a.checkpoints}, a.signing, scope, nowMs); err == nil {
		err = buffered.Flush()
	}
	if err != nil && reply.begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

var entryList = paging.List{Cursor: "u", Keys: 1}

// list answers with a page of the audit log, oldest first. It first seals the entries written
// so far.
func (a *audits) list(w http.ResponseWriter, r *http.Request) error {
	if a.journal == nil {
		return refusal.New(wire.CodeServiceUnavailable, "this service keeps no audit log")
	}
	query := wire.Query(r)
	limit, err := wire.QueryLimit(query, api.DefaultAuditPage, api.MaxPageLimit)
	if err != nil {
		return err
	}
	keys, err := entryList.After(query)
	if err != nil {
		return err
	}
	after := int64(0)
	if keys != nil {
		if after, err = strconv.ParseInt(keys[0], 10, 64); err != nil {
			return paging.ErrInvalidCursor
		}
	}
	if err := journal.Seal(r.Context(), a.journal); err != nil {
		return err
	}
	entries, err := a.journal.EntriesAfter(r.Context(), after, limit+1)
	if err != nil {
		return err
	}
	page := api.AuditList{Data: []api.AuditEntry{}}
	bytes := 0
	for i := range entries {
		bytes += len(entries[i].Body)
		if i == limit || i > 0 && bytes > api.MaxReplyBytes {
			cursor := entryList.CursorOf(strconv.FormatInt(entries[i-1].EntryID, 10))
			page.NextCursor = &cursor
			break
		}
		page.Data = append(page.Data, entries[i].View())
	}
	return wire.Respond(w, r, http.StatusOK, page)
}

// exportReply sends the headers with the first line, so that an earlier error can still be a
// problem document.
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
