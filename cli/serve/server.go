package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	assembly "github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/store"
)

// Limits of the HTTP server. There is no write timeout: a reply may be held for a minute,
// and httpapi bounds writes itself. The read timeout must be longer than that, too, because
// net/http cancels a request whose connection times out.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 2 * time.Minute
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 64 << 10
)

// serve runs the server and the loops, closes stopping at the start of the shutdown, and
// returns when all have ended. The loops run until the last call is answered, because they
// wake held calls.
func (s *service) serve(ctx context.Context, stopping chan<- struct{}, reload func(context.Context) error) error {
	assembled, err := s.assemble()
	if err != nil {
		return err
	}
	defer assembled.Close()
	api := assembled.API
	server := &http.Server{
		Handler: api.Handler(), ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn), TLSConfig: s.files.config(),
	}
	s.admin.watch(s.store, assembled.Claims, api, assembled.CallbackUse, s.traces)

	looping, stopLoops := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLoops()
	// If a part fails, the group's context ends the others.
	group, failing := errgroup.WithContext(ctx)
	for _, run := range append(assembled.Loops(), append(s.loops(), reload)...) {
		group.Go(func() error { return run(looping) })
	}
	group.Go(func() error {
		sayToSystemd(ctx, s.logger, daemon.SdNotifyReady)
		if err := s.answer(server); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		defer stopLoops()
		<-failing.Done()
		close(stopping)
		sayToSystemd(ctx, s.logger, daemon.SdNotifyStopping)
		s.logger.InfoContext(ctx, "stopping", slog.String("cause", context.Cause(failing).Error()))
		return s.shutDown(server, api)
	})
	return group.Wait()
}

// assemble assembles the service.
func (s *service) assemble() (*assembly.Service, error) {
	shown, err := assembly.Pages()
	if err != nil {
		return nil, err
	}
	return assembly.New(assembly.Options{
		Options: httpapi.Options{
			Logger: s.logger, Keyring: s.keyring, Signing: s.signatures,
			Version: console.Version(), OpenAPIYAML: holdpoint.OpenAPIYAML(), OpenAPIJSON: holdpoint.OpenAPIJSON(),
			Pages: shown, Faces: s.faces(s.signatures), LogRequests: s.LogRequests, Observer: s.admin.observer(), Tracer: s.traces.calls(),
			OIDC: s.issuer, ClientCertificates: s.ClientCA != "", Hosts: s.AllowedHost, Origins: s.AllowedOrigin, MaxRuleAge: s.RuleMaxAge,
			Limits: httpapi.Limits{Quota: wire.Quota{
				Rate: s.LimitRate, Burst: s.LimitBurst, Calls: s.LimitCalls, Held: s.LimitHeld, Streams: s.LimitStreams,
				Bytes: s.LimitBytes, Prompts: s.LimitPrompts, Queued: s.LimitQueuedRuns, Stored: s.LimitStored,
			}},
		},
		Store: s.store, ExternalURL: s.ExternalURL, Delivered: s.admin.delivered(),
		SecretKeys: s.secretKeys, WebhookGuard: s.guard, CallbackGuard: s.callbacks, CallbackRoles: s.callbackRoles(), Review: s.review, Channels: s.channels, Escalations: s.escalations, OnCall: s.onCall,
		MaxAttempts: s.MaxAttempts, IdempotencyRetention: time.Duration(s.IdempotencyRetention),
		KeepRuns: time.Duration(s.KeepRuns), KeepRules: time.Duration(s.KeepRules),
	}), nil
}

// loops returns the background loops of the process, each of which runs until its context
// ends.
func (s *service) loops() []func(context.Context) error {
	loops := []func(context.Context) error{
		s.journal.Run,
		s.readSecretKeys,
		func(ctx context.Context) error { return s.outage.run(ctx, s.store.Ready) },
		func(ctx context.Context) error { return s.admin.serve(ctx, s.logger) },
	}
	if store.IsServer(s.Database) {
		// An embedded database runs and waits for its disk in this process.
		loops = append(loops, useFewProcessors)
	}
	return loops
}

// answer serves until the server is shut down.
func (s *service) answer(server *http.Server) error {
	if s.files != nil {
		return server.ServeTLS(s.listener, "", "")
	}
	return server.Serve(s.listener)
}

// sayToSystemd reports the service's state to systemd for a unit of Type=notify. Without
// systemd it does nothing.
func sayToSystemd(ctx context.Context, logger *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		logger.WarnContext(ctx, "systemd was not told", slog.String("cause", err.Error()))
	}
}

// shutDown accepts no more calls and waits for those in flight.
func (s *service) shutDown(server *http.Server, api *httpapi.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.ShutdownTimeout)
	defer cancel()
	api.Drain()
	err := server.Shutdown(ctx)
	if err == nil {
		err = api.WaitConnections(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("calls in flight did not finish in %s: %w", s.ShutdownTimeout, err), server.Close())
	}
	return nil
}
