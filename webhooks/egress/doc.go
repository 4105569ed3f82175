// Package egress calls addresses chosen by users. Its guard checks the resolved address
// when it is dialed. It follows no redirects, ignores proxy settings, and bounds time and
// bytes of each call.
//
// It must not know what is sent, nor for whom.
package egress
