// Package postgrestest gives each test a fresh database with the schema on a real Postgres. It uses
// the first of these that is available:
//
//  1. the server that HOLDPOINT_TEST_POSTGRES_URL names,
//  2. the binaries of an installation (on PATH or where distributions put them),
//     started for this test process alone,
//  3. a container, if a docker daemon answers.
//
// Otherwise the test is skipped with a message, or fails under CI.
//
// A package that uses it ends its server in TestMain:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }
//
// It is for tests and benchmarks only. It knows only the migrations of the project.
package postgrestest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdpoint/holdpoint/migrations"
)

// URLVariable names the environment variable with the URL of a server to use. Its
// user must be allowed to create databases.
const URLVariable = "HOLDPOINT_TEST_POSTGRES_URL"

// Option changes the database of URL.
type Option func(*kind)

// Durable asks for a server that flushes to disk before it acknowledges, as in
// production. Benchmarks want it; tests are faster without. A server that
// HOLDPOINT_TEST_POSTGRES_URL names is used as it is.
func Durable() Option { return func(k *kind) { k.durable = true } }

// Empty asks for a database without the schema.
func Empty() Option { return func(k *kind) { k.empty = true } }

type kind struct{ durable, empty bool }

// setUpTimeout bounds the start of a server and the making of a database.
const setUpTimeout = 2 * time.Minute

// URL returns the URL of a fresh database, which is dropped when the test ends. If
// the test failed it is kept, and its URL is logged.
func URL(tb testing.TB, options ...Option) string {
	tb.Helper()
	var k kind
	for _, option := range options {
		option(&k)
	}
	ctx, cancel := context.WithTimeout(context.Background(), setUpTimeout)
	defer cancel()

	s, err := servers.get(ctx, k.durable)
	if errors.Is(err, errNoPostgres) {
		unavailable(tb, err)
	}
	if err != nil {
		tb.Fatalf("start Postgres: %v", err)
	}
	name, err := s.createDatabase(ctx, k.empty)
	if err != nil {
		tb.Fatalf("create a test database: %v", err)
	}
	dsn := s.urlOf(name)
	tb.Cleanup(func() {
		if tb.Failed() {
			s.keep()
			tb.Logf("the database of this test is kept: %s", dsn)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), setUpTimeout)
		defer cancel()
		if err := s.exec(ctx, "DROP DATABASE "+quote(name)+" WITH (FORCE)"); err != nil {
			tb.Errorf("drop the test database: %v", err)
		}
	})
	return dsn
}

func unavailable(tb testing.TB, err error) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatalf("THIS TEST NEEDS POSTGRES: %v", err)
	}
	fmt.Fprintf(os.Stderr, "\n*** SKIPPED: %s NEEDS POSTGRES: %v ***\n\n", tb.Name(), err)
	tb.Skipf("no Postgres: %v", err)
}

// Wrap returns m with a Run that stops the servers of the tests. It fits goleak's
// VerifyTestMain.
func Wrap(m *testing.M) *Main { return &Main{m: m} }

// Main runs the tests of a package and then stops its servers.
type Main struct{ m *testing.M }

// Run implements TestMain's m.Run. It returns the exit code.
func (m *Main) Run() int {
	// The heaps of tests are small, so the garbage collector would take a fifth of the CPU. A GOGC
	// of the environment has precedence.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	code := m.m.Run()
	if err := servers.stop(); err != nil {
		fmt.Fprintf(os.Stderr, "stop the test Postgres: %v\n", err)
		code = max(code, 1)
	}
	return code
}

// errNoPostgres means that no source of a server is available.
var errNoPostgres = errors.New("no " + URLVariable + ", no Postgres binaries, no docker daemon")

// errNoBinaries: this machine has no installation of Postgres.
var errNoBinaries = errors.New("no Postgres binaries")

// servers are the servers of this test process.
var servers pool

type pool struct {
	mu      sync.Mutex
	started map[bool]*server // by durable
	failed  map[bool]error
}

