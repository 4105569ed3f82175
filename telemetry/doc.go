// Package telemetry turns what the service does into metrics: it observes the committer and
// the HTTP shell, and asks the store how much waits. Nothing that it measures knows it; each
// hands its numbers to a narrow interface.
//
// The names of all metrics, and what to do about them, are in docs/observe.md. A label has
// few values that are known before, never an id or a text of a caller.
//
// The package must not know SQL.
package telemetry
