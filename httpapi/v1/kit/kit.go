// Package kit holds what the routes of several features of /v1 do alike: they read a body with all its faults,
// send a command to the store, and answer with a run or a session, held as long as the caller prefers. It must
// not know a route.
package kit

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// Calls sends commands to the store and answers with runs and sessions.
type Calls struct {
	Store   runs.Service
	Bodies  *wire.Bodies
	Watches *watch.Hub
	// Draining ends when the service shuts down. Held replies are then answered at once.
	Draining context.Context //nolint:containedctx // it lives as long as the service
	// PollInterval is how often held replies poll without a notice, MaxWait the longest time that one is held.
	PollInterval, MaxWait time.Duration
	// Reviewed reports whether a new approval is posted to the review hook; nil if none is.
	Reviewed func(*api.ApprovalRequest) bool
}
