// Package store chooses an engine by a database URL. It knows the engines but not their tables;
// everything after the opening goes through [runs.Store].
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
	"unicode"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/sqlite"
	"github.com/holdpoint/holdpoint/webhooks"
)

// ErrURL is wrapped by the error of a URL that names no database. No error of this
// package shows a password.
var ErrURL = errors.New("not a database URL: use sqlite:path/to/file.db, sqlite::memory: or postgres://user@host/name")

// Options configure a store.
type Options struct {
	// KeepSchema leaves the schema as it is. Otherwise Open migrates it.
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
	// NotifyAfter is how long a request is open before people are notified; never if 0.
	NotifyAfter time.Duration
	// NotifyAddressed notifies people only while somebody has a verified address.
	NotifyAddressed bool
	// Escalations are the settings of escalations; nil for none.
	Escalations *escalation.Settings
	// DefaultExpiry is the deadline of requests that are raised without one; none if 0.
	DefaultExpiry time.Duration
	// Logger logs failed transactions and lost connections. Default: no logging.
	Logger *slog.Logger
	// Observer observes the door. Default: none.
	Observer door.Observer
	// Tracer makes spans of commands and transactions, and StatementTracer of statements sent to
	// Postgres. Default: none.
	Tracer          door.Tracer
	StatementTracer postgres.StatementTracer
}

// location is a parsed URL: a path for SQLite or a URL for Postgres.
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
		case path != strings.TrimSpace(path) || strings.ContainsFunc(path, unicode.IsControl):
			// From a secret or a file that ends in a newline: it would be another, new database.
			return location{}, fmt.Errorf("%w (there is a line break, a control character or a space around its path)", ErrURL)
		case strings.HasPrefix(path, ":") && path != sqlite.Memory:
			return location{}, fmt.Errorf("%w (there is only sqlite::memory:)", ErrURL)
		}
		return location{path: path}, nil
	case "postgres", "postgresql":
		// The error of url.Parse repeats the text, which may contain a password.
		if _, err := url.Parse(text); err != nil || !strings.HasPrefix(rest, "//") {
			return location{}, fmt.Errorf("%w (it cannot be read; are special characters in its password escaped?)", ErrURL)
		}
		return location{url: text}, nil
	}
	return location{}, ErrURL
}

// CheckURL returns an error that wraps ErrURL unless the URL names a database. It opens nothing.
func CheckURL(url string) error {
	_, err := locate(url)
	return err
}

// FileOf returns the path of a URL's SQLite file, "" for other URLs.
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

// Store is an engine: it stores decisions, tokens, the public keys of signatures, and
// checkpoints.
type Store interface {
	runs.Store
	auth.Tokens
	signing.Keeper
	audit.CheckpointRows
	journal.Rows
	upkeep.Redactor
	upkeep.Rewrapper
	webhooks.Store
	// DueDeliveries returns a webhook's due deliveries, DueCallbacks those to callbacks; see
	// hooks.Endpoints.
	DueDeliveries(ctx context.Context, webhookID string, limit int) ([]reads.DueEffect, error)
	DueCallbacks(ctx context.Context, except []string, limit int) ([]reads.DueEffect, error)
	notify.Store
	// DueNotices returns the messages that a channel is to send.
	DueNotices(ctx context.Context, channel string, limit int) ([]reads.DueEffect, error)
	// OrphanNotices returns the messages of other channels that are due for graceMs.
	OrphanNotices(ctx context.Context, channels []string, graceMs int64, limit int) ([]reads.DueEffect, error)
	// Intake returns the runs that programs asked for in transactions of their own; nil if the
	// engine takes none.
	Intake() upkeep.Intake
	// RefreshWebhooks makes later decisions use the current webhooks.
	RefreshWebhooks(ctx context.Context) error
	// Lanes and Pools return the state of the door and of the connections.
	Lanes() []door.LaneState
	// Backlogs counts each principal's pending work.
	Backlogs(ctx context.Context) ([]model.Backlog, error)
	Pools() []door.PoolState
}

// Open opens the database of a URL. It returns an error that wraps ErrURL if the URL names none,
// sqlite.ErrInUse if another process has the file, migrations.ErrSchemaAhead if the schema is newer
// than this program knows, migrations.ErrSchemaBehind if it is older and KeepSchema is set,
// migrations.ErrSchemaUnreleased if it is older than the first release, or the engine's own error.
func Open(ctx context.Context, url string, options Options) (Store, error) {
	at, err := locate(url)
	if err != nil {
		return nil, err
	}
	deciding := door.Options{
		Observer: options.Observer, Tracer: options.Tracer,
		NotifyAfter: options.NotifyAfter, NotifyAddressed: options.NotifyAddressed, DefaultExpiry: options.DefaultExpiry,
		Escalations: options.Escalations,
	}
	if at.path != "" {
		opened, err := sqlite.Open(ctx, at.path, sqlite.Options{
			NowMs: options.NowMs, Readers: options.Connections, KeepSchema: options.KeepSchema, Logger: options.Logger,
			Door: deciding,
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
		Door: deciding, StatementTracer: options.StatementTracer,
	})
	if err != nil {
		return nil, err
	}
	err = opened.Ready(ctx)
	if err == nil {
		// Ready accepts a newer schema, on which a program may continue but not start.
		err = opened.CheckSchema(ctx)
	}
	if err != nil {
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

// CheckExists returns an error that wraps sqlite.ErrMissing if a URL names an SQLite file that does not
// exist, or as for Open. It opens nothing.
func CheckExists(url string) error {
	at, err := locate(url)
	if err != nil || at.path == "" {
		return err
	}
	return sqlite.CheckExists(at.path)
}

// SchemaStatus returns every step of the schema of a URL's database, and whether it is applied.
// It is read-only, even for a missing database, and may run next to services. Errors: as for
// Open.
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

// Connected returns the number of service connections to the database of a URL from other
// processes. SQLite has none: one process owns the file.
func Connected(ctx context.Context, url string) (int, error) {
	at, err := locate(url)
	if err != nil || at.path != "" {
		return 0, err
	}
	return postgres.Connected(ctx, at.url)
}

// ErrNoBackup is returned for a database that Backup does not copy.
var ErrNoBackup = errors.New("only an SQLite file is copied here; back up Postgres with its own tools (pg_dump, pg_basebackup)")

// Backup copies the SQLite file of a URL to a new file, even while a service uses it, and
// returns the size of the copy, which it has verified by reading. Errors: as for Open,
// ErrNoBackup, [fs.ErrExist], or why it failed; then no copy is left.
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

// Describe says where the data of a URL is, without passwords.
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
	return strings.TrimSpace("Postgres " + WithoutPassword(at.url))
}

// WithoutPassword returns the URL of a Postgres database without its passwords, "" if it cannot be parsed.
func WithoutPassword(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return ""
	}
	query := parsed.Query()
	query.Del("password")
	query.Del("sslpassword")
	parsed.RawQuery = query.Encode()
	return parsed.Redacted()
}
