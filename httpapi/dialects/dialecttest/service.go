package dialecttest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// Service is a complete service with a dialect, over HTTP.
type Service struct {
	Server *httptest.Server
	API    *httpapi.Server
	Store  runs.Store
	Client *http.Client
	// Stop drains the service and leaves the store open. The end of the test calls it as well.
	Stop func()
}

// Serve starts a service with a dialect, nil for none, on a store.
func Serve(tb testing.TB, store runs.Store, mount kit.Mount, change ...func(*httpapi.Options)) *Service {
	tb.Helper()
	hub, silent := watch.NewHub(), slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	dispatcher := claims.New(store, claims.Options{ScanInterval: 20 * time.Millisecond, Logger: silent})
	done := make(chan error, 1)
	go func() { done <- dispatcher.Run(ctx) }()
	unsubscribe := store.Subscribe(hub.Publish)
	options := httpapi.Options{Store: store, Hub: hub, Claims: dispatcher, Version: "v0-test"}
	if mount != nil {
		options.Faces = []kit.Mount{mount}
	}
	options.Limits.Quota = wire.Quota{Rate: -1, Calls: -1, Held: -1}
	for _, apply := range change {
		apply(&options)
	}
	s := &Service{API: httpapi.New(options), Store: store}
	s.Server = httptest.NewServer(s.API.Handler())
	transport := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
	s.Client = &http.Client{Transport: transport}
	s.Stop = sync.OnceFunc(func() {
		s.API.Drain()
		transport.CloseIdleConnections()
		s.Server.Close()
		unsubscribe()
		cancel()
		require.NoError(tb, <-done)
	})
	tb.Cleanup(s.Stop)
	return s
}

// RunLoops expires requests and carries out effects until the service stops.
func (s *Service) RunLoops(tb testing.TB) {
	tb.Helper()
	silent := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	for _, run := range []func(context.Context) error{
		loop.NewExpiry(s.Store, loop.ExpiryOptions{Logger: silent}).Run,
		loop.NewEffects(s.Store, loop.EffectsOptions{Logger: silent}).Run,
	} {
		go func() { done <- run(ctx) }()
	}
	stop := s.Stop
	s.Stop = sync.OnceFunc(func() {
		stop()
		cancel()
		for range cap(done) {
			require.NoError(tb, <-done)
		}
	})
	tb.Cleanup(s.Stop)
}
