// Package inprocess is the vocabulary of tests that run a whole service in the process of the
// test: [Start] opens a store and serves every face of it over HTTP, with the loops of "holdpoint
// serve". A test can look at the rows of such a service and run several replicas of it, and
// cannot kill it; for that there is test/rig.
//
// Only tests import it. It must not know what they test.
package inprocess

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint"
	hpapi "github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/v1/hooks"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/webhooks"
	"github.com/holdpoint/holdpoint/webhooks/deliver"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// Memory is the URL of an SQLite database in memory.
const Memory = "sqlite::memory:"

// Options change how a service is run.
type Options struct {
	Store store.Options
	// WithoutExpiry leaves out the loop that expires requests, so that the test says when a
	// deadline is noticed.
	WithoutExpiry bool
	// Sealer encrypts sensitive values; without one there may be none.
	Sealer runs.Sealer
	// WebhookGuard says which addresses webhooks may call; the zero value those that are public.
	WebhookGuard egress.Guard
	// Channels are the ways in which people are told; Store.NotifyAfter says when.
	Channels map[string]notify.Channel
	// OnCall are the on-call sources, which Store.Escalations names.
	OnCall map[string]notify.OnCall
	// ExternalURL is for the links in messages.
	ExternalURL string
	// NowMs is the clock of addresses and links; nil for the machine's.
	NowMs func() int64
	// Logger gets what the service logs; nil discards it.
	Logger *slog.Logger
	// Tracer makes the spans of calls; nil for none.
	Tracer wire.Tracer
	// Closed requires tokens of the service's Keyring.
	Closed bool
	// Quota limits each principal; nil for no limit of calls, because tests make as many as they can.
	Quota *wire.Quota
	// Faces returns additional faces with the given keys.
	Faces func(signatures *signing.Keys) []kit.Mount
}

// Service is a running service.
type Service struct {
	URL   string
	Store runs.Store
	// Keyring makes tokens; nil unless the service is closed.
	Keyring *auth.Keyring
	// Notify sends the messages, and finds their links.
	Notify *notify.Service
	tb     testing.TB
}

