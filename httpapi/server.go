package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	dialect "github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/kheish"
	"github.com/holdpoint/holdpoint/httpapi/links"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	auditroutes "github.com/holdpoint/holdpoint/httpapi/v1/audit"
	"github.com/holdpoint/holdpoint/httpapi/v1/decide"
	"github.com/holdpoint/holdpoint/httpapi/v1/hooks"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/v1/people"
	"github.com/holdpoint/holdpoint/httpapi/v1/rules"
	runroutes "github.com/holdpoint/holdpoint/httpapi/v1/runs"
	"github.com/holdpoint/holdpoint/httpapi/v1/streams"
	"github.com/holdpoint/holdpoint/httpapi/v1/tokens"
	"github.com/holdpoint/holdpoint/httpapi/v1/work"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// Limits are limits for one request. 0 means the default.
type Limits struct {
	// MaxBodyBytes is the maximum size of a request body; default 1 MiB.
	MaxBodyBytes int64
	// MaxWait is the longest time a reply is held; default 60 s, which is also the maximum of the
	// API.
	MaxWait time.Duration
	// InputWait is how long POST /v1/sessions/{session_id}/input is held without a preference;
	// default 30 s.
	InputWait time.Duration
	// MaxStreams is the maximum number of open streams; default 20,000.
	MaxStreams int
	// Quota limits one principal's use of the process; see [wire.Quota] for its defaults. A service
	// that requires no credentials applies only the limits that are set: rate and calls for each
	// connection, the others for all callers together.
	Quota wire.Quota
	// Patience is how long a call beyond a quota waits before it is refused: 0 means
	// wire.DefaultPatience, negative means no wait.
	Patience time.Duration
}

// Defaults of [Limits] and [Options].
const (
	DefaultMaxWait      = 60 * time.Second
	DefaultInputWait    = 30 * time.Second
	DefaultPollInterval = time.Second
	// ReservedBytes is the part of the database's disk that is reserved for decisions,
	// cancellations and ends.
	ReservedBytes = 64 << 20
	// DefaultStreamWriteTimeout is the default of Options.StreamWriteTimeout.
	DefaultStreamWriteTimeout = 10 * time.Second
)

// readsAboutTimeout limits the reads about a request, and of the other requests of an explanation. After
// that the reply is without them. A variable for tests, which may run on a slow machine.
var readsAboutTimeout = time.Second

// Options configure a [Server]. Store, Hub and Claims are required.
type Options struct {
	Store  runs.Store
	Hub    *watch.Hub
	Claims *claims.Dispatcher
	// Version is shown at /version; "dev" when empty.
	Version string
	// Logger receives a line for each request that failed in the service, and every request at
	// debug level. Nil discards them.
	Logger *slog.Logger
	Limits Limits
	// Hosts are the host names that callers may use, in addition to localhost and IP addresses; "*"
	// allows all. Origins are the web origins, in addition to the service's own, whose pages may
	// call it and read the replies; "*" allows all, without credentials. See wire.Guard.
	Hosts   []string
	Origins []string
	// PollInterval is how often held replies and session streams poll without a notice; default 1
	// s.
	PollInterval time.Duration
	// KeepAlive is the silence after which a stream gets a comment; default 5 s.
	KeepAlive time.Duration
	// StreamWriteTimeout is how long a stream's reader may block before its connection is closed;
	// default 10 s.
	StreamWriteTimeout time.Duration
	// MaxRuleAge is the longest lifetime of a rule; 0 for no maximum.
	MaxRuleAge time.Duration
	// Pages serves the web pages; nil for none. See package web.
	Pages Pages
	// Reviewed reports whether a new approval is posted to the review hook. Nil means none is.
	Reviewed func(*api.ApprovalRequest) bool
	// Keyring authenticates callers. With nil no credential is required, and every caller may do
	// everything.
	Keyring *auth.Keyring
	// Backlogs counts pending work for the limits of open prompts and queued runs. Nil for no
	// limits.
	Backlogs wire.BacklogReader
	// Signing signs grants and exports. Nil generates a temporary key, for programs that embed the
	// service.
	Signing *signing.Keys
	// Issuer is the "iss" of grants, the service's URL; "holdpoint" when empty.
	Issuer string
	// Checkpoints are included in audit exports; nil for none.
	Checkpoints audit.CheckpointRows
	// Redactor removes event bodies; nil disables it.
	Redactor runs.Redactor
	// Journal is the audit log; nil for none.
	Journal journal.Rows
	// Sealer encrypts sensitive values. Without one they are refused.
	Sealer runs.Sealer
	// Webhooks serves the webhook routes; nil disables webhooks.
	Webhooks *hooks.Service
	// Notify tells people of what they may decide; nil where no addresses are kept.
	Notify *notify.Service
	// OIDC is the OpenID Connect issuer; nil for none.
	OIDC *oidc.Provider
	// ClientCertificates says that the listener verifies client certificates, which agents may use
	// as credentials.
	ClientCertificates bool
	// Observer receives each call; nil for none.
	Observer wire.Observer
	// Tracer creates the spans of calls; nil for none.
	Tracer wire.Tracer
	// LogRequests logs each call at level INFO instead of DEBUG.
	LogRequests bool
	// OpenAPIYAML and OpenAPIJSON are served at /openapi.yaml and /openapi.json; nil for nothing.
	OpenAPIYAML, OpenAPIJSON []byte
	// Faces are the wire contracts to serve next to /v1.
	Faces []dialect.Mount
}

