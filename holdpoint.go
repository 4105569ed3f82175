package holdpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/mcptools/overhttp"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store"
)

// Options configure a [Service]. The zero value suits a program on one machine: no logs,
// the schema is migrated, and the handler requires a token from every caller.
type Options struct {
	// Logger receives the service's logs; nil discards them.
	Logger *slog.Logger
	// KeepSchema skips the migration of the schema in Open.
	KeepSchema bool
	// Pooled is for Postgres behind a connection pooler in transaction mode. DirectURL then
	// addresses the server itself, for migrations and notifications; without it, set
	// KeepSchema.
	Pooled    bool
	DirectURL string
	// Anonymous lets every caller of [Service.Handler] do everything without a token. Set
	// it only if other machines cannot reach the handler.
	Anonymous bool
	// Hosts are the host names under which browsers reach the handler, in addition to
	// localhost and IP addresses.
	Hosts []string
	// Origins are other web origins whose pages may call the handler.
	Origins []string
	// ExternalURL is the public URL of the handler, for links in webhooks and as the issuer
	// of grants.
	ExternalURL string
	// SigningKeyFile holds the key that signs grants and checkpoints. Open creates it if it
	// is missing. If empty, the key is stored next to the SQLite file, or else exists only
	// in this process.
	SigningKeyFile string
	// SecretKeyFile holds the keys that encrypt sensitive values. Open creates it if it is
	// missing. Without it, requests cannot have sensitive values or callbacks.
	SecretKeyFile string
	// MaxAttempts is the number of claims without progress after which a run fails; 10 if
	// 0.
	MaxAttempts int64
	// KeepRuns is how long ended runs are kept; 0 keeps them always. At least a week,
	// because idempotency keys are remembered that long.
	KeepRuns time.Duration
}

// idempotencyRetention is how long idempotency keys are remembered.
const idempotencyRetention = 7 * 24 * time.Hour

// defaultDrainTimeout is the time that [Service.Run] gives clients to leave their connections after
// its context has ended.
const defaultDrainTimeout = 10 * time.Second

// ErrOptions is wrapped by errors about invalid or conflicting options.
var ErrOptions = errors.New("holdpoint: bad options")

// Service is holdpoint in this process. It is safe for concurrent use. Any number of
// services, in any number of processes, may share a Postgres database; a SQLite file takes
// only one.
type Service struct {
	store    store.Store
	secrets  *sealing.Keys
	logger   *slog.Logger
	assembly *service.Service
	trusted  *httpapi.Server
	inside   *service.Inside
	running  atomic.Bool
	// drainTimeout bounds how long Run waits for open connections after its context has ended.
	drainTimeout time.Duration
}

// Open opens a database, such as "sqlite:holdpoint.db", "sqlite::memory:" or
// "postgres://user@host/name", and returns a service that uses it. Call [Service.Run] to
// start its work, and [Service.Close] at the end. The error wraps [ErrOptions] if the
// options are at fault.
func Open(ctx context.Context, url string, options Options) (_ *Service, err error) {
	switch {
	case options.DirectURL != "" && !options.Pooled:
		return nil, fmt.Errorf("%w: DirectURL needs Pooled", ErrOptions)
	case options.Pooled && options.DirectURL == "" && !options.KeepSchema:
		return nil, fmt.Errorf("%w: Pooled needs DirectURL for migrations, or KeepSchema", ErrOptions)
	case options.KeepRuns != 0 && options.KeepRuns < idempotencyRetention:
		return nil, fmt.Errorf("%w: KeepRuns must be at least %s", ErrOptions, idempotencyRetention)
	case options.MaxAttempts < 0:
		return nil, fmt.Errorf("%w: MaxAttempts must be at least 1", ErrOptions)
	}
	s := &Service{logger: cmp.Or(options.Logger, slog.New(slog.DiscardHandler)), drainTimeout: defaultDrainTimeout}
	if options.SecretKeyFile != "" {
		if s.secrets, err = sealing.Load(options.SecretKeyFile); err != nil {
			return nil, fmt.Errorf("%w: SecretKeyFile: %w", ErrOptions, err)
		}
	}
	private, err := service.LoadSigningKeys(service.SigningKeyFile(options.SigningKeyFile, url))
	if err != nil {
		return nil, fmt.Errorf("%w: SigningKeyFile: %w", ErrOptions, err)
	}
	s.store, err = store.Open(ctx, url, store.Options{
		KeepSchema: options.KeepSchema, Pooler: options.Pooled, ListenURL: options.DirectURL, Logger: s.logger,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.store.Close())
		}
	}()
	if err := store.CheckSecretKeys(ctx, s.store, s.secrets); err != nil {
		return nil, err
	}
	signatures, err := service.PublishSigningKeys(ctx, private, s.store)
	if err != nil {
		return nil, err
	}
	mode := auth.Required
	if options.Anonymous {
		mode = auth.None
	}
	keyring := auth.NewKeyring(auth.Options{Tokens: s.store, Mode: mode, NewID: runs.NewID, Logger: s.logger, NowMs: service.NowMs})
	if _, err := keyring.Open(ctx); err != nil {
		return nil, err
	}
	shown, err := service.Pages()
	if err != nil {
		return nil, err
	}
	s.assembly = service.New(service.Options{
		Options: httpapi.Options{
			Logger: s.logger, Keyring: keyring, Signing: signatures,
			Version: version(), OpenAPIYAML: openAPIYAML, OpenAPIJSON: openAPIJSON, Pages: shown,
			Faces: []kit.Mount{
				overhttp.New(overhttp.Options{Version: version(), Signing: signatures, NowMs: service.NowMs, ExternalURL: options.ExternalURL}),
				service.Documents(Documents(), openAPIJSON),
			},
			Hosts: options.Hosts, Origins: options.Origins,
		},
		Store: s.store, SecretKeys: s.secrets, ExternalURL: options.ExternalURL,
		IntakeInterval: intakeInterval,
		MaxAttempts:    cmp.Or(options.MaxAttempts, defaultMaxAttempts), IdempotencyRetention: idempotencyRetention, KeepRuns: options.KeepRuns,
	})
	s.trusted = s.assembly.Trusted()
	s.inside = service.NewInside(s.trusted.Handler())
	return s, nil
}

