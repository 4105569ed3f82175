package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/kheish"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// Limits bound what one request may ask for. A limit that is 0 has its default.
type Limits struct {
	// MaxBodyBytes bounds a request body; 1 MiB by default.
	MaxBodyBytes int64
	// MaxWait bounds how long a reply is held, whatever the caller asks for; 60 s by
	// default, which is also the most the contract allows.
	MaxWait time.Duration
	// InputWait is how long POST /v1/sessions/{session_id}/input is held when the
	// caller says nothing; 30 s by default.
	InputWait time.Duration
	// MaxStreams bounds the streams that are open at once; 20,000 by default.
	MaxStreams int
	// Quota bounds what one principal may use of the process; see [wire.Quota] for its defaults.
	// A service that asks for no credentials applies only the limits that are set: rate and calls to each
	// connection, the others to all callers together.
	Quota wire.Quota
	// Patience is how long a call beyond a quota waits before it is refused: wire.DefaultPatience if 0, no
	// wait if negative.
	Patience time.Duration
}

// The defaults of [Limits] and [Options].
const (
	DefaultMaxWait      = 60 * time.Second
	DefaultInputWait    = 30 * time.Second
	DefaultPollInterval = time.Second
	// ReservedBytes is how much of the database's disk is reserved for decisions, cancellations and ends.
	ReservedBytes = 64 << 20
	// DefaultStreamWriteTimeout is that of Options.StreamWriteTimeout.
	DefaultStreamWriteTimeout = 10 * time.Second
)

// Options are what a [Server] is made of. Store, Hub and Claims must be set.
type Options struct {
	Store  runs.Store
	Hub    *watch.Hub
	Claims *claims.Dispatcher
	// Version is shown at /version; "dev" when empty.
	Version string
	// Logger gets a line for each request that the service failed to handle, and at
	// debug level one for every request. Nil discards them.
	Logger *slog.Logger
	Limits Limits
	// Hosts are the names, besides localhost and IP addresses, under which the service may be
	// called; "*" allows all. Origins are the web origins, besides its own, whose
	// pages may call it and read the replies; "*" allows all, without credentials. See
	// wire.Guard.
	Hosts   []string
	Origins []string
	// PollInterval is how often a held reply, and what streams of a session share, looks
	// again although no notice came; 1 s by default.
	PollInterval time.Duration
	// KeepAlive is the silence after which a stream is sent a comment; 5 s by default.
	KeepAlive time.Duration
	// StreamWriteTimeout is how long the reader of a stream may take nothing before it
	// loses its connection; 10 s by default.
	StreamWriteTimeout time.Duration
	// MaxRuleAge caps how long a standing rule may hold; 0 for no cap.
	MaxRuleAge time.Duration
	// Pages serves what people see, nil for nothing; see package web.
	Pages Pages
	// Reviewed reports whether an approval is posted to the review hook when it is raised. Nil
	// means none is.
	Reviewed func(*api.ApprovalRequest) bool
	// Keyring knows who calls. Nil asks nobody for a credential: everybody may do everything.
	Keyring *auth.Keyring
	// Backlogs counts what waits, for the limits of open prompts and queued runs. Nil for no such limits.
	Backlogs wire.BacklogReader
	// Signing signs; nil makes a key that nobody else knows, for programs that embed the service.
	Signing *signing.Keys
	// Issuer is the "iss" of grants, the URL of the service; "holdpoint" when empty.
	Issuer string
	// Checkpoints are exported with the audit; nil for none.
	Checkpoints audit.CheckpointRows
	// Redactor takes out bodies of events; nil for none.
	Redactor runs.Redactor
	// Journal is the audit's own log; nil for none.
	Journal journal.Rows
	// Sealer encrypts what is sensitive. Without one nothing may be.
	Sealer runs.Sealer
	// Webhooks are where events are posted to; nil for none.
	Webhooks *Webhooks
	// Notify tells people of what they may decide; nil where no addresses are kept.
	Notify *notify.Service
	// OIDC tells who people are; nil without an issuer.
	OIDC *oidc.Provider
	// ClientCertificates says that the listener verifies client certificates, by which agents may
	// call.
	ClientCertificates bool
	// Observer is told of each call; nil for nobody.
	Observer wire.Observer
	// Tracer makes the spans of calls; nil for none.
	Tracer wire.Tracer
	// LogRequests logs each call at level INFO instead of DEBUG.
	LogRequests bool
	// OpenAPIYAML and OpenAPIJSON describe the API, at /openapi.yaml and /openapi.json; nil for nothing there.
	OpenAPIYAML, OpenAPIJSON []byte
	// Dialects are the foreign wire contracts that are served beside /v1.
	Dialects []kit.Mount
}

