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

// Services are what a dialect works with. All members but MaxRuleAgeMs and
// Access are set.
type Services struct {
	Store   runs.Service
	Watches *watch.Hub
	Streams *stream.Hub
	Logger  *slog.Logger
	// Draining ends when the service shuts down: held replies are then answered with
	// what there is, and streams end.
	Draining context.Context //nolint:containedctx // it lives as long as the service
	// PollInterval is how often a held reply or a stream of the dialect's own looks
	// again although no hint came.
	PollInterval time.Duration
	// KeepAlive is the silence after which a stream is sent a comment.
	KeepAlive time.Duration
	// StreamWriteTimeout is how long the reader of a stream may take nothing before it
	// loses its connection.
	StreamWriteTimeout time.Duration
	// Access says who may call a route; nil for everybody.
	Access *wire.Access
	// MaxBodyBytes bounds a request body.
	MaxBodyBytes int64
	// MaxRuleAgeMs caps how long a rule may hold that is written with a decision, in
	// milliseconds; 0 for no cap.
	MaxRuleAgeMs int64
}