const defaultMaxAttempts = 10

// version returns the version of this module in the program.
func version() string {
	built, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	for _, module := range append(built.Deps, &built.Main) {
		if module.Path == "github.com/holdpoint/holdpoint" && module.Version != "" {
			return module.Version
		}
	}
	return "dev"
}

// Run runs the background work: it hands runs to workers, expires requests, delivers
// webhooks and deletes old rows. It returns nil once ctx has ended, or the error of a part
// that failed. Before it returns, it answers held calls with their current state and ends
// streams. The handler and the client work until [Service.Close], but no longer hold calls.
// Call Run once.
func (s *Service) Run(ctx context.Context) error {
	if s.running.Swap(true) {
		return errors.New("holdpoint: Run was called before")
	}
	looping, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, failing := errgroup.WithContext(ctx)
	for _, run := range s.assembly.Loops() {
		group.Go(func() error { return run(looping) })
	}
	group.Go(func() error {
		return service.ReloadSecretKeys(looping, s.secrets, func(err error) {
			s.logger.LogAttrs(looping, slog.LevelError, "the secret keys are the ones of before", slog.String("cause", err.Error()))
		})
	})
	group.Go(func() error {
		defer stop()
		<-failing.Done()
		// The loops still run, because they wake held calls.
		s.drain()
		waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drainTimeout)
		defer cancel()
		// A client that does not leave is not a failure of the service: Close ends its calls.
		if err := s.assembly.API.WaitConnections(waiting); err != nil {
			s.logger.LogAttrs(waiting, slog.LevelWarn, "connections for calls stay open after the end of the service",
				slog.Duration("waited", s.drainTimeout), slog.String("cause", err.Error()))
		}
		return nil
	})
	return group.Wait()
}

func (s *Service) drain() {
	s.assembly.API.Drain()
	s.trusted.Drain()
}

// Handler returns the inbox, the API under /v1, MCP and the documents. Serve it at the root
// of a host, because its pages use absolute paths. Unless [Options.Anonymous] is set, each
// call needs a token; create one with [client.Client.CreateToken] of [Service.Client].
func (s *Service) Handler() http.Handler { return s.assembly.API.Handler() }

// Client returns a client that calls the service in this process, without a socket. It
// needs no token and may do everything. [client.WithActor] sets the name to record with its
// decisions.
func (s *Service) Client(options ...client.Option) (*client.Client, error) {
	inside := client.WithHTTPClient(&http.Client{Transport: s.inside})
	return client.New("http://localhost", append([]client.Option{inside}, options...)...)
}

// Worker returns a worker for the runs of the service in this process.
func (s *Service) Worker(options client.WorkerOptions) (*client.Worker, error) {
	caller, err := s.Client()
	if err != nil {
		return nil, err
	}
	return client.NewWorker(caller, options)
}

// Close ends calls of clients in this process and closes the database. First end
// [Service.Run] and shut down the server of [Service.Handler].
func (s *Service) Close() error {
	s.drain()
	s.inside.Close()
	s.assembly.Close()
	return s.store.Close()
}
