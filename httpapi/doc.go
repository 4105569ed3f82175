// Package httpapi serves the native API of holdpoint, /v1, as openapi.yaml describes it, and the
// endpoints for operators: health, readiness, version, and that description.
//
// It translates requests into commands of package runs and replies into JSON. It decides nothing:
// runs.Decide decides what may happen to a run, and every change is a command to the store. It must
// not know SQL, an engine, or a clock: the times it shows are recorded ones.
//
// Every wire contract is a [wire.Face]; a foreign one is a separate package. It shares only package
// wire and the store with this one.
package httpapi
