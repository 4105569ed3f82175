// Package store chooses an engine by the URL of a database. It knows the engines
// and nothing of what is in their tables; everything after the opening goes through
// [runs.Store].
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/committer"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/sqlite"
	"github.com/holdpoint/holdpoint/webhooks"
)

// ErrURL is wrapped by the error of a URL that names no database. No error of this
// package shows a password.
var ErrURL = errors.New("not a database URL: use sqlite:path/to/file.db, sqlite::memory: or postgres://user@host/name")

// Options are what whoever opens a store may choose.
type Options struct {
	// KeepSchema leaves the schema as it is. Otherwise it is brought up to date first.
	KeepSchema bool
	// Connections bounds the connections that reads use, the engine's default when 0.
	Connections int
	// Pooler and ListenURL are for Postgres behind a proxy that pools by transaction;
	// see postgres.Options.
	Pooler    bool
	ListenURL string
	// NowMs replaces the clock of SQLite, in milliseconds since the epoch, for tests.
	// Postgres decides by the database's clock and refuses it.
	NowMs func() int64
	// NotifyAfter is how long a request is open before people are told of it; never when 0.
	NotifyAfter time.Duration
	// Logger is told of failed transactions and lost connections. Nobody when nil.
	Logger *slog.Logger
	// Observer is told what the committer does. Nobody when nil.
	Observer committer.Observer
	// Tracer makes spans of commands and transactions, and StatementTracer of what is sent to
	// Postgres. Nobody does when nil.
	Tracer          committer.Tracer
	StatementTracer postgres.StatementTracer
}

// location is a URL taken apart: a path for SQLite or a URL for Postgres.
type location struct {
	path string
	url  string
}

// locate reads a URL. The error wraps ErrURL.
func locate(text string) (location, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch scheme {
	case "sqlite":
		path := strings.TrimPrefix(rest, "//")
		switch {
		case path == "":
			return location{}, fmt.Errorf("%w (it names no file)", ErrURL)
		case strings.ContainsAny(path, "?#"):
			return location{}, fmt.Errorf("%w (an SQLite file takes no options)", ErrURL)
		case strings.HasPrefix(path, ":") && path != sqlite.Memory:
			return location{}, fmt.Errorf("%w (there is only sqlite::memory:)", ErrURL)
		}
		return location{path: path}, nil
	case "postgres", "postgresql":
		// The error of url.Parse repeats the text, and the text may hold a password.
		if _, err := url.Parse(text); err != nil || !strings.HasPrefix(rest, "//") {
			return location{}, fmt.Errorf("%w (it cannot be read; are special characters in its password escaped?)", ErrURL)
		}
		return location{url: text}, nil
	}
	return location{}, ErrURL
}

// FileOf returns the path of the SQLite file that a URL names, "" when it names none.
func FileOf(url string) string {
	if at, err := locate(url); err == nil && at.path != sqlite.Memory {
		return at.path
	}
	return ""
}

// IsServer reports whether a URL names a database that another process serves. It is false for a URL
// that cannot be read.
func IsServer(text string) bool {
	at, err := locate(text)
	return err == nil && at.url != ""
}

// Store is an engine: it keeps what is decided, the tokens of those who decide, the public keys
// of what is signed, and checkpoints.
type Store interface {
	runs.Store
	auth.Tokens
	signing.Keeper
	audit.CheckpointRows
	journal.Rows
	runs.Redactor
	runs.Rewrapper
	webhooks.Store
	// DueDeliveries returns what a webhook is owed, DueCallbacks what callbacks are; see hooks.Endpoints.
	DueDeliveries(ctx context.Context, webhookID string, limit int) ([]runs.DueEffect, error)
	DueCallbacks(ctx context.Context, except []string, limit int) ([]runs.DueEffect, error)
	notify.Store
	// DueNotices returns the messages that a channel is to send.
	DueNotices(ctx context.Context, channel string, limit int) ([]runs.DueEffect, error)
	// RefreshWebhooks makes decisions from now on owe what the webhooks of now want.
	RefreshWebhooks(ctx context.Context) error
	// Lanes and Pools say what the committer and the connections are at.
	Lanes() []committer.LaneState
	// Backlogs says what each principal has waiting.
	Backlogs(ctx context.Context) ([]model.Backlog, error)
	Pools() []committer.PoolState
}

