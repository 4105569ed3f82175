package runs

// Limits and defaults of leases, in milliseconds, and of attempts.
const (
	DefaultMaxAttempts = 10
)
