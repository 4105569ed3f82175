package httpapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// listName identifies a list and its order.
type listName struct {
	cursor string // the kind of its cursors; other lists refuse it
	keys   int    // number of keys in a cursor
	order  string // its name in the envelope
	// filters are the names of its filters.
	filters string
}

// paging is the requested form of a list: a page in an envelope, an array of at most limit rows, or
// an array of all rows.
type paging struct {
	listName
	query    url.Values
	envelope bool
	limited  bool
	limit    int
	after    []string // the keys of the previous page's last row; nil for the first page
	budget   *runs.Budget
	// last: the caller wants the last rows, so nothing follows them.
	last bool
}

// pagingOf reads ?limit=, ?page= and ?cursor=.
func pagingOf(r *http.Request, name listName) (paging, error) {
	query := queryOf(r)
	if err := name.checkFilters(query, wire.PathID(r, "session_id")); err != nil {
		return paging{}, err
	}
	p := paging{listName: name, query: query, limit: api.MaxUnpaged, budget: &runs.Budget{MaxBytes: api.MaxReplyBytes}}
	page, err := queryFlag("page", query.Get("page"))
	if err != nil {
		return p, err
	}
	if query.Has("limit") {
		p.limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || p.limit < 1 || p.limit > api.MaxPageLimit {
			return p, refusal.New(api.CodeInvalidLimit, "limit must be between 1 and %d", api.MaxPageLimit)
		}
		p.limited = true
	}
	if query.Has("cursor") {
		if p.after = readCursor(query.Get("cursor"), name); p.after == nil {
			return p, errInvalidCursor
		}
	}
	p.envelope = page || p.after != nil
	if p.envelope && !p.limited {
		p.limit = api.DefaultPageLimit
	}
	return p, nil
}

// likeFilters are the names, without case and joints, that a caller may take for a filter of a list.
var likeFilters = func() map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(`session sessions sessionid sessionids run runs runid runids agent agents agentid agentids request requestid
		handle tool toolname toolcallid actor by user principal status kind state outcome webhook webhookid since sincems parent parentsessionid
		q query search filter origin label`) {
		set[name] = true
	}
	return set
}()

// checkFilters refuses what looks like a filter and is none of the list: ignored, it would list
// everything, and a script would decide it. In a session's own list, session_id may only repeat the
// session of the path.
func (n *listName) checkFilters(query url.Values, ofSession string) error {
	for name := range query {
		plain := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, strings.ToLower(name))
		switch known := slices.Contains(strings.Fields(n.filters), name); {
		case known && name == "session_id" && ofSession != "" && query.Get(name) != ofSession:
			return refusal.New(api.CodeInvalidFilter, "the filter session_id names another session than the path")
		case !known && likeFilters[plain]:
			return refusal.New(api.CodeInvalidFilter, "there is no filter %s here; there are: %s", wire.Shown(name), cmp.Or(strings.ReplaceAll(n.filters, " ", ", "), "none"))
		}
	}
	return nil
}

// fetch returns the number of rows to read: one more than shown, to detect another page.
func (p *paging) fetch() int { return p.limit + 1 }

// writeCursor returns a cursor of a row's keys. Keys do not contain "/".
func writeCursor(kind string, keys []string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + "/" + strings.Join(keys, "/")))
}

// readCursor returns the keys of a cursor, or nil when it does not belong to this list.
func readCursor(cursor string, name listName) []string {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return nil
	}
	parts := strings.Split(string(text), "/")
	if parts[0] != name.cursor || len(parts) != 1+name.keys {
		return nil
	}
	for _, key := range parts[1:] {
		if !refusal.ValidID(key) {
			return nil
		}
	}
	return parts[1:]
}

// list describes how a list is read and shown.
type list[Query, Row, View any] struct {
	// filterIDs are the filters that must be ids. An invalid id matches nothing.
	filterIDs []string
	rows      func(context.Context, Query) ([]Row, error)
	// count counts the whole list. It is called only for envelopes.
	count func(context.Context, Query) (int64, error)
	view  func(*Row) View
	// keys returns the cursor keys of a row.
	keys func(*Row) []string
}

// serveList answers with a query's rows.
func serveList[Query, Row, View any](w http.ResponseWriter, r *http.Request, p *paging, q Query, l list[Query, Row, View]) error {
	var rows []Row
	var total int64
	if possible(l.filterIDs) {
		var err error
		if rows, err = l.rows(r.Context(), q); err != nil {
			return err
		}
		if p.envelope {
			if total, err = l.count(r.Context(), q); err != nil {
				return err
			}
		}
	}
	more := len(rows) > p.limit || p.budget.Cut && !p.last
	rows = rows[:min(len(rows), p.limit)]
	items := make([]View, len(rows))
	for i := range rows {
		items[i] = l.view(&rows[i])
	}
	var next *string
	if more {
		cursor := writeCursor(p.cursor, l.keys(&rows[len(rows)-1]))
		next = &cursor
		w.Header()["Link"] = []string{"<" + nextURL(r, p, cursor) + `>; rel="next"`}
	}
	if p.last && p.budget.Cut {
		w.Header()["Link"] = []string{"<" + firstURL(r, p) + `>; rel="first"`}
	}
	if !p.envelope {
		return wire.Respond(w, r, http.StatusOK, items)
	}
	return wire.Respond(w, r, http.StatusOK, api.Page[View]{Items: items, Pagination: api.Pagination{
		Limit: p.limit, TotalCount: total, HasMore: more, NextCursor: next, Order: p.order,
	}})
}

// nextURL returns the URL of the next page.
func nextURL(r *http.Request, p *paging, cursor string) string {
	query := url.Values{}
	maps.Copy(query, p.query)
	query.Set("cursor", cursor)
	query.Set("limit", strconv.Itoa(min(p.limit, api.MaxPageLimit)))
	return r.URL.EscapedPath() + "?" + query.Encode()
}

// firstURL returns the URL of the first page of the whole list, because no page leads backwards
// from the last rows.
func firstURL(r *http.Request, p *paging) string {
	query := url.Values{}
	maps.Copy(query, p.query)
	query.Set("page", "true")
	return r.URL.EscapedPath() + "?" + query.Encode()
}

// possible reports whether every given filter can match something.
func possible(filters []string) bool {
	for _, filter := range filters {
		if filter != "" && !refusal.ValidID(filter) {
			return false
		}
	}
	return true
}