// Pages serves web pages in front of the API.
type Pages interface {
	// Wrap returns a handler that serves the pages and hands on the rest.
	Wrap(api http.Handler) http.Handler
	// IsPage reports whether a request is for a page, which links of other sites may open.
	IsPage(r *http.Request) bool
}

// Server is the native API. It holds no state of its own besides whether it is
// draining, and the feeds of the streams that are open.
type Server struct {
	store        heldStore
	hub          *watch.Hub
	claims       *claims.Dispatcher
	version      string
	limits       Limits
	bodies       *wire.Bodies
	pollInterval time.Duration
	streams      *stream.Hub
	snapshots    singleflight.Group // of sessions, for streams
	streamWrites time.Duration
	maxRuleAgeMs int64
	reviewed     func(*api.ApprovalRequest) bool
	access       *wire.Access
	signing      *signing.Keys
	grantIssuer  string
	checkpoints  audit.CheckpointRows
	journal      journal.Rows
	redactor     runs.Redactor
	sealer       runs.Sealer
	oidc         *oidc.Provider
	webhooks     *Webhooks
	openAPIYAML  []byte
	openAPIJSON  []byte
	notify       *notify.Service
	handler      http.Handler

	draining    context.Context
	drain       context.CancelFunc
	connections connections
	logger      *slog.Logger
}

// New returns a server.
func New(options Options) *Server {
	logger := options.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	draining, drain := context.WithCancel(context.Background())
	held := heldStore{store: options.Store, sealer: options.Sealer}
	if options.Webhooks != nil {
		held.checkCallback, held.callbackRoles = options.Webhooks.CheckCallback, options.Webhooks.CallbackRoles
		if held.checkCallback == nil {
			held.checkCallback = options.Webhooks.Manager.CheckURL
		}
	}
	if options.Backlogs != nil {
		held.backlog = wire.NewBacklog(options.Limits.Quota, options.Backlogs, time.Now) //nolint:forbidigo // how old a count is goes by the clock of this process
	}
	held.stored = wire.NewStored(options.Limits.Quota, time.Now) //nolint:forbidigo // budgets refill by the clock of this process
	if disk, known := options.Store.(runs.Disk); known {
		held.hasRoom = func() bool { return disk.FreeBytes() >= ReservedBytes }
	}
	server := &Server{
		store: held, sealer: options.Sealer, hub: options.Hub, claims: options.Claims,
		version: cmp.Or(options.Version, "dev"),
		limits: Limits{
			MaxBodyBytes: cmp.Or(options.Limits.MaxBodyBytes, wire.DefaultMaxBodyBytes),
			MaxWait:      min(cmp.Or(options.Limits.MaxWait, DefaultMaxWait), DefaultMaxWait),
			InputWait:    cmp.Or(options.Limits.InputWait, DefaultInputWait),
		},
		pollInterval: cmp.Or(options.PollInterval, DefaultPollInterval),
		streamWrites: cmp.Or(options.StreamWriteTimeout, DefaultStreamWriteTimeout),
		maxRuleAgeMs: options.MaxRuleAge.Milliseconds(),
		reviewed:     options.Reviewed,
		access:       &wire.Access{Keyring: options.Keyring, Certificates: options.ClientCertificates},
		signing:      options.Signing,
		grantIssuer:  GrantIssuer(options.Issuer),
		checkpoints:  options.Checkpoints,
		journal:      options.Journal,
		redactor:     options.Redactor,
		oidc:         options.OIDC,
		webhooks:     options.Webhooks,
		openAPIYAML:  options.OpenAPIYAML,
		openAPIJSON:  options.OpenAPIJSON,
		notify:       options.Notify,
		draining:     draining, drain: drain, logger: logger,
	}
	if options.OIDC != nil {
		server.access.Identify = options.OIDC.Identify
	}
	server.access.Quotas = wire.NewQuotas(options.Limits.Quota, server.limits.MaxBodyBytes, cmp.Or(options.Limits.Patience, wire.DefaultPatience), time.Now) //nolint:forbidigo // calls are counted by the clock of this process
	server.bodies = &wire.Bodies{MaxBytes: server.limits.MaxBodyBytes}
	server.streams = stream.NewHub(stream.Options{
		Store: options.Store, Scope: scopeOf, Watches: options.Hub, Done: draining.Done(), Logger: logger,
		MaxStreams: options.Limits.MaxStreams, PollInterval: server.pollInterval, KeepAlive: options.KeepAlive,
	})
	guard := wire.Guard{Hosts: options.Hosts, Origins: options.Origins, AnySite: []string{pathVersion, oidc.StartPath, oidc.CallbackPath}}
	routes := server.Routes()
	for _, mount := range options.Dialects {
		mount(routes, kit.Services{
			Store: server.store, Watches: options.Hub, Streams: server.streams, Logger: logger, Draining: draining,
			PollInterval: server.pollInterval, KeepAlive: cmp.Or(options.KeepAlive, stream.DefaultKeepAlive),
			StreamWriteTimeout: server.streamWrites, MaxRuleAgeMs: server.maxRuleAgeMs,
			MaxBodyBytes: server.limits.MaxBodyBytes, Access: server.access,
		})
	}
	var handler http.Handler = routes
	if options.Pages != nil {
		guard.Page = options.Pages.IsPage
		handler = options.Pages.Wrap(routes)
	}
	shell := wire.NewShell(logger, guard, isProbe)
	shell.Foreign, shell.Observer, shell.LogRequests = server.isForeign, options.Observer, options.LogRequests
	shell.Tracer = options.Tracer
	server.handler = kheish.Wrap(shell.Wrap(handler), draining.Done())
	return server
}

