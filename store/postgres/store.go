package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/hooks"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/retain"
	"github.com/holdpoint/holdpoint/store/tokens"
)

// StatementTracer makes spans of a driver's statements.
type StatementTracer = pgx.QueryTracer

// Options configure a Store. Zero members have the documented defaults.
type Options struct {
	// Migrate migrates the schema first.
	Migrate bool
	// Pooler says that the URL leads to a proxy that pools by transaction, such as pgbouncer.
	// Connections then keep no state between transactions: settings go with each transaction,
	// and statements are not prepared by name unless the URL's default_query_exec_mode says so.
	// LISTEN and migrations need ListenURL.
	Pooler bool
	// ListenURL reaches the server directly, for LISTEN and migrations. Default: the URL, or
	// none with Pooler.
	ListenURL string
	// NoListen disables commit hints to and from other replicas. Waiting callers must then poll.
	NoListen bool
	// ReadConnections bounds the connections that reads use. Default: the URL's
	// pool_max_conns, else 16.
	ReadConnections int
	// StatementTracer makes spans of statements. Default: none.
	StatementTracer StatementTracer
	// Door configures the door. The store sets its Announce.
	Door door.Options
	// Logger logs lost connections and failed transactions. Default: no logging.
	Logger *slog.Logger
}

const (
	defaultLanes           = 2
	defaultReadConnections = 16
)

// Store is the engine. It implements runs.Store and is safe for concurrent use.
type Store struct {
	*read.Reader
	*tokens.Keeper
	*hooks.Endpoints
	*retain.Retention
	door.Subscribers

	door     *door.Door
	lanes    *pgxpool.Pool
	reads    *pgxpool.Pool
	readsSQL *sql.DB
	migrator *migrations.Migrator
	// notifier and listener are nil with NoListen.
	notifier *notifier
	listener *listener
	closing  sync.Once
	closed   error
}

var (
	_ runs.Store  = (*Store)(nil)
	_ auth.Tokens = (*Store)(nil)
)

// Open connects to a database and starts the store. The URL is a postgres:// URL or
// a key-value DSN as libpq knows them. It returns an error when the URL is wrong,
// the server does not answer within the context, advisory locks do nothing there
// ([ErrNoLocks]), or a migration fails. The store must be closed.
func Open(ctx context.Context, url string, options Options) (*Store, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	options.Door.Lanes = cmp.Or(max(options.Door.Lanes, 0), defaultLanes)
	if options.ListenURL == "" && !options.Pooler {
		options.ListenURL = url
	}
	s := &Store{}
	if err := s.connect(ctx, url, options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if options.Migrate {
		if err := migrate(ctx, cmp.Or(options.ListenURL, url), options.Logger); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if !options.NoListen {
		if err := s.startNotices(options); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	options.Door.Announce = s.announce
	options.Door.Values, options.Door.Rules, options.Door.Webhooks = s, s, s
	options.Door.Logger = cmp.Or(options.Door.Logger, options.Logger)
	s.door = door.New(&engine{lanes: s.lanes, reads: s.reads, localSettings: options.Pooler}, options.Door)
	return s, nil
}

// connect creates the two pools and checks that the server answers.
func (s *Store) connect(ctx context.Context, url string, options Options) error {
	lanes, err := poolConfig(url, options)
	if err != nil {
		return err
	}
	// Two connections per lane, for its batches and for work outside of them, and one for the
	// notices.
	lanes.MaxConns = 2*int32(options.Door.Lanes) + 1
	// A lane detects a dead connection itself, and replaces it. A ping before each use would
	// cost a round trip.
	lanes.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	lanes.BeforeConnect = func(_ context.Context, config *pgx.ConnConfig) error {
		readCredentials(config)
		neverCancel(config)
		return nil
	}
	lanes.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		registerArrays(conn.TypeMap())
		if options.Pooler {
			return nil
		}
		_, err := conn.Exec(ctx, sqlSessionSettings)
		return err
	}
	lanes.ConnConfig.DialFunc = failpoint.Dial("lanes", lanes.ConnConfig.DialFunc)
	if s.lanes, err = pgxpool.NewWithConfig(ctx, lanes); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	reads, err := poolConfig(url, options)
	if err != nil {
		return err
	}
	if options.ReadConnections > 0 {
		reads.MaxConns = int32(options.ReadConnections)
	}
	if !options.Pooler {
		reads.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, sqlReadSettings)
			return err
		}
	}
	reads.ConnConfig.DialFunc = failpoint.Dial("reads", reads.ConnConfig.DialFunc)
	if s.reads, err = pgxpool.NewWithConfig(ctx, reads); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	if err := s.lanes.Ping(ctx); err != nil {
		return fmt.Errorf("connect to database: %w", err)
	}
	if err := proveLocks(ctx, s.lanes, !options.Pooler); err != nil {
		return err
	}
	s.Reader = read.New(database{s.reads}, &readStatements, int(reads.MaxConns))
	s.Keeper = tokens.New(database{s.reads}, s, &tokenStatements)
	s.Endpoints = hooks.New(database{s.reads}, s, hookParts)
	s.Retention = retain.New(s.alone, s.NowMs, &retention, &redaction)
	s.readsSQL = stdlib.OpenDBFromPool(s.reads)
	s.migrator, err = migrations.New(s.readsSQL, migrations.Postgres, options.Logger)
	return err
}

