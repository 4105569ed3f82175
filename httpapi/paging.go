package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// The bounds of lists (decisions.md 36).
const (
	maxPage     = 100
	defaultPage = 50
	maxUnpaged  = 1_000
)

// queryOf returns the parameters of the request line. What cannot be read of them
// is left out.
func queryOf(r *http.Request) url.Values {
	if r.URL.RawQuery == "" {
		return nil
	}
	return r.URL.Query()
}

// paging is what a caller wants of a list: a page in an envelope, an array of at
// most limit rows, or an array of everything.
type paging struct {
	query    url.Values
	envelope bool
	limited  bool
	limit    int
	cursor   []string // the keys of the last row seen; nil for the beginning
}

// pagingOf reads ?limit=, ?page= and ?cursor=. kind tells the cursors of one list
// and order from those of others.
func pagingOf(query url.Values, kind string) (paging, error) {
	p := paging{query: query, limit: maxUnpaged}
	page, err := queryFlag("page", query.Get("page"))
	if err != nil {
		return p, err
	}
	if query.Has("limit") {
		p.limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || p.limit < 1 || p.limit > maxPage {
			return p, refusal.New(api.CodeInvalidLimit, "limit must be between 1 and %d", maxPage)
		}
		p.limited = true
	}
	if query.Has("cursor") {
		if p.cursor = readCursor(query.Get("cursor"), kind); p.cursor == nil {
			return p, refusal.New(api.CodeInvalidCursor, "the cursor was not made by this list")
		}
	}
	p.envelope = page || p.cursor != nil
	if p.envelope && !p.limited {
		p.limit = defaultPage
	}
	return p, nil
}

// fetch is how many rows to read: one more than are shown tells whether there is
// more.
func (p *paging) fetch() int { return p.limit + 1 }

// cursors hold the keys of a row. "/" is in no id.
func writeCursor(kind string, keys ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + "/" + strings.Join(keys, "/")))
}

// readCursor returns the keys in a cursor, or nil when it is none of this kind.
func readCursor(cursor, kind string) []string {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return nil
	}
	parts := strings.Split(string(text), "/")
	if parts[0] != kind || len(parts) < 2 {
		return nil
	}
	for _, key := range parts[1:] {
		if !refusal.ValidID(key) {
			return nil
		}
	}
	return parts[1:]
}

type page[T any] struct {
	Items      []T        `json:"items"`
	Pagination pagination `json:"pagination"`
}

type pagination struct {
	Limit      int     `json:"limit"`
	TotalCount int64   `json:"total_count"`
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"`
	Order      string  `json:"order"`
}

// respondList answers with the rows that were fetched, of which the last may only
// tell that there is more. next returns the cursor after a row, total counts the
// whole list and is asked for envelopes only.
func respondList[Row, View any](
	w http.ResponseWriter, r *http.Request, p *paging, order string, rows []Row,
	view func(*Row) View, next func(*Row) string, total func() (int64, error),
) error {
	more := len(rows) > p.limit
	if more {
		rows = rows[:p.limit]
	}
	items := make([]View, len(rows))
	for i := range rows {
		items[i] = view(&rows[i])
	}
	var cursor *string
	if more {
		text := next(&rows[len(rows)-1])
		cursor = &text
		w.Header()["Link"] = []string{"<" + nextURL(r, p, text) + `>; rel="next"`}
	}
	if !p.envelope {
		return wire.Respond(w, r, http.StatusOK, items)
	}
	count, err := total()
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, page[View]{Items: items, Pagination: pagination{
		Limit: p.limit, TotalCount: count, HasMore: more, NextCursor: cursor, Order: order,
	}})
}

// nextURL is where the list goes on: in pages, because a cursor makes them.
func nextURL(r *http.Request, p *paging, cursor string) string {
	query := url.Values{}
	for name, values := range p.query {
		query[name] = values
	}
	query.Set("cursor", cursor)
	query.Set("limit", strconv.Itoa(min(p.limit, maxPage)))
	return r.URL.EscapedPath() + "?" + query.Encode()
}

// nothing answers with an empty list. It stands in for reading a list that cannot
// have a row, because no row can have the id that was asked for.
func nothing(w http.ResponseWriter, r *http.Request, p *paging, order string) error {
	none := func(*struct{}) string { return "" }
	return respondList(w, r, p, order, []struct{}{}, none, none, func() (int64, error) { return 0, nil })
}

// possible reports whether every filter that is given can match something.
func possible(filters ...string) bool {
	for _, filter := range filters {
		if filter != "" && !refusal.ValidID(filter) {
			return false
		}
	}
	return true
}
