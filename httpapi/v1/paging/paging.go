// Package paging serves lists: whole, or in pages with cursors. It must not know what is listed.
package paging

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
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// List identifies a list and its order.
type List struct {
	// Cursor is the kind of its cursors, which other lists refuse, and Keys the number of keys in one.
	Cursor string
	Keys   int
	// Order is the name of its order in the envelope.
	Order string
	// Filters are the names of its filters.
	Filters string
}

// Page is the requested form of a list: a page in an envelope, an array of at most Limit rows, or
// an array of all rows.
type Page struct {
	List
	Query    url.Values
	Envelope bool
	Limited  bool
	Limit    int
	After    []string // the keys of the previous page's last row; nil for the first page
	Budget   *reads.Budget
	// Last: the caller wants the last rows, so nothing follows them.
	Last bool
}

// ErrInvalidCursor refuses a cursor.
var ErrInvalidCursor = refusal.New(api.CodeInvalidCursor, "the cursor was not made by this list")

// Of reads ?limit=, ?page= and ?cursor=.
func Of(r *http.Request, list List) (Page, error) {
	query := wire.Query(r)
	if err := list.CheckFilters(query, wire.PathID(r, "session_id")); err != nil {
		return Page{}, err
	}
	p := Page{List: list, Query: query, Limited: query.Has("limit"), Budget: &reads.Budget{MaxBytes: api.MaxReplyBytes}}
	page, err := wire.QueryFlag(query, "page")
	if err != nil {
		return p, err
	}
	if p.Limit, err = wire.QueryLimit(query, api.MaxUnpaged, api.MaxPageLimit); err != nil {
		return p, err
	}
	if p.After, err = list.After(query); err != nil {
		return p, err
	}
	p.Envelope = page || p.After != nil
	if p.Envelope && !p.Limited {
		p.Limit = api.DefaultPageLimit
	}
	return p, nil
}

// likeFilters are the names, without case and joints, that a caller may take for a filter of a list.
var likeFilters = func() map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(`session sessions sessionid sessionids run runs runid runids agent agents agentid agentids request requestid
		handle tool toolname toolcallid actor by user principal status kind state outcome webhook webhookid since sincems until untilms before beforems via type parent parentsessionid
		q query search filter origin label`) {
		set[name] = true
	}
	return set
}()

// CheckFilters refuses what looks like a filter and is none of the list: ignored, it would list
// everything, and a script would decide it. In a session's own list, session_id may only repeat the
// session of the path.
func (l *List) CheckFilters(query url.Values, ofSession string) error {
	for name := range query {
		plain := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, strings.ToLower(name))
		switch known := slices.Contains(strings.Fields(l.Filters), name); {
		case known && name == "session_id" && ofSession != "" && query.Get(name) != ofSession:
			return refusal.New(api.CodeInvalidFilter, "the filter session_id names another session than the path")
		case !known && likeFilters[plain]:
			return refusal.New(api.CodeInvalidFilter, "there is no filter %s here; there are: %s", wire.Shown(name), cmp.Or(strings.ReplaceAll(l.Filters, " ", ", "), "none"))
		}
	}
	return nil
}

// Fetch returns the number of rows to read: one more than shown, to detect another page.
func (p *Page) Fetch() int { return p.Limit + 1 }

// CursorOf returns the cursor of a row's keys. Keys do not contain "/".
func (l *List) CursorOf(keys ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(l.Cursor + "/" + strings.Join(keys, "/")))
}

// After reads ?cursor= and returns its keys, nil when it is absent. Errors: invalid_cursor when it
// does not belong to this list.
func (l *List) After(query url.Values) ([]string, error) {
	if !query.Has("cursor") {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(query.Get("cursor"))
	parts := strings.Split(string(text), "/")
	if err != nil || parts[0] != l.Cursor || len(parts) != 1+l.Keys || slices.ContainsFunc(parts[1:], func(key string) bool { return !refusal.ValidID(key) }) {
		return nil, ErrInvalidCursor
	}
	return parts[1:], nil
}

// TimeAndID reads the keys of a list sorted by time and id.
func TimeAndID(after []string) (atMs int64, id string, err error) {
	atMs, ok := wire.Decimal(after[0])
	if !ok {
		return 0, "", ErrInvalidCursor
	}
	return atMs, after[1], nil
}

// Source describes how a list is read and shown.
type Source[Query, Row, View any] struct {
	// FilterIDs are the filters that must be ids. An invalid id matches nothing.
	FilterIDs []string
	Rows      func(context.Context, Query) ([]Row, error)
	// Count counts the whole list. It is called only for envelopes.
	Count func(context.Context, Query) (int64, error)
	View  func(*Row) View
	// Keys returns the cursor keys of a row.
	Keys func(*Row) []string
}

// Serve answers with a query's rows.
func Serve[Query, Row, View any](w http.ResponseWriter, r *http.Request, p *Page, q Query, s Source[Query, Row, View]) error {
	var rows []Row
	var total int64
	if possible(s.FilterIDs) {
		var err error
		if rows, err = s.Rows(r.Context(), q); err != nil {
			return err
		}
		if p.Envelope {
			if total, err = s.Count(r.Context(), q); err != nil {
				return err
			}
		}
	}
	more := len(rows) > p.Limit || p.Budget.Cut && !p.Last
	rows = rows[:min(len(rows), p.Limit)]
	items := make([]View, len(rows))
	for i := range rows {
		items[i] = s.View(&rows[i])
	}
	var next *string
	if more {
		cursor := p.CursorOf(s.Keys(&rows[len(rows)-1])...)
		next = &cursor
		w.Header()["Link"] = []string{"<" + nextURL(r, p, cursor) + `>; rel="next"`}
	}
	if p.Last && p.Budget.Cut {
		w.Header()["Link"] = []string{"<" + firstURL(r, p) + `>; rel="first"`}
	}
	if !p.Envelope {
		return wire.Respond(w, r, http.StatusOK, items)
	}
	return wire.Respond(w, r, http.StatusOK, api.Page[View]{Items: items, Pagination: api.Pagination{
		Limit: p.Limit, TotalCount: total, HasMore: more, NextCursor: next, Order: p.Order,
	}})
}

// nextURL returns the URL of the next page.
func nextURL(r *http.Request, p *Page, cursor string) string {
	query := url.Values{}
	maps.Copy(query, p.Query)
	query.Set("cursor", cursor)
	query.Set("limit", strconv.Itoa(min(p.Limit, api.MaxPageLimit)))
	return r.URL.EscapedPath() + "?" + query.Encode()
}

// firstURL returns the URL of the first page of the whole list, because no page leads backwards
// from the last rows.
func firstURL(r *http.Request, p *Page) string {
	query := url.Values{}
	maps.Copy(query, p.Query)
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