// errNoCancel is why a connection of a lane asks for no cancellation.
var errNoCancel = errors.New("a deciding transaction is not cancelled")

// neverCancel keeps the driver from cancelling a statement when its caller gives up. A cancelled
// COMMIT that waits for a synchronous standby would succeed as if the standby had it: the
// decision could be read, and repeated calls would see it, but losing the primary would undo it.
// All other waits of a deciding transaction end by the server's own time-outs.
func neverCancel(config *pgx.ConnConfig) {
	var connected atomic.Bool
	dial, after := config.DialFunc, config.AfterConnect
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			return nil, errNoCancel
		}
		return dial(ctx, network, address)
	}
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		connected.Store(true)
		if after == nil {
			return nil
		}
		return after(ctx, conn)
	}
}

// parseURL parses a URL. To connect takes 10 s at most, unless the URL says otherwise.
func parseURL(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// pgx leaves the password out of its parse errors.
		return nil, fmt.Errorf("database URL: %w", err)
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	return config, nil
}

func poolConfig(url string, options Options) (*pgxpool.Config, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	// The settings of a pool do not say whether the URL has them.
	parameters, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if _, given := parameters.RuntimeParams["pool_max_conns"]; !given {
		config.MaxConns = defaultReadConnections
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = applicationName
	}
	config.BeforeConnect = func(_ context.Context, config *pgx.ConnConfig) error {
		readCredentials(config)
		return nil
	}
	config.ConnConfig.Tracer = options.StatementTracer
	if options.Pooler && config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return config, nil
}

// OpenDB opens the database for the migrations, which need the server itself and
// not a proxy that pools by transaction. The caller closes the handle.
func OpenDB(url string) (*sql.DB, error) {
	config, err := connConfig(url)
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}

// connConfig parses a URL for a connection outside of the pools, without pool settings.
func connConfig(url string) (*pgx.ConnConfig, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	return config.ConnConfig, nil
}

func migrate(ctx context.Context, url string, logger *slog.Logger) (err error) {
	db, err := OpenDB(url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	migrator, err := migrations.New(db, migrations.Postgres, logger)
	if err != nil {
		return err
	}
	_, err = migrator.Up(ctx)
	return err
}

// Do implements runs.Door.
func (s *Store) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	return s.door.Do(ctx, command)
}

// HandOver lets a taker claim runs in the transactions that make them claimable, until stop is
// called.
func (s *Store) HandOver(to runs.Taker) (stop func()) { return s.door.HandOver(to) }

