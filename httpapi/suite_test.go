package httpapi_test

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// maxTestBody is small so that tests can reach it quickly.
const maxTestBody = 64 << 10

// rig is one running service and a client that holds everything that passes
// through it to openapi.yaml.
type rig struct {
	server   *httptest.Server
	handler  *httpapi.Server
	store    runs.Store
	client   *http.Client
	contract *contract
	// channel is the channel that notifies people.
	channel *fakeChannel
}

// openers open a fresh store of each engine.
var openers = map[string]func(testing.TB) runs.Store{
	"sqlite":   openSQLite,
	"postgres": openPostgres,
}

// onEngines runs a test on an empty store of each engine, next to others.
func onEngines(t *testing.T, test func(t *testing.T, store runs.Store)) {
	t.Helper()
	t.Parallel()
	for engine, open := range openers {
		parallel(t, engine, func(t *testing.T) { test(t, open(t)) })
	}
}

func openPostgres(tb testing.TB) runs.Store {
	tb.Helper()
	store, err := postgres.Open(context.Background(), postgrestest.URL(tb), postgres.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}

func openSQLite(tb testing.TB) runs.Store {
	tb.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Memory, sqlite.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}

// serve starts the service on a store.
func serve(tb testing.TB, store runs.Store, contract *contract, change ...func(*httpapi.Options)) *rig {
	tb.Helper()
	hub := watch.NewHub()
	var keys *sealing.Keys
	dispatcher := claims.New(store, claims.Options{
		ScanInterval: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Opens: func(dataKey string) bool { return keys == nil || keys.Opens(dataKey) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- dispatcher.Run(ctx) }()
	unsubscribe := store.Subscribe(hub.Publish)

	options := httpapi.Options{
		OpenAPIYAML: holdpoint.OpenAPIYAML(), OpenAPIJSON: holdpoint.OpenAPIJSON(),
		Store: store, Hub: hub, Claims: dispatcher, Version: "v0-test",
		Limits: httpapi.Limits{MaxBodyBytes: maxTestBody, Quota: wire.Quota{Rate: -1, Calls: -1, Held: -1}, Patience: -1},
	}
	if keeper, keeps := store.(signing.Keeper); keeps {
		options.Signing = newSigning(tb, keeper)
	}
	if rows, keeps := store.(audit.CheckpointRows); keeps {
		options.Checkpoints = rows
	}
	if rows, keeps := store.(journal.Rows); keeps {
		options.Journal = rows
	}
	if redactor, keeps := store.(upkeep.Redactor); keeps {
		options.Redactor = redactor
	}
	options.Sealer = secretKeys(tb)
	if tokens, keeps := store.(auth.Tokens); keeps {
		options.Keyring = newKeyring(tokens, auth.None)
	}
	if kept, keeps := store.(webhookStore); keeps {
		options.Webhooks = newWebhooks(tb, kept, options.Sealer)
	}
	channel := &fakeChannel{sent: map[string]*notify.Message{}}
	if kept, keeps := store.(notify.Store); keeps {
		options.Notify = newNotify(kept, store, channel)
	}
	for _, apply := range change {
		apply(&options)
	}
	keys, _ = options.Sealer.(*sealing.Keys)
	handler := httpapi.New(options)
	server := httptest.NewServer(handler.Handler())
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	tb.Cleanup(func() {
		handler.Drain()
		transport.CloseIdleConnections()
		server.Close()
		unsubscribe()
		cancel()
		require.NoError(tb, <-done)
	})
	a := &rig{server: server, handler: handler, store: store, contract: contract, channel: channel}
	a.client = &http.Client{Transport: &checkedTransport{next: transport, contract: contract, tb: tb}}
	return a
}

// newKeyring returns a keyring with the clock of the machine.
func newKeyring(tokens auth.Tokens, mode auth.Mode) *auth.Keyring {
	return auth.NewKeyring(auth.Options{
		Tokens: tokens, Mode: mode, NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() },
	})
}

// newSigning creates and publishes the keys of a replica.
func newSigning(tb testing.TB, keeper signing.Keeper) *signing.Keys {
	tb.Helper()
	private, err := signing.Generate()
	require.NoError(tb, err)
	keys, err := signing.New([]ed25519.PrivateKey{private}, keeper, func() int64 { return time.Now().UnixMilli() })
	require.NoError(tb, err)
	if _, broken := keeper.(*brokenStore); !broken {
		require.NoError(tb, keys.Publish(tb.Context()))
	}
	return keys
}

// carryOutEffects runs the effects loop on a store until the end of the test.
func carryOutEffects(tb testing.TB, store runs.Store) {
	tb.Helper()
	inBackground(tb, loop.NewEffects(store, loop.EffectsOptions{Logger: slog.New(slog.DiscardHandler)}).Run)
}

// expire runs the sweep on a store until the end of the test.
func expire(tb testing.TB, store runs.Store) {
	tb.Helper()
	inBackground(tb, loop.NewExpiry(store, loop.ExpiryOptions{Logger: slog.New(slog.DiscardHandler)}).Run)
}

func inBackground(tb testing.TB, run func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		require.NoError(tb, <-done)
	})
}

