// Package httpapi serves the native API of holdpoint, /v1, as openapi.yaml
// describes it, together with what operators ask: whether the service is alive and
// ready, its version, and that description itself.
//
// It turns requests into commands of package runs and replies into JSON. It
// decides nothing: what may happen to a run is the business of runs.Decide, and a
// handler that wants a change gives a command to the store like everybody else. It
// must not know SQL, an engine, or a clock: the moments it shows are the ones that
// were recorded.
//
// A foreign wire contract is another package beside this one. It shares package
// wire and the store with this one and nothing more.
package httpapi
