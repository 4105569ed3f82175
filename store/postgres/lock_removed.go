//go:build nolock

package postgres

// lockRows is missing in builds with the tag nolock, which are wrong on purpose:
// test/linearizability shows that it notices.
const lockRows = ``