// Pages serves web pages in front of the API.
type Pages interface {
	// Wrap returns a handler that serves the pages and passes other requests on.
	Wrap(api http.Handler) http.Handler
	// IsPage reports whether a request is for a page, which other sites may link to.
	IsPage(r *http.Request) bool
	// Missing answers a browser that opens an address where nothing is. It returns false if the API
	// answers.
	Missing(w http.ResponseWriter, r *http.Request) bool
}

// Server is the native API. Its only state is whether it drains, and the feeds of open streams.
type Server struct {
	store    authorized
	calls    *kit.Calls
	bodies   *wire.Bodies
	streams  *stream.Hub
	access   *wire.Access
	about    about
	webhooks *hooks.Service
	faces    []wire.Face // /v1 first
	handler  http.Handler

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
	held := authorized{store: options.Store, sealer: options.Sealer}
	if options.Webhooks != nil {
		held.checkCallback, held.callbackRoles = options.Webhooks.CheckCallback, options.Webhooks.CallbackRoles
		if held.checkCallback == nil {
			held.checkCallback = options.Webhooks.Manager.CheckURL
		}
	}
	if options.Backlogs != nil {
		held.backlog = wire.NewBacklog(options.Limits.Quota, options.Backlogs, time.Now) //nolint:forbidigo // the age of a count is by this process's clock
	}
	held.stored = wire.NewStored(options.Limits.Quota, time.Now) //nolint:forbidigo // budgets refill by this process's clock
	if disk, known := options.Store.(runs.Disk); known {
		held.hasRoom = func() bool { return disk.FreeBytes() >= ReservedBytes }
	}
	server := &Server{
		store:    held,
		bodies:   &wire.Bodies{MaxBytes: cmp.Or(options.Limits.MaxBodyBytes, wire.DefaultMaxBodyBytes)},
		webhooks: options.Webhooks,
		access:   &wire.Access{Keyring: options.Keyring, Certificates: options.ClientCertificates},
		draining: draining, drain: drain, logger: logger,
	}
	if options.OIDC != nil {
		server.access.Identify = options.OIDC.Identify
	}
	server.access.Quotas = wire.NewQuotas(options.Limits.Quota, server.bodies.MaxBytes, cmp.Or(options.Limits.Patience, wire.DefaultPatience), time.Now) //nolint:forbidigo // calls are counted by this process's clock
	server.calls = &kit.Calls{
		Store: held, Bodies: server.bodies, Watches: options.Hub, Draining: draining, Reviewed: options.Reviewed,
		PollInterval: cmp.Or(options.PollInterval, DefaultPollInterval),
		MaxWait:      min(cmp.Or(options.Limits.MaxWait, DefaultMaxWait), DefaultMaxWait),
	}
	server.about = about{cmp.Or(options.Version, "dev"), options.OpenAPIYAML, options.OpenAPIJSON}
	workers := work.New(work.Options{
		Calls: server.calls, Claims: options.Claims, Sealer: options.Sealer, Signing: options.Signing,
		Issuer: GrantIssuer(options.Issuer), Unscoped: options.Store, Logger: logger,
	})
	server.streams = stream.NewHub(stream.Options{
		Store: options.Store, Scope: scopeOf, Watches: options.Hub, Done: draining.Done(), Logger: logger,
		MaxStreams: options.Limits.MaxStreams, PollInterval: server.calls.PollInterval, KeepAlive: options.KeepAlive,
	})
	guard := wire.Guard{Hosts: options.Hosts, Origins: options.Origins, AnySite: []string{pathVersion, oidc.StartPath, oidc.CallbackPath}}
	router := newRouter()
	maxRuleAgeMs := options.MaxRuleAge.Milliseconds()
	streamWrites := cmp.Or(options.StreamWriteTimeout, DefaultStreamWriteTimeout)
	var channels []string
	if options.Notify != nil {
		channels = options.Notify.Channels()
	}
	services := dialect.Services{
		Store: server.store, Watches: options.Hub, Streams: server.streams, Logger: logger, Draining: draining,
		PollInterval: server.calls.PollInterval, KeepAlive: cmp.Or(options.KeepAlive, stream.DefaultKeepAlive),
		StreamWriteTimeout: streamWrites, MaxRuleAgeMs: maxRuleAgeMs,
		MaxBodyBytes: server.bodies.MaxBytes, Router: innerCalls(router),
	}
	server.faces = []wire.Face{{Name: "v1", Via: api.ViaAPI, Routes: server.routes(
		hooks.Routes(held, server.bodies, options.Webhooks),
		people.Routes(options.Notify, server.bodies),
		rules.Routes(held, server.bodies, maxRuleAgeMs, readsAboutTimeout),
		tokens.Routes(server.access, server.bodies, options.OIDC, server.streamPath),
		streams.Routes(held, server.streams, streamWrites),
		workers.Routes(),
		runroutes.Routes(runroutes.Options{
			Calls: server.calls, InputWait: cmp.Or(options.Limits.InputWait, DefaultInputWait), HandOver: workers.HandOver,
			Explain: explain.Collector{
				Whole: options.Store, NowMs: held.NowMs, Waiting: options.Claims.WaitingFor,
				Directory: directory{options.Keyring}, Channels: channels,
			},
		}),
		decide.Routes(server.calls, options.Store, maxRuleAgeMs, readsAboutTimeout),
		auditroutes.Routes(auditroutes.Sources{
			Store: held, Bodies: server.bodies, Signing: options.Signing, Journal: options.Journal,
			Checkpoints: options.Checkpoints, Redactor: options.Redactor,
		}),
	)}, kheish.Face(draining.Done())}
	if options.Notify != nil {
		server.faces = append(server.faces, links.Face(options.Notify, server.store))
	}
	for _, mount := range options.Faces {
		server.faces = append(server.faces, mount(services))
	}
	for i := range server.faces {
		server.access.Mount(router, &server.faces[i])
	}
	var handler http.Handler = router
	guard.Page = links.IsPage
	if options.Pages != nil {
		guard.Page = func(r *http.Request) bool { return links.IsPage(r) || options.Pages.IsPage(r) }
		handler = options.Pages.Wrap(router)
		router.NotFound(wire.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			if options.Pages.Missing(w, r) {
				return nil
			}
			return routeNotFound(w, r)
		}).ServeHTTP)
	}
	shell := wire.NewShell(logger, guard, isProbe)
	shell.Foreign, shell.Observer, shell.LogRequests = server.isForeign, options.Observer, options.LogRequests
	shell.Tracer = options.Tracer
	server.handler = shell.Wrap(handler)
	for _, face := range server.faces {
		if face.Over != nil {
			server.handler = face.Over(server.handler)
		}
	}
	return server
}

