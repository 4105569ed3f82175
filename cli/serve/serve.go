// Package serve holds the command that runs the service: it opens a database, starts the
// loops, and serves HTTP until a signal ends it.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/cli/database"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/telemetry"
	"github.com/holdpoint/holdpoint/web"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// Command runs the service until a signal ends it.
type Command struct {
	database.Flag
	Listen               string        `default:"127.0.0.1:4000" from:"HOLDPOINT_LISTEN" placeholder:"HOST:PORT" help:"Where to listen, or unix:PATH for a socket of its owner alone; port 0 picks a free one (default ${default}; $$HOLDPOINT_LISTEN)."`
	Config               string        `placeholder:"PATH" help:"A JSON object whose members are flags; flags and variables win ($$HOLDPOINT_CONFIG)."`
	TLSCert              string        `name:"tls-cert" from:"HOLDPOINT_TLS_CERT" placeholder:"PATH" help:"Serve HTTPS with this certificate and those behind it, PEM; read again on SIGHUP ($$HOLDPOINT_TLS_CERT)."`
	TLSKey               string        `name:"tls-key" from:"HOLDPOINT_TLS_KEY" placeholder:"PATH" help:"The key of --tls-cert, PEM ($$HOLDPOINT_TLS_KEY)."`
	ClientCA             string        `name:"client-ca" from:"HOLDPOINT_CLIENT_CA" placeholder:"PATH" help:"Who shows a client certificate of these authorities, PEM, is an agent of its name; read again on SIGHUP ($$HOLDPOINT_CLIENT_CA)."`
	SigningKeyFile       string        `from:"HOLDPOINT_SIGNING_KEY_FILE" placeholder:"PATH" help:"Sign with the first Ed25519 key of this PEM file; made when it is not there (default the SQLite file and .signing-key, otherwise a key of this process alone; $$HOLDPOINT_SIGNING_KEY_FILE)."`
	AdminAddr            string        `from:"HOLDPOINT_ADMIN_ADDR" placeholder:"HOST:PORT" help:"Serve metrics for Prometheus here, and profiles to this machine; nowhere when empty ($$HOLDPOINT_ADMIN_ADDR)."`
	OTLPEndpoint         string        `name:"otlp-endpoint" from:"OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"URL" help:"Send traces to this OpenTelemetry collector, by OTLP over HTTP; nowhere when empty ($$OTEL_EXPORTER_OTLP_ENDPOINT)."`
	ListenFile           string        `placeholder:"PATH" help:"Write the service's URL to this file once it takes calls, for scripts."`
	Auth                 string        `enum:"auto,required,none" default:"auto" from:"HOLDPOINT_AUTH" help:"Ask for tokens: auto (once one was made, and always where other machines can reach the service), required or none (default ${default}; $$HOLDPOINT_AUTH)."`
	OIDCIssuer           string        `name:"oidc-issuer" from:"HOLDPOINT_OIDC_ISSUER" placeholder:"URL" help:"People sign in by this OpenID Connect issuer, and machines by its ID tokens ($$HOLDPOINT_OIDC_ISSUER)."`
	OIDCClientID         string        `name:"oidc-client-id" from:"HOLDPOINT_OIDC_CLIENT_ID" placeholder:"ID" help:"Who the service is to the issuer; its ID tokens must have this audience ($$HOLDPOINT_OIDC_CLIENT_ID)."`
	OIDCClientSecretFile string        `name:"oidc-client-secret-file" from:"HOLDPOINT_OIDC_CLIENT_SECRET_FILE" placeholder:"PATH" help:"Read the client's secret from this file (default $$HOLDPOINT_OIDC_CLIENT_SECRET; $$HOLDPOINT_OIDC_CLIENT_SECRET_FILE)."`
	OIDCRoles            []string      `name:"oidc-roles" sep:"," from:"HOLDPOINT_OIDC_ROLES" placeholder:"GROUP=ROLE" help:"The roles of the issuer's groups; of several the strongest, and without one no access ($$HOLDPOINT_OIDC_ROLES)."`
	ExternalURL          string        `name:"external-url" from:"HOLDPOINT_EXTERNAL_URL" placeholder:"URL" help:"Where browsers reach the service, for the way back from the issuer; by what they call when empty ($$HOLDPOINT_EXTERNAL_URL)."`
	LimitRate            int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_RATE" help:"Calls a second that one principal may make for long; -1 for no limit (default 10000; without credentials none; $$HOLDPOINT_LIMIT_RATE)."`
	LimitBurst           int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_BURST" help:"Calls that one principal may make at once (default 20000, or twice --limit-rate; $$HOLDPOINT_LIMIT_BURST)."`
	LimitCalls           int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_CALLS" help:"Calls of one principal that are not answered yet, held ones included; -1 for no limit (default 10000; without credentials none; $$HOLDPOINT_LIMIT_CALLS)."`
	LimitStreams         int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_STREAMS" help:"Open streams of one principal; -1 for no limit (default 10000; without credentials none; $$HOLDPOINT_LIMIT_STREAMS)."`
	LimitBytes           int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_BYTES" help:"Bytes of the bodies of one principal's calls that are not answered yet; -1 for no limit (default 268435456; without credentials none; $$HOLDPOINT_LIMIT_BYTES)."`
	LimitPrompts         int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_PROMPTS" help:"Approvals and questions that one principal may have waiting for a decision; -1 for no limit (default 100000; without credentials none; $$HOLDPOINT_LIMIT_PROMPTS)."`
	LimitQueuedRuns      int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_QUEUED_RUNS" help:"Runs of one principal that no worker has taken; -1 for no limit (default 100000; without credentials none; $$HOLDPOINT_LIMIT_QUEUED_RUNS)."`
	InsecureNoAuth       bool          `help:"With --auth=none: listen where other machines can reach it all the same."`
	AllowedHost          []string      `sep:"," placeholder:"NAME" help:"Also answer to this host name besides localhost and IP addresses."`
	AllowedOrigin        []string      `sep:"," placeholder:"ORIGIN" help:"Also answer to web pages of this origin."`
	Migrate              string        `enum:"on,off" default:"on" help:"Bring the schema up to date at the start: on or off (default ${default})."`
	Pooled               bool          `from:"HOLDPOINT_POOLED" help:"The database is reached through a proxy that pools by transaction, such as pgbouncer ($$HOLDPOINT_POOLED)."`
	DirectDatabase       string        `from:"HOLDPOINT_DIRECT_DATABASE" placeholder:"URL" help:"With --pooled: the Postgres server itself, for migrations and to hear of other replicas at once; without it replicas poll ($$HOLDPOINT_DIRECT_DATABASE)."`
	MaxAttempts          int64         `default:"10" placeholder:"N" help:"Fail a run that was claimed this often without any progress (default ${default})."`
	IdempotencyRetention Horizon       `default:"168h" placeholder:"DURATION" help:"How long idempotency keys are remembered (default ${default})."`
	KeepRuns             Horizon       `placeholder:"DURATION" help:"Delete runs with all that they have when they have been over for so long, as 90d; not less than --idempotency-retention (default: never)."`
	KeepRules            Horizon       `placeholder:"DURATION" help:"Delete standing rules when they have been revoked or expired for so long, as 90d (default: never)."`
	Dialects             []string      `sep:"," default:"hermes,codex,timbal,relay" from:"HOLDPOINT_DIALECTS" placeholder:"NAME" help:"The foreign wire contracts to serve beside /v1: some of hermes, codex, timbal and relay, or none (default ${default}; $$HOLDPOINT_DIALECTS)."`
	DefaultAgent         string        `default:"default" placeholder:"ID" help:"The agent that takes runs which timbal and relay clients start without naming one (default ${default})."`
	RelayAlways          string        `enum:"exact,prefix" default:"exact" help:"What always means in the relay dialect: the exact call, or every call that begins with the same word (default ${default})."`
	RelayModels          []string      `sep:"," from:"HOLDPOINT_RELAY_MODELS" placeholder:"NAME" help:"The models that relay clients may choose from; the first is the default ($$HOLDPOINT_RELAY_MODELS)."`
	RuleMaxAge           time.Duration `placeholder:"DURATION" help:"Refuse standing rules that are to hold longer than this; 0 for no cap (default 0)."`
	ReviewHook           string        `from:"HOLDPOINT_REVIEW_HOOK" placeholder:"URL" help:"Post each file-change approval here, once, when it is raised ($$HOLDPOINT_REVIEW_HOOK)."`
	SecretKeyFile        string        `from:"HOLDPOINT_SECRET_KEY_FILE" placeholder:"PATH" help:"Keys that encrypt sensitive values, one a line, [id:]base64 of 32 bytes: the first encrypts, all decrypt ($$HOLDPOINT_SECRET_KEY_FILE, or the keys in $$HOLDPOINT_SECRET_KEY)."`
	WebhookAllow         []string      `sep:"," from:"HOLDPOINT_WEBHOOK_ALLOW" placeholder:"CIDR" help:"Let webhooks call addresses of these ranges though they are not public, also without TLS ($$HOLDPOINT_WEBHOOK_ALLOW)."`
	ShutdownTimeout      time.Duration `default:"30s" placeholder:"DURATION" help:"How long calls in flight may take to finish after a signal (default ${default})."`
	LogLevel             slog.Level    `default:"INFO" from:"HOLDPOINT_LOG_LEVEL" placeholder:"LEVEL" help:"debug, info, warn or error (default ${default}; $$HOLDPOINT_LOG_LEVEL)."`
	LogRequests          bool          `from:"HOLDPOINT_LOG_REQUESTS" help:"Log every call, not only those that failed ($$HOLDPOINT_LOG_REQUESTS)."`
	LogFormat            string        `enum:"text,json" default:"text" from:"HOLDPOINT_LOG_FORMAT" placeholder:"FORMAT" help:"text or json, on stderr (default ${default}; $$HOLDPOINT_LOG_FORMAT)."`
}

