package wire

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/holdpoint/holdpoint/auth"
)

// ticketMember is the query member of a ticket. cursorMember is the other one that a page chooses
// for each connection.
const (
	ticketMember = "ticket"
	cursorMember = "cursor"
)

// TicketPath returns what a ticket is bound to: a path and its query members sorted by name,
// without those that a page chooses for each connection.
func TicketPath(at *url.URL) string {
	query := at.Query()
	query.Del(ticketMember)
	query.Del(cursorMember)
	if len(query) == 0 {
		return at.Path
	}
	return at.Path + "?" + query.Encode()
}

// ticketOf returns the ticket of a stream's call. A header takes precedence. Two tickets count as
// an invalid one.
func ticketOf(r *http.Request) (ticket string, given bool) {
	if r.URL.RawQuery == "" || len(r.Header["Authorization"]) > 0 {
		return "", false
	}
	tickets := r.URL.Query()[ticketMember]
	if len(tickets) > 1 {
		return "", true
	}
	return strings.Join(tickets, ""), len(tickets) > 0
}

// entered is an authenticated caller, for calls that the service makes on its behalf.
type entered struct {
	mu       sync.Mutex
	identity *auth.Identity
	during   context.Context //nolint:containedctx // ends with the credential
}

type enteredKey struct{}

// SharesCaller returns a context in which the caller authenticated by a stream's ticket is also the
// caller of the service's own calls for that stream, until the credential ends.
func SharesCaller(ctx context.Context) context.Context {
	return context.WithValue(ctx, enteredKey{}, &entered{})
}

func (e *entered) set(during context.Context, identity *auth.Identity) {
	if e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.identity, e.during = identity, during
	}
}

// get returns the caller by the ticket, nil once its credential has ended. given is false without a ticket.
func (e *entered) get() (identity *auth.Identity, given bool) {
	if e == nil {
		return nil, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.during == nil:
		return nil, false
	case e.during.Err() != nil:
		return nil, true
	}
	return e.identity, true
}
