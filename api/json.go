package api

// JSON is one JSON value as its text. It is carried byte for byte and never decoded into
// Go numbers, so nothing in it is rounded. A nil JSON means that the member was absent;
// "null" is a value.
type JSON []byte

// MarshalJSON returns the text as it is; null for an absent value.
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