// The values of --auth.
const authNone = "none"

var modes = map[string]auth.Mode{"auto": auth.Auto, "required": auth.Required, authNone: auth.None}

// Limits of the HTTP server. There is none on writing: a reply may be held for a
// minute, and httpapi bounds that itself. The one on reading must be longer than
// that too, because net/http cancels a request whose connection it ends.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 2 * time.Minute
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 64 << 10
)

// Run serves until the first stop signal, then finishes what is in flight. A second
// signal ends the process at once.
func (c *Command) Run(ctx context.Context, terminal *console.Console, again Again) error {
	hungUp, stopReloads := hangUps()
	defer stopReloads()
	if err := c.check(); err != nil {
		return err
	}
	review, err := reviewHook(c.ReviewHook)
	if err != nil {
		return err
	}
	files, err := c.certificates()
	if err != nil {
		return err
	}
	allowed, err := egress.ParseAllow(c.WebhookAllow)
	if err != nil {
		return console.Usage("--webhook-allow: %w", err)
	}
	secretKeys, err := database.SecretKeys(terminal, c.SecretKeyFile)
	if err != nil {
		return err
	}
	level := &slog.LevelVar{}
	level.Set(c.LogLevel)
	nowMs := func() int64 { return time.Now().UnixMilli() }
	outage := newOutage(c.logHandler(terminal.Stderr, level), nowMs)
	logger := slog.New(outage.handler())
	running, stop := console.UntilSignal(ctx)
	defer stop()

	issuer, err := c.issuer(terminal, logger)
	if err != nil {
		return err
	}
	listener, err := listen(running, c.Listen, c.Auth != authNone || c.InsecureNoAuth)
	if err != nil {
		return err
	}
	defer listener.Close() // the server closes it too
	admin, err := c.listenAdmin(running)
	if err != nil {
		return err
	}
	defer admin.close()
	options := store.Options{KeepSchema: c.Migrate == "off", Pooler: c.Pooled, ListenURL: c.DirectDatabase, Logger: logger}
	journal := telemetry.NewJournal(logger)
	options.Observer = journal
	if admin != nil {
		options.Observer = telemetry.All{admin.metrics.Door, journal}
	}
	traces, err := c.tracing(running, terminal, logger)
	if err != nil {
		return err
	}
	defer traces.close()
	traces.watch(&options)
	opened, err := c.Open(running, options)
	if err != nil {
		return err
	}
	if err := database.CheckSecretKeys(running, opened, secretKeys); err != nil {
		return errors.Join(err, opened.Close())
	}
	keyring := auth.NewKeyring(auth.Options{
		Tokens: opened, Mode: modes[c.Auth], NewID: runs.NewID, Logger: logger, NowMs: nowMs, Issuer: issuer != nil || c.ClientCA != "",
	})
	open, err := keyring.Open(running)
	if err == nil && open && c.Auth != authNone && !isLoopback(listener) {
		err = refuseOpen(c.Listen, c.Database)
	}
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	signatures, err := c.signingKeys(running, opened, nowMs)
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	scheme := "http"
	if files != nil {
		scheme = "https"
	}
	url := reachableURL(scheme, listener)
	greet(terminal, url, c.Describe(), open, !isLoopback(listener))
	if c.ListenFile != "" {
		if err := writeListenFile(c.ListenFile, url); err != nil {
			return errors.Join(err, opened.Close())
		}
		defer func() { _ = os.Remove(c.ListenFile) }() // whoever reads it may be gone
	}
	collectLess()
	background := []func(context.Context) error{
		journal.Run, keyring.Run,
		func(ctx context.Context) error { return outage.run(ctx, opened.Ready) },
		func(ctx context.Context) error { return admin.serve(ctx, logger) },
		func(ctx context.Context) error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case <-hungUp:
					c.reload(ctx, again, files, level, logger)
				}
			}
		},
	}
	if store.IsServer(c.Database) {
		// An embedded database works on this process's processors, and waits for its disk there.
		background = append(background, useFewProcessors)
	}
	stopping := make(chan struct{})
	err = endWithin(c.ShutdownTimeout+closeTimeout, stopping, func() error {
		err := c.serve(running, stopping, listener, files, admin, traces, opened, keyring, issuer, signatures, secretKeys, egress.Guard{Allow: allowed}, review, logger, background)
		if closing := opened.Close(); closing != nil {
			err = errors.Join(err, fmt.Errorf("close the database: %w", closing))
		}
		return err
	})
	logger.InfoContext(ctx, "stopped")
	return err
}