// Lanes returns the state of each lane of the door.
func (s *Store) Lanes() []door.LaneState { return s.door.Lanes() }

// RefreshWebhooks makes later decisions use the current webhooks.
func (s *Store) RefreshWebhooks(ctx context.Context) error { return s.door.RefreshWebhooks(ctx) }

// Pools returns how the connections of lanes and of reads are used.
func (s *Store) Pools() []door.PoolState {
	state := func(name string, pool *pgxpool.Pool) door.PoolState {
		stat := pool.Stat()
		return door.PoolState{
			Name: name, InUse: int(stat.AcquiredConns()), Idle: int(stat.IdleConns()), Max: int(stat.MaxConns()),
			Waits: stat.EmptyAcquireCount(), Waited: stat.EmptyAcquireWaitTime(),
		}
	}
	return []door.PoolState{state("lanes", s.lanes), state("reads", s.reads)}
}

// CheckSchema returns an error unless the schema is exactly the one known to this program; see
// [migrations.Migrator.Check].
func (s *Store) CheckSchema(ctx context.Context) error { return s.migrator.Check(ctx) }

// Ready implements runs.Instance. Its errors wrap migrations.ErrSchemaBehind,
// migrations.ErrSchemaUnreleased or runs.ErrUnavailable.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.door.Stalled(); err != nil {
		return err
	}
	// First, because all calls of a standby fail, whatever its schema is.
	var standby bool
	if err := s.reads.QueryRow(ctx, sqlStandby).Scan(&standby); err != nil {
		return readFailure(ctx, err)
	}
	if standby {
		return &runs.NotReadyError{Detail: "the database server takes no writes: is it a standby?", Err: runs.ErrUnavailable}
	}
	err := s.CheckSchema(ctx)
	switch {
	case err == nil, errors.Is(err, migrations.ErrSchemaAhead):
		// While a newer program migrates, only the replicas of this one may be able to serve.
		return nil
	case errors.Is(err, migrations.ErrSchemaBehind), errors.Is(err, migrations.ErrSchemaUnreleased):
		return &runs.NotReadyError{Detail: err.Error(), Err: err}
	}
	return readFailure(ctx, err)
}

// announce publishes a commit in this process, and soon to the others.
func (s *Store) announce(notice reads.Notice) {
	s.Publish(notice)
	if s.notifier != nil {
		notice.Claimable = s.door.ForOthers(notice.Claimable)
		s.notifier.add(notice)
	}
}

// startNotices starts sending hints to other replicas and, if the server can be reached
// directly, receiving theirs.
func (s *Store) startNotices(options Options) error {
	replica := runs.NewID("replica")
	if options.ListenURL == "" {
		s.notifier = startNotifier(tellOn(s.lanes), replica, nil, options.Logger)
		return nil
	}
	config, err := connConfig(options.ListenURL)
	if err != nil {
		return err
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = applicationName
	}
	s.notifier = startNotifier(tellOn(s.lanes), replica, newAudience(s.lanes), options.Logger)
	s.listener = startListener(config, s.notifier, s.Publish, options.Logger)
	return nil
}

// Close implements upkeep.Keeper.
func (s *Store) Close() error {
	s.closing.Do(func() {
		if s.door != nil && !s.door.Close() {
			// A lane keeps its connection, for which the pools would wait.
			s.closed = fmt.Errorf("close: %w", cmp.Or(s.door.Stalled(), runs.ErrUnavailable))
			return
		}
		if s.notifier != nil {
			s.notifier.close()
		}
		if s.listener != nil {
			s.listener.close()
		}
		if s.readsSQL != nil {
			s.closed = s.readsSQL.Close()
		}
		for _, pool := range []*pgxpool.Pool{s.lanes, s.reads} {
			if pool != nil {
				pool.Close()
			}
		}
	})
	return s.closed
}
