// Package clients holds what people really connect with to the streams: a browser's
// EventSource, and the clients that npm has. They read while the service is killed, the
// line to it is cut, and another replica takes over. The package has tests only.
package clients