func (c *Command) check() error {
	switch {
	case c.DirectDatabase != "" && !c.Pooled:
		return console.Usage("--direct-database needs --pooled")
	case c.Pooled && c.DirectDatabase == "" && c.Migrate == "on":
		return console.Usage("--pooled needs --direct-database for the migrations, or --migrate=off")
	case c.InsecureNoAuth && c.Auth != authNone:
		return console.Usage("--insecure-no-auth needs --auth=none")
	case min(c.LimitRate, c.LimitBurst, c.LimitCalls, c.LimitStreams, c.LimitBytes, c.LimitPrompts, c.LimitQueuedRuns) < -1 || c.LimitBurst < 0:
		return console.Usage("--limit-rate, --limit-calls, --limit-streams, --limit-bytes, --limit-prompts and --limit-queued-runs must be at least 1, or -1 for no limit, and --limit-burst at least 1")
	case c.LimitBytes > 0 && c.LimitBytes < wire.DefaultMaxBodyBytes:
		return console.Usage("--limit-bytes must be at least %d, the longest body", wire.DefaultMaxBodyBytes)
	case c.MaxAttempts < 1:
		return console.Usage("--max-attempts must be at least 1")
	case c.IdempotencyRetention < Horizon(time.Hour):
		return console.Usage("--idempotency-retention must be at least 1h")
	case c.KeepRuns != 0 && c.KeepRuns < c.IdempotencyRetention:
		return console.Usage("--keep-runs must not be shorter than --idempotency-retention: a key that is remembered names its run")
	case c.KeepRules != 0 && c.KeepRules < Horizon(time.Hour):
		return console.Usage("--keep-rules must be at least 1h")
	case c.ShutdownTimeout <= 0:
		return console.Usage("--shutdown-timeout must be positive")
	case c.RuleMaxAge < 0:
		return console.Usage("--rule-max-age must not be negative")
	case !refusal.ValidID(c.DefaultAgent):
		return console.Usage("--default-agent must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
	}
	if err := c.checkIssuer(); err != nil {
		return err
	}
	if err := checkAllowed(c.AllowedHost, c.AllowedOrigin); err != nil {
		return err
	}
	return checkDialects(c.Dialects)
}

func (c *Command) logHandler(to io.Writer, level slog.Leveler) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.NewJSONHandler(to, options)
	}
	return slog.NewTextHandler(to, options)
}

