package tokens

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// createStreamTicket creates a ticket for one connection to a stream. Only this reply contains it.
func (i *identities) createStreamTicket(w http.ResponseWriter, r *http.Request) error {
	var body api.CreateStreamTicketBody
	var faults refusal.Faults
	if err := i.bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	if err := faults.Err(); err != nil {
		return err
	}
	path := i.ticketPath(body.Path)
	if path == "" {
		faults.Add("/path", "must be the path of a stream, as /v1/stream or /v1/runs/{run_id}/stream, without a host, of at most %d bytes", api.MaxTicketPath)
		return faults.Err()
	}
	ticket, err := i.access.Keyring.Ticket(r.Context(), auth.From(r.Context()), path)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusCreated, ticket)
}

// ticketPath returns what a ticket for a path is bound to, "" when the path is not a stream.
func (i *identities) ticketPath(path string) string {
	if len(path) > api.MaxTicketPath {
		return ""
	}
	at, err := url.ParseRequestURI(path)
	if err != nil || at.Scheme != "" || at.Host != "" {
		return ""
	}
	// The path is stored, and Postgres accepts neither NUL nor invalid UTF-8.
	if at.Path = i.streamPath(at.Path); at.Path == "" || !utf8.ValidString(at.Path) || strings.ContainsRune(at.Path, 0) {
		return ""
	}
	return wire.TicketPath(at)
}
