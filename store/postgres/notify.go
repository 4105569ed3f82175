package postgres

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdpoint/holdpoint/runs"
)

// channel is the name under which replicas of one database talk.
const channel = "holdpoint"

// sqlNotify sends all payloads in one transaction of its own. It need not reach the
// disk before it returns: a hint may be lost.
const sqlNotify = `
SELECT pg_notify('` + channel + `', payload)
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS hint, unnest($1::text[]) AS u (payload)`

const (
	// maxPayload is below the 8,000 bytes that NOTIFY takes.
	maxPayload = 7_900
	// maxPayloads bounds what one NOTIFY tells in detail. Beyond it the others are
	// told to look for themselves.
	maxPayloads = 16
	// notifyTimeout bounds one attempt to tell the others.
	notifyTimeout = 5 * time.Second
	// notifyPause is how long the next hint waits after one was sent. At rest a hint
	// goes at once; under load the pause lets more gather.
	notifyPause = 2 * time.Millisecond
)

// hint is what a payload says of one session. The names are short because a payload
// is.
type hint struct {
	SessionID   string      `json:"s"`
	LastEventID int64       `json:"e"`
	Claimable   []claimHint `json:"c,omitempty"`
}

type claimHint struct {
	RunID   string `json:"r"`
	AgentID string `json:"a"`
	AtMs    int64  `json:"t"`
}

// message is one payload. Without hints it says: look for yourself.
type message struct {
	Replica string `json:"replica"`
	Hints   []hint `json:"hints,omitempty"`
}

// notifier tells the other replicas of this one's commits. While a NOTIFY is in
// flight, what is committed gathers for the next.
type notifier struct {
	pool    *pgxpool.Pool
	replica string
	logger  *slog.Logger
	cancel  context.CancelFunc
	done    chan struct{}
	wake    chan struct{}

	mu sync.Mutex
	// order holds the sessions of waiting in the order of their first hint.
	order   []string
	waiting map[string]runs.Notice
}

func startNotifier(pool *pgxpool.Pool, replica string, logger *slog.Logger) *notifier {
	ctx, cancel := context.WithCancel(context.Background())
	n := &notifier{
		pool: pool, replica: replica, logger: logger, cancel: cancel,
		done: make(chan struct{}), wake: make(chan struct{}, 1), waiting: map[string]runs.Notice{},
	}
	go func() {
		defer close(n.done)
		n.run(ctx)
	}()
	return n
}

// add never blocks.
func (n *notifier) add(notice runs.Notice) {
	n.mu.Lock()
	if earlier, seen := n.waiting[notice.SessionID]; seen {
		notice.Claimable = append(earlier.Claimable[:len(earlier.Claimable):len(earlier.Claimable)], notice.Claimable...)
	} else {
		n.order = append(n.order, notice.SessionID)
	}
	n.waiting[notice.SessionID] = notice
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notifier) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		n.send(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(notifyPause):
		}
	}
}

func (n *notifier) send(ctx context.Context) {
	payloads := payloadsOf(n.replica, n.take())
	if len(payloads) == 0 {
		return
	}
	// What has begun is finished also when the store is closing.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
	defer cancel()
	if _, err := n.pool.Exec(ctx, sqlNotify, payloads); err != nil {
		// The others find what was committed when they look.
		n.logger.WarnContext(ctx, "could not tell other replicas of a commit", slog.Any("error", err))
	}
}

func (n *notifier) take() []runs.Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	notices := make([]runs.Notice, 0, len(n.order))
	for _, sessionID := range n.order {
		notices = append(notices, n.waiting[sessionID])
	}
	n.order = nil
	clear(n.waiting)
	return notices
}

// close sends what is waiting and returns when the notifier has ended.
func (n *notifier) close() {
	n.cancel()
	<-n.done
	n.send(context.Background())
}

// payloadsOf packs notices into as few payloads as it can.
func payloadsOf(replica string, notices []runs.Notice) []string {
	overflow, err := json.Marshal(message{Replica: replica})
	if err != nil {
		return nil
	}
	var payloads []string
	current, size := message{Replica: replica}, len(overflow)
	flush := func() {
		if len(current.Hints) == 0 {
			return
		}
		if text, err := json.Marshal(current); err == nil {
			payloads = append(payloads, string(text))
		}
		current.Hints, size = nil, len(overflow)
	}
	for _, notice := range notices {
		h := hint{SessionID: notice.SessionID, LastEventID: notice.LastEventID}
		for _, c := range notice.Claimable {
			h.Claimable = append(h.Claimable, claimHint{RunID: c.RunID, AgentID: c.AgentID, AtMs: c.ClaimableAtMs})
		}
		text, err := json.Marshal(h)
		// The member's name and the commas come on top.
		const around = len(`,"hints":[],`)
		if err != nil || len(overflow)+len(text)+around > maxPayload {
			return []string{string(overflow)}
		}
		if size+len(text)+around > maxPayload {
			flush()
		}
		current.Hints = append(current.Hints, h)
		size += len(text) + 1
	}
	flush()
	if len(payloads) > maxPayloads {
		return []string{string(overflow)}
	}
	return payloads
}
