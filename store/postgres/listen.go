package postgres

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/runs"
)

const (
	minReconnect = 50 * time.Millisecond
	maxReconnect = 10 * time.Second
	// listenCheck is how long silence may last before the connection is tried.
	listenCheck = 30 * time.Second
)

// Hears reports whether other replicas' commits are heard of. Otherwise whoever waits
// for one must look.
func (s *Store) Hears() bool { return s.listener != nil }

// listener hears of other replicas' commits on a connection of its own.
type listener struct {
	config  *pgx.ConnConfig
	replica string
	tell    func(runs.Notice)
	logger  *slog.Logger
	cancel  context.CancelFunc
	done    chan struct{}
}

func startListener(config *pgx.ConnConfig, replica string, tell func(runs.Notice), logger *slog.Logger) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{config: config, replica: replica, tell: tell, logger: logger, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.run(ctx)
	}()
	return l
}

func (l *listener) close() {
	l.cancel()
	<-l.done
}

// run listens until the context ends, and connects again, ever more slowly, when
// the connection is lost.
func (l *listener) run(ctx context.Context) {
	wait := minReconnect
	for {
		listened, err := l.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if listened {
			wait = minReconnect
		}
		l.logger.WarnContext(ctx, "not listening to other replicas", slog.Any("error", err), slog.Duration("retry_in", wait))
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait)):
		}
		wait = min(wait*2, maxReconnect)
	}
}

// listen returns when the connection is lost, and whether there was one.
func (l *listener) listen(ctx context.Context) (listened bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, sqlListen, pgx.QueryExecModeExec); err != nil {
		return false, err
	}
	// Whatever was committed before nobody told.
	l.tell(runs.Notice{})
	for {
		if err := l.next(ctx, conn); err != nil {
			return true, err
		}
	}
}

// next passes on one notification, or tries the connection after a long silence.
func (l *listener) next(ctx context.Context, conn *pgx.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	notification, err := conn.WaitForNotification(waiting)
	switch {
	case err == nil:
		l.pass(notification.Payload)
		return nil
	case ctx.Err() == nil && errors.Is(waiting.Err(), context.DeadlineExceeded) && !conn.IsClosed():
		trying, cancel := context.WithTimeout(ctx, notifyTimeout)
		defer cancel()
		return conn.Ping(trying)
	}
	return err
}

// pass tells what a payload says. One that cannot be read may come from another
// version of this program; it says at least that something happened.
func (l *listener) pass(payload string) {
	var m message
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		l.tell(runs.Notice{})
		return
	}
	if m.Replica == l.replica {
		return
	}
	if len(m.Hints) == 0 {
		l.tell(runs.Notice{})
		return
	}
	for _, h := range m.Hints {
		notice := runs.Notice{
			SessionID: h.SessionID, LastEventID: h.LastEventID, FirstEventID: h.FirstEventID, Prompts: h.Prompts,
		}
		for _, c := range h.Claimable {
			notice.Claimable = append(notice.Claimable, runs.Claimable{
				RunID: c.RunID, SessionID: h.SessionID, AgentID: c.AgentID, ClaimableAtMs: c.AtMs,
			})
		}
		l.tell(notice)
	}
}