// parallel runs a case in parallel with the others.
func parallel(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(t)
	})
}

// name returns a fresh id.
func (a *rig) name(prefix string) string {
	return prefix + "-" + runs.NewID("t")
}

// TestAPI runs every case on every engine, and then checks that they reached every
// status of every operation and every problem code.
func TestAPI(t *testing.T) {
	t.Parallel()
	for engine, open := range openers {
		parallel(t, engine, func(t *testing.T) {
			contract := newContract(t)
			service := serve(t, open(t), contract)
			carryOutEffects(t, service.store)
			t.Run("cases", func(t *testing.T) {
				for _, group := range []struct {
					name string
					run  func(*testing.T, *rig)
				}{
					{"sessions", testSessions},
					{"runs", testRuns},
					{"held", testHeldReplies},
					{"work", testWork},
					{"suspend", testSuspend},
					{"retry", testRetry},
					{"attached", testAttached},
					{"approvals", testApprovals},
					{"questions", testQuestions},
					{"clarifications", testClarifications},
					{"clarifications that end otherwise", testClarificationsEndOtherwise},
					{"mailbox", testMailbox},
					{"effects", testEffects},
					{"rules", testRules},
					{"idempotency", testIdempotency},
					{"lists", testLists},
					{"history", testHistory},
					{"explain", testExplain},
					{"explained rules", testExplainRules},
					{"acknowledgement", testAcknowledgement},
					{"events", testEvents},
					{"streams", testStreams},
					{"faults of bodies", testFaultsOfBodies},
					{"refusals", testRefusals},
					{"operations", testOperations},
					{"tokens", testTokens},
					{"webhooks", testWebhooks},
					{"notifications", testNotifications},
					{"keys", testKeys},
					{"audit", testAudit},
					{"redaction", testRedaction},
					{"secrets", testSecrets},
					{"grants", testGrants},
				} {
					parallel(t, group.name, func(t *testing.T) {
						group.run(t, service)
					})
				}
				parallel(t, "an issuer", func(t *testing.T) { testIssuer(t, open(t), contract) })
				parallel(t, "quotas", func(t *testing.T) { testQuotas(t, open(t), contract) })
				parallel(t, "backlogs", func(t *testing.T) { testBacklogs(t, open(t), contract) })
				parallel(t, "too many webhooks", func(t *testing.T) { testTooManyWebhooks(t, serve(t, open(t), contract)) })
				parallel(t, "sessions that are full", func(t *testing.T) { testFull(t, open(t), contract) })
				parallel(t, "a service that asks for tokens", func(t *testing.T) { testClosed(t, open(t), contract) })
			})
			if !t.Failed() && !partial(t) {
				contract.requireCovered(t)
			}
		})
	}
}

// partial reports whether -run asked for some of the cases only, in which case the
// coverage of the contract says nothing.
func partial(t *testing.T) bool {
	t.Helper()
	return strings.Count(runFlag(), "/") > 1
}
