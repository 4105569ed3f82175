// Package audit serves the audit log: pages and exports of it, the keys that verify it and grants, and redaction.
// It must not know how an export is signed.
package audit

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
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// Sources are what the routes read and change. Each member except Store and Bodies may be nil; the route
// that needs it then answers service_unavailable.
type Sources struct {
	Store       runs.Service
	Bodies      *wire.Bodies
	Signing     *signing.Keys
	Journal     journal.Rows
	Checkpoints audit.CheckpointRows
	Redactor    upkeep.Redactor
}

// audits has the handlers.
type audits struct{ Sources }

// Routes returns the routes.
func Routes(sources Sources) []wire.Route {
	a := &audits{sources}
	return []wire.Route{
		wire.Post("/v1/sessions/{session_id}/redact", auth.Administer, a.redact),
		// Anyone with a signature may verify it.
		wire.Get("/v1/keys", auth.Public, a.showKeys),
		wire.Get("/v1/audit", auth.Administer, a.list),
		wire.GetOnly("/v1/audit/export", auth.Administer, a.export),
	}
}

// exportBufferBytes is the size of the buffer between an export and the connection.
const exportBufferBytes = 64 << 10

// export writes an export of the audit log. A failure after the first line ends the
// connection, and verification then reports a cut-off file.
func (a *audits) export(w http.ResponseWriter, r *http.Request) error {
	if a.Signing == nil {
		return refusal.New(wire.CodeServiceUnavailable, "this service signs nothing")
	}
	query, scope := wire.Query(r), audit.Scope{}
	if err := (&paging.List{Filters: "session_id since_ms"}).CheckFilters(query, ""); err != nil {
		return err
	}
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
	nowMs, err := a.Store.NowMs(r.Context())
	if err != nil {
		return err
	}
	if a.Journal != nil {
		event := api.AuditEvent{Type: api.AuditExported, SessionID: scope.SessionID, SinceMs: scope.SinceMs}
		if err := a.Journal.AddEntry(r.Context(), auth.EntryBy(auth.From(r.Context()), nowMs, event)); err != nil {
			return err
		}
	}
	reply := &exportReply{ResponseWriter: w}
	buffered := bufio.NewWriterSize(reply, exportBufferBytes)
	if err = audit.Export(r.Context(), buffered, audit.Sources{Log: a.Store.Reader(r.Context()), Entries: a.Journal, Checkpoints: a.Checkpoints}, a.Signing, scope, a.Store.NowMs); err == nil {
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
	if a.Journal == nil {
		return refusal.New(wire.CodeServiceUnavailable, "this service keeps no audit log")
	}
	query := wire.Query(r)
	if err := entryList.CheckFilters(query, ""); err != nil {
		return err
	}
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
	if err := journal.Seal(r.Context(), a.Journal); err != nil {
		return err
	}
	entries, err := a.Journal.EntriesAfter(r.Context(), after, limit+1)
	if err != nil {
		return err
	}
	page := api.AuditList{Data: []api.AuditEntry{}}
	bytes := 0
	for i := range entries {
		bytes += len(entries[i].Body)
		if i == limit || i > 0 && bytes > api.MaxReplyBytes {
			page.NextCursor = new(entryList.CursorOf(strconv.FormatInt(entries[i-1].EntryID, 10)))
			break
		}
		page.Data = append(page.Data, entries[i].View())
	}
	return wire.Respond(w, r, http.StatusOK, page)
}

// showKeys answers with the public signing keys. It needs no credential, so that anyone can verify
// a signature.
func (a *audits) showKeys(w http.ResponseWriter, r *http.Request) error {
	if a.Signing == nil {
		return refusal.New(wire.CodeServiceUnavailable, "this service signs nothing")
	}
	keys, err := a.Signing.Public(r.Context())
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, keys)
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