func (p *pool) get(ctx context.Context, durable bool) (*server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.started[durable]; s != nil {
		return s, nil
	}
	if err := p.failed[durable]; err != nil {
		return nil, err
	}
	s, err := start(ctx, durable)
	if err != nil {
		if p.failed == nil {
			p.failed = map[bool]error{}
		}
		p.failed[durable] = err
		return nil, err
	}
	if p.started == nil {
		p.started = map[bool]*server{}
	}
	p.started[durable] = s
	return s, nil
}

func (p *pool) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var failures []error
	for durable, s := range p.started {
		failures = append(failures, s.stop())
		delete(p.started, durable)
	}
	return errors.Join(failures...)
}

// start climbs the ladder.
func start(ctx context.Context, durable bool) (*server, error) {
	if dsn := os.Getenv(URLVariable); dsn != "" {
		return newServer(dsn)
	}
	s, err := startLocal(ctx, durable)
	if !errors.Is(err, errNoBinaries) {
		return s, err
	}
	return startContainer(ctx, durable)
}

// server is a running Postgres.
type server struct {
	admin *url.URL
	// end stops the server, if this process started it; keep leaves its data.
	end  func(keep bool) error
	kept bool
	// shutDown and remove are the two steps of end, for callers that need the data in between.
	shutDown, remove func() error
	// strategy is how CREATE DATABASE copies a template, "" for the server's default.
	strategy string

	mu       sync.Mutex
	template string
	// connection is for administration.
	connection *pgx.Conn
}

func newServer(dsn string) (*server, error) {
	admin, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("%s is not a URL", URLVariable)
	}
	return &server{admin: admin}, nil
}

func (s *server) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connection != nil {
		_ = s.connection.Close(context.Background())
	}
	if s.end == nil {
		return nil
	}
	return s.end(s.kept)
}

func (s *server) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = true
}

func (s *server) urlOf(database string) string {
	u := *s.admin
	u.Path = "/" + database
	return u.String()
}

// exec sends a statement to the server.
func (s *server) exec(ctx context.Context, sql string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.execLocked(ctx, sql)
}

func (s *server) execLocked(ctx context.Context, sql string) (err error) {
	if s.connection == nil || s.connection.IsClosed() {
		if s.connection, err = pgx.Connect(ctx, s.admin.String()); err != nil {
			return err
		}
	}
	_, err = s.connection.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

// createDatabase creates a fresh database and returns its name.
func (s *server) createDatabase(ctx context.Context, empty bool) (string, error) {
	name := "holdpoint_test_" + randomText()
	if empty {
		return name, s.exec(ctx, "CREATE DATABASE "+quote(name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.template == "" {
		template, err := s.makeTemplate(ctx)
		if err != nil {
			return "", fmt.Errorf("template: %w", err)
		}
		s.template = template
	}
	create := "CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(s.template)
	if s.strategy != "" {
		create += " STRATEGY " + s.strategy
	}
	return name, s.execLocked(ctx, create)
}

// templateLock keeps test processes that share a server from making the template
// at the same time.
const templateLock = 0x74656d706c617465

// makeTemplate creates the template of all databases, unless it exists. Its name depends on its
// migrations, and it gets the name once it is complete.
func (s *server) makeTemplate(ctx context.Context) (string, error) {
	digest, err := migrations.Digest(migrations.Postgres)
	if err != nil {
		return "", err
	}
	name := "holdpoint_template_" + digest[:16]

	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return "", err
	}
	// The end of the connection is the end of the lock.
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(templateLock)); err != nil {
		return "", err
	}
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil || there {
		return name, err
	}
	draft := "holdpoint_draft_" + randomText()
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+quote(draft)); err != nil {
		return "", err
	}
	if err := migrate(ctx, s.urlOf(draft)); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+quote(draft)+" RENAME TO "+quote(name))
	return name, err
}

func migrate(ctx context.Context, dsn string) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	migrator, err := migrations.New(db, migrations.Postgres, nil)
	if err != nil {
		return err
	}
	_, err = migrator.Up(ctx)
	return err
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func randomText() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
