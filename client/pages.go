package client

import (
	"iter"
	"net/url"
	"strconv"
)

// PageParams ask for one page of a list.
type PageParams struct {
	// Limit is 1 to 100; 0 leaves it to the service.
	Limit int
	// Cursor is the NextCursor of the page before; from the beginning when empty.
	Cursor string
}

func (p PageParams) query() url.Values {
	query := url.Values{"page": {"true"}}
	if p.Limit != 0 {
		query.Set("limit", strconv.Itoa(p.Limit))
	}
	set(query, "cursor", p.Cursor)
	return query
}

// Page is one page of a list.
type Page[T any] struct {
	Items      []T        `json:"items"`
	Pagination Pagination `json:"pagination"`
}

// Pagination says where a page stands in its list (kheish.md 1.9).
type Pagination struct {
	Limit      int   `json:"limit"`
	TotalCount int64 `json:"total_count"`
	HasMore    bool  `json:"has_more"`
	// NextCursor asks for the page after this one; empty on the last.
	NextCursor string `json:"next_cursor"`
	Order      string `json:"order"`
}

// maxPageLimit is the largest page that the service gives.
const maxPageLimit = 100

// walk yields the items of all pages, in the largest pages unless told otherwise.
func walk[T any](page PageParams, list func(PageParams) (*Page[T], error)) iter.Seq2[T, error] {
	if page.Limit == 0 {
		page.Limit = maxPageLimit
	}
	return func(yield func(T, error) bool) {
		at := page
		for {
			result, err := list(at)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range result.Items {
				if !yield(item, nil) {
					return
				}
			}
			next := result.Pagination.NextCursor
			if next == "" || next == at.Cursor || !result.Pagination.HasMore {
				return
			}
			at.Cursor = next
		}
	}
}

// set puts a value that is not empty.
func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}
