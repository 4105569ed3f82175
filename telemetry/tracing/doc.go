// Package tracing sends spans of calls, commands, transactions and statements to an OpenTelemetry
// collector, by OTLP over HTTP. Nothing that it traces knows OpenTelemetry; each hands what it does
// to a narrow interface, and to nobody while tracing is off.
//
// A span has names that are known before, ids, codes, numbers and times. It never has a path, a
// query, a header, an input, an answer, an argument of a statement or the text of an error.
//
// What cannot be sent is dropped and counted: a collector that is away, slow or refuses delays
// nothing.
package tracing