// Open opens the database that a URL names. It returns an error that wraps ErrURL
// when it names none, sqlite.ErrInUse when another process has the file,
// migrations.ErrSchemaBehind or migrations.ErrSchemaAhead when the schema is not the
// one that this program knows and was not to be changed, migrations.ErrSchemaUnreleased
// when it is from before the first release, or the engine's own.
func Open(ctx context.Context, url string, options Options) (Store, error) {
	at, err := locate(url)
	if err != nil {
		return nil, err
	}
	if at.path != "" {
		opened, err := sqlite.Open(ctx, at.path, sqlite.Options{
			NowMs: options.NowMs, Readers: options.Connections, KeepSchema: options.KeepSchema, Logger: options.Logger,
			Committer: committer.Options{Observer: options.Observer, Tracer: options.Tracer, NotifyAfter: options.NotifyAfter},
		})
		if err != nil {
			return nil, err
		}
		return opened, nil
	}
	if options.NowMs != nil {
		return nil, errors.New("a Postgres store decides by the clock of its database")
	}
	opened, err := postgres.Open(ctx, at.url, postgres.Options{
		Migrate: !options.KeepSchema, ReadConnections: options.Connections,
		Pooler: options.Pooler, ListenURL: options.ListenURL, Logger: options.Logger,
		Committer: committer.Options{Observer: options.Observer, Tracer: options.Tracer, NotifyAfter: options.NotifyAfter}, StatementTracer: options.StatementTracer,
	})
	if err != nil {
		return nil, err
	}
	// A program must not work on a schema that it does not know.
	if err := opened.Ready(ctx); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// Migrate hands the migrator of the database that a URL names to a function, and
// returns the function's error or the reason why the database could not be opened;
// see Open. For Postgres the URL must reach the server itself and not a proxy that
// pools by transaction.
func Migrate(ctx context.Context, url string, do func(*migrations.Migrator) error) (err error) {
	at, err := locate(url)
	if err != nil {
		return err
	}
	if at.path != "" {
		return sqlite.Migrate(ctx, at.path, do)
	}
	db, err := postgres.OpenDB(at.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	migrator, err := migrations.New(db, migrations.Postgres, nil)
	if err != nil {
		return err
	}
	return do(migrator)
}

// SchemaStatus returns every step of the schema of the database that a URL names, and whether it
// is applied. It writes nothing, also not to a database that is not there yet, and may run beside
// services. Errors: as those of Open.
func SchemaStatus(ctx context.Context, url string) (steps []migrations.Migration, err error) {
	at, err := locate(url)
	if err != nil {
		return nil, err
	}
	if at.path != "" {
		return sqlite.SchemaStatus(ctx, at.path)
	}
	err = Migrate(ctx, url, func(m *migrations.Migrator) error {
		steps, err = m.Status(ctx)
		return err
	})
	return steps, err
}

// Connected returns how many connections services have to the database that a URL names, other
// than this process. On SQLite there are none: one process has the file.
func Connected(ctx context.Context, url string) (int, error) {
	at, err := locate(url)
	if err != nil || at.path != "" {
		return 0, err
	}
	return postgres.Connected(ctx, at.url)
}

// ErrNoBackup is returned for a database that Backup does not copy.
var ErrNoBackup = errors.New("only an SQLite file is copied here; back up Postgres with its own tools (pg_dump, pg_basebackup)")

// Backup copies the SQLite file that a URL names to a file that is not there yet, also while a
// service works on it, and returns the size of the copy. The copy was read to its end. Errors:
// those of Open, ErrNoBackup, [fs.ErrExist], or why it failed; then nothing is left.
func Backup(ctx context.Context, url, to string) (bytes int64, err error) {
	at, err := locate(url)
	switch {
	case err != nil:
		return 0, err
	case at.path == "" || at.path == sqlite.Memory:
		return 0, ErrNoBackup
	}
	return sqlite.Backup(ctx, at.path, to)
}

// Describe says where the data of a URL is, in words for people and without any
// password.
func Describe(text string) string {
	at, err := locate(text)
	switch {
	case err != nil:
		return "no database"
	case at.path == sqlite.Memory:
		return "in memory, gone when this process ends"
	case at.path != "":
		if path, err := filepath.Abs(at.path); err == nil {
			return "SQLite file " + path
		}
		return "SQLite file " + at.path
	}
	parsed, err := url.Parse(at.url)
	if err != nil {
		return "Postgres"
	}
	query := parsed.Query()
	query.Del("password")
	query.Del("sslpassword")
	parsed.RawQuery = query.Encode()
	return "Postgres " + parsed.Redacted()
}
