//go:build !nolock

package postgres

// lockRows makes a batch wait until it is the only one that decides about its sessions
// (design.md §3). All of "one door" rests on it.
const lockRows = `
FOR UPDATE`