// Handler returns the whole API, ready to be served.
func (s *Server) Handler() http.Handler { return advertise(s.handler) }

// Webhooks returns those of the options.
func (s *Server) Webhooks() *Webhooks { return s.webhooks }

// Streams returns how many streams are open.
func (s *Server) Streams() int { return s.streams.Open() }

// Connections returns how many connections carry calls.
func (s *Server) Connections() int { return s.connections.number() }

// QuotaUse returns how much the busiest callers use of their quotas.
func (s *Server) QuotaUse() wire.QuotaUse { return s.access.Quotas.Use() }

// StoredUse returns the largest share of a daily budget of stored bytes that one principal has used.
func (s *Server) StoredUse() float64 { return s.store.stored.Use() }

// BacklogUse returns how much the principals that have most waiting have.
func (s *Server) BacklogUse() wire.Waiting { return s.store.backlog.Use() }

// Drain answers every held request at once with what there is, ends every stream, and
// makes /readyz say that the service goes away. Requests that are not held go on as before, so
// http.Server.Shutdown finishes soon after; hand Drain to RegisterOnShutdown.
// Calling it again does nothing.
func (s *Server) Drain() { s.drain() }

// hold calls check until it is done, at most for wait, and returns early when the
// server drains. Running out of time is no error: the caller answers with what the
// last check saw. The watch must have been taken before the first read.
func (s *Server) hold(ctx context.Context, changes *watch.Watch, wait time.Duration, check func(context.Context) (bool, error)) error {
	if err := wire.Hold(ctx); err != nil {
		return err
	}
	held, cancel := s.held(ctx, wait)
	defer cancel()
	err := watch.Until(held, changes, s.pollInterval, check)
	if errors.Is(err, watch.ErrTimeout) || ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// held returns a context that ends with the given one, after the wait, or when the
// server drains.
func (s *Server) held(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	held, cancel := context.WithTimeout(ctx, wait)
	stop := context.AfterFunc(s.draining, cancel)
	return held, func() {
		stop()
		cancel()
	}
}