// Start serves a database until the test ends. The store that it opens is closed with it.
func Start(tb testing.TB, database string, options Options) *Service {
	tb.Helper()
	logger := cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	if options.NowMs == nil {
		options.NowMs = func() int64 { return time.Now().UnixMilli() }
	}
	options.Store.Logger = logger
	opened, err := store.Open(context.Background(), database, options.Store)
	require.NoError(tb, err)
	hub := watch.NewHub()
	unsubscribe := opened.Subscribe(hub.Publish)
	dispatcher := claims.New(opened, claims.Options{Logger: logger})
	private, err := signing.Generate()
	require.NoError(tb, err)
	signatures, err := signing.New([]ed25519.PrivateKey{private}, opened, func() int64 { return time.Now().UnixMilli() })
	require.NoError(tb, err)
	require.NoError(tb, signatures.Publish(context.Background()))
	var keyring *auth.Keyring
	if options.Closed {
		keyring = auth.NewKeyring(auth.Options{
			Tokens: opened, Mode: auth.Required, NewID: runs.NewID, Logger: logger, NowMs: func() int64 { return time.Now().UnixMilli() },
		})
	}
	served := dialects.All(dialects.Options{})
	if options.Faces != nil {
		served = append(served, options.Faces(signatures)...)
	}
	manager := webhooks.NewManager(webhooks.Options{
		Store: opened, Sealer: options.Sealer, CheckURL: options.WebhookGuard.CheckURL, NewID: runs.NewID,
		NowMs: func() int64 { return time.Now().UnixMilli() },
	})
	directory := keyringDirectory{keyring}
	var api *httpapi.Server
	people := notify.New(notify.Options{
		Store: opened, Reader: opened, Channels: options.Channels, ExternalURL: options.ExternalURL, NewID: runs.NewID,
		NowMs: options.NowMs, Logger: logger, Changed: opened.RefreshWebhooks,
		Deciders: func(ctx context.Context, run *model.Run, request *model.Request) ([]string, error) {
			collector := explain.Collector{Reader: opened, Whole: opened, NowMs: opened.NowMs, Directory: directory}
			return collector.MayDecide(ctx, run, request)
		},
		Identities: keyring.MayDecide, Escalations: options.Store.Escalations, OnCall: options.OnCall,
		HasCredential: keyring.MayStillDecide,
		Decide:        func(ctx context.Context, command runs.Command) error { return api.Decide(ctx, command) },
		ByLink: func(ctx context.Context, principal string, run *model.Run) (*auth.Identity, error) {
			return keyring.ByLink(ctx, principal, func(i *auth.Identity) bool {
				scope := reads.ScopeOf(i)
				return scope.FitsRun(run)
			})
		},
		Reach: func(context.Context, string) ([]reads.Scope, error) { return nil, nil },
	})
	effects := loop.EffectsOptions{Logger: logger}
	var notices deliver.Notices
	if options.Channels != nil {
		effects.Recipients, notices = people.Recipients, people
	}
	caller := egress.New(egress.Options{Guard: options.WebhookGuard})
	deliverer := deliver.New(opened, deliver.Options{
		Manager: manager, Client: caller, Logger: logger, Notices: notices,
		Callbacks: deliver.Callbacks{Sealer: options.Sealer, Sign: signatures.Sign, Issuer: httpapi.GrantIssuer("")},
	})
	quota := wire.Quota{Rate: -1, Calls: -1, Held: -1}
	if options.Quota != nil {
		quota = *options.Quota
	}
	api = httpapi.New(httpapi.Options{
		OpenAPIYAML: holdpoint.OpenAPIYAML(), OpenAPIJSON: holdpoint.OpenAPIJSON(),
		Limits: httpapi.Limits{Quota: quota},
		Webhooks: &hooks.Service{
			Manager: manager,
			Changed: func(ctx context.Context) error {
				deliverer.Wake()
				return opened.RefreshWebhooks(ctx)
			},
			Test: func(ctx context.Context, e *webhooks.Endpoint) (hpapi.WebhookTest, error) {
				return deliverer.Test(ctx, e, runs.NewID)
			},
		},
		Notify:      people,
		Checkpoints: opened, Journal: opened, Redactor: opened,
		Signing: signatures, Keyring: keyring, Sealer: options.Sealer, LogRequests: options.Logger != nil, Tracer: options.Tracer,
		Store: opened, Hub: hub, Claims: dispatcher, Logger: logger,
		Faces: served,
	})
	loops := []func(context.Context) error{
		dispatcher.Run,
		loop.NewEffects(opened, effects).Run,
		loop.NewRetention(opened, loop.RetentionOptions{Logger: logger}).Run,
		deliverer.Run,
	}
	if !options.WithoutExpiry {
		loops = append(loops, loop.NewExpiry(opened, loop.ExpiryOptions{Logger: logger}).Run)
	}
	loops = append(loops, people.Listeners()...)
	looping, stop := context.WithCancel(context.Background())
	ended := make(chan error, len(loops))
	for _, run := range loops {
		go func() { ended <- run(looping) }()
	}
	server := httptest.NewServer(api.Handler())
	tb.Cleanup(func() {
		api.Drain()
		server.Close()
		unsubscribe()
		stop()
		for range loops {
			// A test may close the store while the loops run.
			if err := <-ended; !errors.Is(err, runs.ErrClosed) {
				require.NoError(tb, err)
			}
		}
		caller.Close()
		require.NoError(tb, opened.Close())
	})
	return &Service{URL: server.URL, Store: opened, Keyring: keyring, Notify: people, tb: tb}
}

// Connect returns a client of the service, which is closed before the service ends.
func (s *Service) Connect(options ...client.Option) *client.Client {
	s.tb.Helper()
	c, err := client.New(s.URL, options...)
	require.NoError(s.tb, err)
	s.tb.Cleanup(c.Close)
	return c
}

// keyringDirectory is a keyring that may be nil: then the service asks nobody for a credential.
type keyringDirectory struct{ *auth.Keyring }

// Open implements explain.Directory.
func (d keyringDirectory) Open(ctx context.Context) (bool, error) {
	if d.Keyring == nil {
		return true, nil
	}
	return d.Keyring.Open(ctx)
}
