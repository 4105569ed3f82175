package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/loopback"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/telemetry"
)

// admin serves metrics and profiles on a separate address. A nil admin does nothing.
type admin struct {
	listener net.Listener
	metrics  *telemetry.Metrics
}

// listenAdmin listens on --admin-addr. It returns nil if the flag is not given.
func (c *Command) listenAdmin(ctx context.Context) (*admin, error) {
	if c.AdminAddr == "" {
		return nil, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", c.AdminAddr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for --admin-addr: %w", c.AdminAddr, err)
	}
	return &admin{listener: listener, metrics: telemetry.New(console.Version(), dialects.Names()...)}, nil
}

// observer returns the observer of calls, nil for none.
func (a *admin) observer() wire.Observer {
	if a == nil {
		return nil
	}
	return a.metrics.HTTP
}

// watch adds the metrics of the service's parts.
func (a *admin) watch(opened store.Store, dispatcher *claims.Dispatcher, api *httpapi.Server, callbacks func() float64, traces *traces) {
	if a == nil {
		return
	}
	a.metrics.Watch(telemetry.Source{
		Spans: traces.counts(),
		Store: opened, Lanes: opened.Lanes, Pools: opened.Pools, Streams: api.Streams, Connections: api.Connections, Held: dispatcher.Held, Now: time.Now,
		Callers: func() telemetry.Callers {
			use := api.QuotaUse()
			return telemetry.Callers{
				Count: use.Callers, Calls: use.Calls, Held: use.Held, Streams: use.Streams, Bytes: use.Bytes, Rate: use.Rate, Stored: api.StoredUse(),
				MCP: api.FaceUse(), Connections: api.ConnectionUse(), Callbacks: callbacks(),
			}
		},
		Backlog: func() (int64, int64) {
			use := api.BacklogUse()
			return use.Prompts, use.Queued
		},
	})
}

func (a *admin) close() {
	if a != nil {
		_ = a.listener.Close() // its server closes it, too
	}
}

// handler serves metrics to every caller, and profiles, which may contain callers' data,
// only to this machine.
func (a *admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	for path, handler := range map[string]http.HandlerFunc{
		"GET /debug/pprof/": pprof.Index, "GET /debug/pprof/cmdline": pprof.Cmdline, "GET /debug/pprof/profile": pprof.Profile,
		"GET /debug/pprof/symbol": pprof.Symbol, "GET /debug/pprof/trace": pprof.Trace,
	} {
		mux.Handle(path, fromHere(handler))
	}
	return mux
}

// fromHere refuses callers on other machines, and web pages in a local browser.
func fromHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopbackText(r.RemoteAddr) || !isLoopbackText(r.Host) || r.Header.Get("Origin") != "" {
			http.Error(w, "profiles are for this machine alone, by a loopback address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopbackText reports whether a host, with or without a port, is localhost or a loopback
// address.
func isLoopbackText(text string) bool {
	host, _, err := net.SplitHostPort(text)
	if err != nil {
		host = text
	}
	return loopback.Is(host)
}

// adminTimeout is longer than any profile. It is the read timeout, too, because net/http cancels a request whose
// connection times out.
const adminTimeout = 5 * time.Minute

func (a *admin) server(logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler: a.handler(), ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: adminTimeout, WriteTimeout: adminTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// serve serves until ctx ends.
func (a *admin) serve(ctx context.Context, logger *slog.Logger) error {
	if a == nil {
		return nil
	}
	server := a.server(logger)
	logger.InfoContext(ctx, "metrics are served", slog.String("url", reachableURL("http", a.listener)+"/metrics"))
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the admin address: %w", err)
	}
	return nil
}
