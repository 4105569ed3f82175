package api

// Page is one page of a list in the envelope that ?page=true requests.
type Page[T any] struct {
	Items      []T        `json:"items"`
	Pagination Pagination `json:"pagination"`
}

// Pagination is the position of a page in its list.
type Pagination struct {
	// Limit is 1 to MaxPageLimit.
	Limit int `json:"limit"`
	// TotalCount is the length of the whole list at the time of the call.
	TotalCount int64 `json:"total_count"`
	HasMore    bool  `json:"has_more"`
	// NextCursor is the cursor of the next page; null on the last one.
	NextCursor *string `json:"next_cursor"`
	// Order names the sort keys of the list.
	Order string `json:"order"`
}
