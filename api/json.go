package api

// JSON is the text of one JSON value. It is passed through byte for byte and never decoded into Go
// numbers, so nothing is rounded. A nil JSON is an absent member; "null" is a value.
type JSON []byte

// MarshalJSON returns the text unchanged; null for an absent value.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == nil {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON keeps a copy of the text.
func (j *JSON) UnmarshalJSON(text []byte) error {
	*j = append((*j)[:0], text...)
	return nil
}
