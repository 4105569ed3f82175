// Package reads says what a service asks of its stored rows: queries with their positions and
// limits, the scope of the caller, and the rows of lists and background loops.
//
// It must not know SQL, HTTP or commands. An engine below package store implements Reader, Worklist,
// Presence and Gauge; nothing here changes a row.
package reads
