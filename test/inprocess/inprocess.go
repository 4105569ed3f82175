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
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// A read on a busy machine may take longer than a service waits for a database that hangs.
func init() { read.Timeout = time.Minute }

// Memory is the URL of an SQLite database in memory.
const Memory = "sqlite::memory:"

// Options change how a service is run.
type Options struct {
	Store store.Options
	// WithoutExpiry leaves out the loop that expires requests, so that the test says when a
	// deadline is noticed.
	WithoutExpiry bool
	// Sealer encrypts sensitive values; without one there may be none.
	Sealer *sealing.Keys
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
	// Keyring makes tokens, which only a closed service requires.
	Keyring *auth.Keyring
	// Notify sends the messages, and finds their links.
	Notify *notify.Service
	tb     testing.TB
}

// Start serves a database until the test ends. The store that it opens is closed with it.
func Start(tb testing.TB, database string, options Options) *Service {
	tb.Helper()
	logger := cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	options.Store.Logger = logger
	opened, err := store.Open(context.Background(), database, options.Store)
	require.NoError(tb, err)
	private, err := signing.Generate()
	require.NoError(tb, err)
	signatures, err := signing.New([]ed25519.PrivateKey{private}, opened, service.NowMs)
	require.NoError(tb, err)
	require.NoError(tb, signatures.Publish(context.Background()))
	mode := auth.None
	if options.Closed {
		mode = auth.Required
	}
	keyring := auth.NewKeyring(auth.Options{Tokens: opened, Mode: mode, NewID: runs.NewID, Logger: logger, NowMs: service.NowMs})
	faces := dialects.All(dialects.Options{})
	if options.Faces != nil {
		faces = append(faces, options.Faces(signatures)...)
	}
	quota := wire.Quota{Rate: -1, Calls: -1, Held: -1}
	if options.Quota != nil {
		quota = *options.Quota
	}
	assembled := service.New(service.Options{
		Options: httpapi.Options{
			Logger: logger, Keyring: keyring, Signing: signatures,
			OpenAPIYAML: holdpoint.OpenAPIYAML(), OpenAPIJSON: holdpoint.OpenAPIJSON(), Faces: faces,
			LogRequests: options.Logger != nil, Tracer: options.Tracer, Limits: httpapi.Limits{Quota: quota},
		},
		Store: opened, ExternalURL: options.ExternalURL, SecretKeys: options.Sealer,
		WebhookGuard: options.WebhookGuard, CallbackGuard: options.WebhookGuard,
		Channels: options.Channels, Escalations: options.Store.Escalations, OnCall: options.OnCall, NowMs: options.NowMs,
	})
	loops := assembled.Loops()
	if options.WithoutExpiry {
		loops = loops[1:]
	}
	looping, stop := context.WithCancel(context.Background())
	ended := make(chan error, len(loops))
	for _, run := range loops {
		go func() { ended <- run(looping) }()
	}
	server := httptest.NewServer(assembled.API.Handler())
	tb.Cleanup(func() {
		assembled.API.Drain()
		server.Close()
		assembled.Close()
		stop()
		for range loops {
			// A test may close the store while the loops run.
			if err := <-ended; !errors.Is(err, runs.ErrClosed) {
				require.NoError(tb, err)
			}
		}
		require.NoError(tb, opened.Close())
	})
	return &Service{URL: server.URL, Store: opened, Keyring: keyring, Notify: assembled.People, tb: tb}
}

// Connect returns a client of the service, which is closed before the service ends.
func (s *Service) Connect(options ...client.Option) *client.Client {
	s.tb.Helper()
	c, err := client.New(s.URL, options...)
	require.NoError(s.tb, err)
	s.tb.Cleanup(c.Close)
	return c
}