// serve runs the server and the loops, closes stopping when that is to end, and returns when all of
// them have ended. The loops go on until the last call has been answered: they are what wakes held
// ones.
func (c *Command) serve(ctx context.Context, stopping chan<- struct{}, listener net.Listener, files *certificates, admin *admin, traces *traces, opened store.Store, keyring *auth.Keyring, issuer *oidc.Provider, signatures *signing.Keys, secretKeys *sealing.Keys, guard egress.Guard, review func(context.Context, api.JSON) error, logger *slog.Logger, background []func(context.Context) error) error {
	hub := watch.NewHub()
	defer opened.Subscribe(hub.Publish)()
	checkpoints := audit.NewCheckpointer(opened, signatures, logger)
	defer opened.Subscribe(checkpoints.Notice)()
	dispatcher := claims.New(opened, claims.Options{MaxAttempts: c.MaxAttempts, Logger: logger})
	expiry := loop.NewExpiry(opened, loop.ExpiryOptions{Logger: logger})
	effects := loop.NewEffects(opened, loop.EffectsOptions{Logger: logger, Review: review})
	retention := loop.NewRetention(opened, loop.RetentionOptions{
		Retention: time.Duration(c.IdempotencyRetention), KeepRuns: time.Duration(c.KeepRuns), KeepRules: time.Duration(c.KeepRules), Logger: logger,
	})
	inbox, err := web.New()
	if err != nil {
		return fmt.Errorf("read the pages: %w", err)
	}
	options := httpapi.Options{
		Pages: pages{inbox}, Observer: admin.observer(), Tracer: traces.calls(), LogRequests: c.LogRequests,
		Store: opened, Hub: hub, Claims: dispatcher, Version: console.Version(), Logger: logger,
		Hosts: c.AllowedHost, Origins: c.AllowedOrigin, MaxRuleAge: c.RuleMaxAge, Keyring: keyring, OIDC: issuer, Signing: signatures, Checkpoints: opened, Journal: opened, Redactor: opened, Issuer: c.ExternalURL, ClientCertificates: c.ClientCA != "", Dialects: c.mounts(signatures),
		Limits:   httpapi.Limits{Quota: wire.Quota{Rate: c.LimitRate, Burst: c.LimitBurst, Calls: c.LimitCalls, Streams: c.LimitStreams, Bytes: c.LimitBytes, Prompts: c.LimitPrompts, Queued: c.LimitQueuedRuns}},
		Backlogs: opened,
	}
	if secretKeys != nil {
		options.Sealer = secretKeys
	}
	deliverer, hooks := c.webhooks(opened, secretKeys, guard, signatures, admin, logger)
	options.Webhooks = hooks
	if review != nil {
		options.Reviewed = codex.ChangesFiles
	}
	api := httpapi.New(options)
	server := &http.Server{
		Handler: api.Handler(), ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn), TLSConfig: files.config(),
	}
	server.RegisterOnShutdown(api.Drain)
	admin.watch(opened, dispatcher, api, traces)

	looping, stopLoops := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLoops()
	// A part that fails ends the others by the group's context.
	group, failing := errgroup.WithContext(ctx)
	group.Go(func() error { return dispatcher.Run(looping) })
	group.Go(func() error { return expiry.Run(looping) })
	group.Go(func() error { return effects.Run(looping) })
	group.Go(func() error { return retention.Run(looping) })
	group.Go(func() error { return checkpoints.Run(looping) })
	group.Go(func() error { return deliverer.Run(looping) })
	for _, run := range background {
		group.Go(func() error { return run(looping) })
	}
	group.Go(func() error {
		answer := server.Serve
		if files != nil {
			answer = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
		}
		sayToSystemd(ctx, logger, daemon.SdNotifyReady)
		if err := answer(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		defer stopLoops()
		<-failing.Done()
		close(stopping)
		sayToSystemd(ctx, logger, daemon.SdNotifyStopping)
		logger.InfoContext(ctx, "stopping", slog.String("cause", context.Cause(failing).Error()))
		return c.shutDown(server, api)
	})
	return group.Wait()
}

// sayToSystemd tells the supervisor of a unit of Type=notify what the service is at. Without one it
// does nothing.
func sayToSystemd(ctx context.Context, logger *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		logger.WarnContext(ctx, "systemd was not told", slog.String("cause", err.Error()))
	}
}

// shutDown takes no more calls and waits for those in flight.
func (c *Command) shutDown(server *http.Server, api *httpapi.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	api.Drain()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("calls in flight did not finish in %s: %w", c.ShutdownTimeout, err), server.Close())
	}
	return nil
}
