package postgres

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/runs/reads"
)

const (
	minReconnect = 50 * time.Millisecond
	maxReconnect = 10 * time.Second
	// listenCheck is how long silence may last before the connection is checked.
	listenCheck = 30 * time.Second
	// listenTimeout bounds beginning to listen, once each host had its time to connect.
	listenTimeout = time.Minute
)

// Hears reports whether hints of other replicas' commits arrive. Otherwise waiting callers must
// poll.
func (s *Store) Hears() bool { return s.listener != nil }

// KnownMs implements reads.Presence. A replica that does not listen cannot know of others.
func (s *Store) KnownMs() int64 {
	if s.listener == nil {
		return 0
	}
	return s.notifier.audience.knownMs()
}

// OthersServe implements reads.Presence.
func (s *Store) OthersServe() bool { return s.listener == nil || !s.notifier.audience.absent() }

// listener receives the hints of other replicas on its own connection.
type listener struct {
	config  *pgx.ConnConfig
	timeout time.Duration // to connect and begin to listen
	replica string
	publish func(reads.Notice)
	// notifier records greetings, and while they can be heard.
	notifier *notifier
	logger   *slog.Logger
	cancel   context.CancelFunc
	done     chan struct{}
}

func startListener(config *pgx.ConnConfig, notifier *notifier, publish func(reads.Notice), logger *slog.Logger) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{
		config: config, timeout: listenTimeout + time.Duration(1+len(config.Fallbacks))*config.ConnectTimeout, replica: notifier.replica, publish: publish, notifier: notifier, logger: logger, cancel: cancel, done: make(chan struct{}),
	}
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

// run listens until the context ends. It reconnects with growing delays.
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

// listen returns when the connection is lost, and whether it was ever listening.
func (l *listener) listen(ctx context.Context) (listened bool, err error) {
	beginning, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	config := l.config.Copy()
	readCredentials(config)
	conn, err := pgx.ConnectConfig(beginning, config)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	defer l.notifier.audience.listening(0)
	if err := l.begin(beginning, conn); err != nil {
		return false, err
	}
	// Earlier commits sent no hint to this connection.
	l.publish(reads.Notice{})
	for {
		if err := l.waitForNotification(ctx, conn); err != nil {
			return true, err
		}
	}
}

// begin makes a connection listen and greets the other replicas.
func (l *listener) begin(ctx context.Context, conn *pgx.Conn) error {
	var pid int32
	if err := conn.QueryRow(ctx, sqlMarkListener, pgx.QueryExecModeExec).Scan(&pid); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, sqlListen, pgx.QueryExecModeExec); err != nil {
		return err
	}
	l.notifier.audience.listening(pid)
	if _, err := conn.Exec(ctx, sqlNotify, pgx.QueryExecModeExec, greeting(l.replica)); err != nil {
		return err
	}
	l.notifier.wakeUp()
	return nil
}

// waitForNotification publishes one notification, or pings the server after a long silence.
func (l *listener) waitForNotification(ctx context.Context, conn *pgx.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	notification, err := conn.WaitForNotification(waiting)
	switch {
	case err == nil:
		l.publishPayload(notification.Payload)
		return nil
	case ctx.Err() == nil && errors.Is(waiting.Err(), context.DeadlineExceeded) && !conn.IsClosed():
		trying, cancel := context.WithTimeout(ctx, notifyTimeout)
		defer cancel()
		return conn.Ping(trying)
	}
	return err
}

// publishPayload publishes the hints of a payload. An unreadable payload may come from another
// version of this program: it only says that something was committed.
func (l *listener) publishPayload(payload string) {
	var m message
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		l.publish(reads.Notice{})
		return
	}
	if m.Replica == l.replica {
		return
	}
	if m.Greets {
		l.notifier.greet()
		return
	}
	if m.Told != nil {
		l.notifier.hear(m.Told)
		return
	}
	if len(m.Hints) == 0 {
		l.publish(reads.Notice{})
		return
	}
	for _, h := range m.Hints {
		notice := reads.Notice{
			SessionID: h.SessionID, Life: h.Life, LastEventID: h.LastEventID, FirstEventID: h.FirstEventID, Prompts: h.Prompts,
		}
		for _, c := range h.Claimable {
			notice.Claimable = append(notice.Claimable, reads.Claimable{
				RunID: c.RunID, SessionID: h.SessionID, AgentID: c.AgentID, ClaimableAtMs: c.AtMs, Principal: c.Principal, HolderPrincipal: c.HolderPrincipal,
			})
		}
		l.publish(notice)
	}
}
