// Package telemetry turns the service's activity into metrics: it observes the door
// and the HTTP server, and asks the store for the number of pending rows. The observed
// packages do not import it; each reports to a narrow interface.
//
// The names of all metrics, and what to do about them, are in docs/observe.md. A label has
// few values, known in advance, and never an id or a caller's text.
//
// The package must not know SQL.
package telemetry
