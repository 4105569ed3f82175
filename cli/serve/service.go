package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/cli/database"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	assembly "github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/telemetry"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// service is built from the flags of [Command]. Each step of [Command.Run] sets more of its
// fields.
type service struct {
	*Command

	// From the flags and the files that they name.
	review      func(context.Context, api.JSON) error // nil without --review-hook
	files       *certificates                         // nil without --tls-cert
	guard       egress.Guard                          // for webhooks
	callbacks   egress.Guard
	caller      *egress.Client            // calls addresses that the guard allows
	channels    map[string]notify.Channel // nil for none
	escalations *escalation.Settings
	onCall      map[string]notify.OnCall
	secretKeys  *sealing.Keys  // nil without any
	issuer      *oidc.Provider // nil without --oidc-issuer
	logLevel    *slog.LevelVar
	logger      *slog.Logger
	outage      *outage
	journal     *telemetry.Journal

	// Listeners.
	listener net.Listener
	admin    *admin
	traces   *traces

	// The database and what is loaded from it.
	store      store.Store
	keyring    *auth.Keyring
	signatures *signing.Keys
}

// Run serves until the first stop signal, then finishes the calls in flight. A second
// signal ends the process at once.
func (c *Command) Run(ctx context.Context, terminal *console.Console, again Again) error {
	hungUp, stopReloads := hangUps()
	defer stopReloads()
	s, err := c.configure(terminal)
	if err != nil {
		return err
	}
	running, stop := console.UntilSignal(ctx)
	defer stop()
	defer s.close()
	if err := s.listen(running, terminal); err != nil {
		return err
	}
	open, err := s.open(running)
	switch {
	case err != nil && running.Err() != nil:
		s.logger.InfoContext(ctx, "stopped before it was ready", slog.String("cause", context.Cause(running).Error()))
		return nil
	case err != nil:
		return err
	}
	url := s.url()
	if c.LogFormat == "json" {
		announce(s.logger, url, c.Describe(), open, !isLoopback(s.listener))
	} else {
		s.greet(terminal, url, open)
	}
	if c.ListenFile != "" {
		if err := writeListenFile(c.ListenFile, url); err != nil {
			return errors.Join(err, s.store.Close())
		}
		defer func() { _ = os.Remove(c.ListenFile) }() // its reader may have deleted it
	}
	collectLess()
	stopping := make(chan struct{})
	ticker := time.NewTicker(certificateInterval)
	defer ticker.Stop()
	err = endWithin(c.ShutdownTimeout+closeTimeout, stopping, func() error {
		err := s.serve(running, stopping, func(ctx context.Context) error { return s.reloadOn(ctx, hungUp, ticker.C, again) })
		if closing := s.store.Close(); closing != nil {
			err = errors.Join(err, fmt.Errorf("close the database: %w", closing))
		}
		return err
	})
	s.logger.InfoContext(ctx, "stopped")
	return err
}

// configure reads the files named by flags. It opens nothing.
func (c *Command) configure(terminal *console.Console) (*service, error) {
	s := &service{Command: c, logLevel: &slog.LevelVar{}}
	err := s.parse(terminal)
	if err != nil {
		return nil, err
	}
	if s.files, err = c.certificates(); err != nil {
		return nil, err
	}
	if err = s.readChannels(); err != nil {
		return nil, console.Usage("--channels: %w", err)
	}
	if s.secretKeys, err = database.ServiceKeys(terminal, c.SecretKeyFile); err != nil {
		return nil, err
	}
	s.logLevel.Set(c.LogLevel)
	s.outage = newOutage(c.logHandler(terminal.Stderr, s.logLevel), assembly.NowMs)
	s.logger = slog.New(s.outage.handler())
	s.warnOfUnreadVariables(terminal.LookupEnv)
	s.journal = telemetry.NewJournal(s.logger)
	s.issuer, err = c.issuer(terminal, s.logger)
	return s, err
}

func (c *Command) logHandler(to io.Writer, level slog.Leveler) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.NewJSONHandler(to, options)
	}
	return slog.NewTextHandler(to, options)
}

// listen opens the listeners and the trace exporter.
func (s *service) listen(ctx context.Context, terminal *console.Console) (err error) {
	if s.listener, err = listen(ctx, s.Listen, s.reachable()); err != nil {
		return err
	}
	if s.admin, err = s.listenAdmin(ctx); err != nil {
		return err
	}
	s.traces, err = s.tracing(ctx, terminal, s.logger)
	return err
}

// close closes what listen opened. The servers close their listeners, too.
func (s *service) close() {
	s.traces.close()
	s.admin.close()
	if s.listener != nil {
		_ = s.listener.Close()
	}
}

// open opens the database and loads keys and tokens from it. It reports whether the service
// requires no credentials. If it fails, it leaves nothing open.
func (s *service) open(ctx context.Context) (open bool, err error) {
	options := store.Options{KeepSchema: s.Migrate == "off", Pooler: s.Pooled, ListenURL: s.DirectDatabase, DefaultExpiry: s.DefaultExpiry, Logger: s.logger, Observer: s.journal}
	options.NotifyAfter, options.NotifyAddressed, options.Escalations = s.notifyAfter(), len(s.channels) == 0, s.escalations
	if s.admin != nil {
		options.Observer = telemetry.All{s.admin.metrics.Door, s.journal}
	}
	s.traces.watch(&options)
	if s.store, err = s.Open(ctx, options); err != nil {
		return false, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.store.Close())
		}
	}()
	if err := store.CheckSecretKeys(ctx, s.store, s.secretKeys); err != nil {
		return false, err
	}
	s.keyring = auth.NewKeyring(s.keys(s.store, assembly.NowMs))
	if open, err = s.keyring.Open(ctx); err != nil {
		return false, err
	}
	if open && s.Auth != authNone && !isLoopback(s.listener) {
		return false, refuseOpen(s.Listen, s.Database)
	}
	if s.signatures, err = s.signingKeys(ctx); err != nil {
		return false, err
	}
	s.warnOfUnreadableAddresses()
	if err = s.addPush(); err != nil {
		return false, err
	}
	s.warnOfSharedKeys()
	return open, nil
}

// keys returns the options of the keyring. Client certificates require credentials like an issuer, but make agents
// only: the last admin's token stays.
func (s *service) keys(tokens auth.Tokens, nowMs func() int64) auth.Options {
	options := auth.Options{Tokens: tokens, Mode: modes[s.Auth], NewID: runs.NewID, Logger: s.logger, NowMs: nowMs, Issuer: s.issuer != nil}
	if s.ClientCA != "" && options.Mode == auth.Auto {
		options.Mode = auth.Required
	}
	return options
}

// url returns the URL by which this machine reaches the service.
func (s *service) url() string {
	scheme := "http"
	if s.files != nil {
		scheme = "https"
	}
	return reachableURL(scheme, s.listener)
}
