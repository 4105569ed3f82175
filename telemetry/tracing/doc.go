// Package tracing sends spans of calls, commands, transactions and statements to an
// OpenTelemetry collector by OTLP over HTTP. The traced packages do not import
// OpenTelemetry; each reports to a narrow interface, which is nil while tracing is off.
//
// A span has names known in advance, ids, codes, numbers and times. It never has a path, a
// query, a header, an input, an answer, an argument of a statement or an error's text.
//
// Spans that cannot be sent are dropped and counted. A collector that is down, slow or
// refusing delays nothing.
package tracing
