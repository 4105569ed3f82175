package runs

import (
	"errors"
)

// Failures of a store that are nobody's request.
var (
	// ErrClosed: the store is shutting down and took nothing.
	ErrClosed = errors.New("store is closed")
	// ErrUnavailable: the database refused or could not be reached. The command may
	// or may not have taken effect.
	ErrUnavailable = errors.New("database is unavailable")
)
