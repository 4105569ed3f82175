// Package multiplex carries many HTTP calls of one client over one WebSocket. Each call is a frame and
// each reply is one, in the order in which they are ready, so a held reply holds up no other call. What
// is written at the same time on either side shares a message: with many calls at once most of the
// cost of a request by itself (a connection, its goroutines, its headers, a system call each way)
// is paid once for several.
//
// [Transport] is the side of the client, an [http.RoundTripper] that falls back to plain HTTP.
// [Serve] is the side of the service: it hands every call to the same handler as a request by itself. Both know
// frames and HTTP. The package must not know what the calls are about, nor decide who may make them.
package multiplex
