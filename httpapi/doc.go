// Package httpapi serves all wire contracts of holdpoint, and the endpoints for operators: health,
// readiness, version, and the description of the API. Every contract is a [wire.Face]. The native one, /v1,
// is what openapi.yaml describes; its routes are in the packages below v1, one per feature.
//
// This package assembles the faces, and has what all calls share: authorization, limits, and many calls
// over one connection. A face translates requests into commands of package runs and replies into JSON. It
// decides nothing: runs.Decide decides what may happen to a run, and every change is a command to the
// store. It must not know SQL, an engine, or a clock: the times it shows are recorded ones.
package httpapi
