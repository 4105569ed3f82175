package kit

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// Mount adds a dialect's routes to a router.
type Mount func(router chi.Router, services Services)

// Services are the dependencies of a dialect. All members except MaxRuleAgeMs and Access are set.
type Services struct {
	Store   runs.Service
	Watches *watch.Hub
	Streams *stream.Hub
	Logger  *slog.Logger
	// Draining ends when the service shuts down. Held replies are then answered at once, and
	// streams end.
	Draining context.Context //nolint:containedctx // it lives as long as the service
	// PollInterval is how often a dialect's held replies and streams poll without a notice.
	PollInterval time.Duration
	// KeepAlive is the silence after which a stream gets a comment.
	KeepAlive time.Duration
	// StreamWriteTimeout is how long a stream's reader may block before its connection is closed.
	StreamWriteTimeout time.Duration
	// Access authorizes calls; nil allows every caller.
	Access *wire.Access
	// MaxBodyBytes is the maximum size of a request body.
	MaxBodyBytes int64
	// MaxRuleAgeMs is the longest lifetime of a rule created with a decision, in milliseconds; 0
	// for no maximum.
	MaxRuleAgeMs int64
}
