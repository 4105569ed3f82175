package api

// Page is one page of a list, in the envelope that ?page=true asks for.
type Page[T any] struct {
	Items      []T        `json:"items"`
	Pagination Pagination `json:"pagination"`
}

// Pagination says where a page stands in its list.
type Pagination struct {
	// Limit is 1 to MaxPageLimit.
	Limit int `json:"limit"`
	// TotalCount counts the whole list at the time of the call.
	TotalCount int64 `json:"total_count"`
	HasMore    bool  `json:"has_more"`
	// NextCursor asks for the page after this one; null on the last.
	NextCursor *string `json:"next_cursor"`
	// Order names the keys by which the list is sorted.
	Order string `json:"order"`
}
