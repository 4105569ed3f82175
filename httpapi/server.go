package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/api"
	dialect "github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/kheish"
	"github.com/holdpoint/holdpoint/httpapi/links"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/v1/hooks"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	runroutes "github.com/holdpoint/holdpoint/httpapi/v1/runs"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
)

// Server is the native API. Its only state is whether it drains, and the feeds of open streams.
type Server struct {
	store    authorized
	calls    *kit.Calls
	streams  *stream.Hub
	access   *wire.Access
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
	options.setDefaults()
	draining, drain := context.WithCancel(context.Background())
	held := newAuthorized(&options)
	server := &Server{
		store: held, webhooks: options.Webhooks, draining: draining, drain: drain, logger: options.Logger,
		calls: &kit.Calls{
			Store: held, Bodies: &wire.Bodies{MaxBytes: options.Limits.MaxBodyBytes}, Watches: options.Hub, Draining: draining,
			PollInterval: options.PollInterval, MaxWait: options.Limits.MaxWait, Reviewed: options.Reviewed,
		},
		streams: stream.NewHub(stream.Options{
			Store: options.Store, Scope: scopeOf, Viewers: options.viewers(), Watches: options.Hub, Done: draining.Done(), Logger: options.Logger,
			MaxStreams: options.Limits.MaxStreams, PollInterval: options.PollInterval, KeepAlive: options.KeepAlive,
		}),
		access: &wire.Access{
			Keyring: options.Keyring, Certificates: options.ClientCertificates,
			Quotas: wire.NewQuotas(options.Limits.Quota, options.Limits.MaxBodyBytes, options.Limits.Patience, time.Now), //nolint:forbidigo // calls are counted by this process's clock
		},
	}
	if options.OIDC != nil {
		server.access.Identify = options.OIDC.Identify
	}
	router := newRouter()
	server.faces = []wire.Face{{Name: "v1", Via: api.ViaAPI, Routes: server.routes(&options)}, kheish.Face(draining.Done())}
	if options.Notify != nil {
		server.faces = append(server.faces, links.Face(options.Notify, held))
	}
	services := dialect.Services{
		Store: held, Watches: options.Hub, Streams: server.streams, Logger: options.Logger, Draining: draining,
		PollInterval: options.PollInterval, KeepAlive: options.KeepAlive, StreamWriteTimeout: options.StreamWriteTimeout,
		MaxRuleAgeMs: options.MaxRuleAge.Milliseconds(), MaxBodyBytes: options.Limits.MaxBodyBytes, Router: innerCalls(router),
	}
	for _, mount := range options.Faces {
		server.faces = append(server.faces, mount(services))
	}
	for i := range server.faces {
		server.access.Mount(router, &server.faces[i])
	}
	server.handler = server.serve(router, &options)
	return server
}

// serve returns the handler around the routes: pages, the guard against web pages of other origins, and logs.
func (s *Server) serve(router *chi.Mux, options *Options) http.Handler {
	var handler http.Handler = router
	guard := wire.Guard{
		Hosts: options.Hosts, Origins: options.Origins, Page: links.IsPage,
		AnySite: []string{pathVersion, oidc.StartPath, oidc.CallbackPath},
	}
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
	shell := wire.NewShell(options.Logger, guard, isProbe)
	shell.Foreign, shell.Observer, shell.LogRequests = s.isForeign, options.Observer, options.LogRequests
	shell.Tracer = options.Tracer
	handler = shell.Wrap(handler)
	for _, face := range s.faces {
		if face.Over != nil {
			handler = face.Over(handler)
		}
	}
	return handler
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

// ConnectionUse returns how much of its maximum of connections for calls the busiest principal has.
func (s *Server) ConnectionUse() float64 { return s.connections.use() }

// FaceUse returns the highest [wire.Face] Use. Only /mcp has a limit of its own.
func (s *Server) FaceUse() (share float64) {
	for _, face := range s.faces {
		if face.Use != nil {
			share = max(share, face.Use())
		}
	}
	return share
}

// QuotaUse returns the quota use of the busiest callers.
func (s *Server) QuotaUse() wire.QuotaUse { return s.access.Quotas.Use() }

// StoredUse returns the largest share of a daily budget of stored bytes that one principal has used.
func (s *Server) StoredUse() float64 { return s.store.stored.Use() }

// BacklogUse returns the largest backlogs.
func (s *Server) BacklogUse() wire.Waiting { return s.store.backlog.Use() }

// Drain answers every held request at once, ends every stream, and makes /readyz fail. Other
// requests continue, so http.Server.Shutdown finishes soon after. Call it before. A second call has no effect.
func (s *Server) Drain() { s.drain() }
