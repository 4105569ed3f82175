// Package multiplex carries many HTTP calls of a client over one WebSocket. Each call and
// each reply is a frame. Replies are sent as they become ready, so a long poll does not
// delay other calls. Frames written at the same time share a message: with many concurrent
// calls, most of the cost of a request (a connection, its goroutines, its headers, a system
// call each way) is paid once for several.
//
// [Transport] is the client side, an [http.RoundTripper] that falls back to plain HTTP.
// [Serve] is the server side: it passes every call to the handler that serves plain
// requests. Both know frames and HTTP. The package must not know what the calls mean, nor
// decide who may make them.
package multiplex
