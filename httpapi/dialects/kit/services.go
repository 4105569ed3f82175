package kit

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// Mount returns a face. The name, via and routes do not depend on the services, so they can be read
// with the zero value.
type Mount func(services Services) wire.Face

// Services are the dependencies of a face. All members except MaxRuleAgeMs are set.
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
	// Router has the routes of all faces and checks their callers. It is for calls of /v1 that a
	// face makes with its caller's credential.
	Router http.Handler
	// MaxBodyBytes is the maximum size of a request body.
	MaxBodyBytes int64
	// MaxRuleAgeMs is the longest lifetime of a rule created with a decision, in milliseconds; 0
	// for no maximum.
	MaxRuleAgeMs int64
}