// Faces returns every wire contract that the server speaks, /v1 first.
func (s *Server) Faces() []wire.Face { return s.faces }

// Handler returns the whole API.
func (s *Server) Handler() http.Handler { return advertise(s.handler) }

// Webhooks returns the webhooks of the options.
func (s *Server) Webhooks() *hooks.Service { return s.webhooks }

// Decide carries out a command of the caller in the context, as a route does.
func (s *Server) Decide(ctx context.Context, command runs.Command) error {
	_, err := s.store.Do(ctx, command)
	return err
}

// Intake creates runs from the bodies that programs left in their own transactions.
func (s *Server) Intake() runroutes.Intake { return runroutes.Intake{Calls: s.calls} }

// Streams returns the number of open streams.
func (s *Server) Streams() int { return s.streams.Open() }

// Connections returns the number of connections for calls.
func (s *Server) Connections() int { return s.connections.number() }

// QuotaUse returns the quota use of the busiest callers.
func (s *Server) QuotaUse() wire.QuotaUse { return s.access.Quotas.Use() }

// StoredUse returns the largest share of a daily budget of stored bytes that one principal has used.
func (s *Server) StoredUse() float64 { return s.store.stored.Use() }

// BacklogUse returns the largest backlogs.
func (s *Server) BacklogUse() wire.Waiting { return s.store.backlog.Use() }

// Drain answers every held request at once, ends every stream, and makes /readyz fail. Other
// requests continue, so http.Server.Shutdown finishes soon after. Pass it to RegisterOnShutdown. A
// second call has no effect.
func (s *Server) Drain() { s.drain() }

// defaultIssuer is the "iss" of grants without an external URL.
const defaultIssuer = "holdpoint"

// GrantIssuer returns the "iss" of grants for an external URL.
func GrantIssuer(externalURL string) string {
	return cmp.Or(strings.TrimSuffix(externalURL, "/"), defaultIssuer)
}
