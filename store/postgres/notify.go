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
	// notifyAgain is the pause after a NOTIFY that failed.
	notifyAgain = 500 * time.Millisecond
)

// hint is what a payload says of one session. The names are short because a payload
// is.
type hint struct {
	SessionID   string `json:"s"`
	LastEventID int64  `json:"e"`
	// FirstEventID is 0 when the commits had no events.
	FirstEventID int64       `json:"f,omitzero"`
	Prompts      bool        `json:"p,omitzero"`
	Claimable    []claimHint `json:"c,omitempty"`
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

	// untold says that the last NOTIFY failed. Only send uses it.
	untold bool
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
	// Only this process has the events.
	notice.Events = nil
	n.mu.Lock()
	if earlier, seen := n.waiting[notice.SessionID]; seen {
		notice.FirstEventID = firstOf(earlier.FirstEventID, notice.FirstEventID)
		notice.LastEventID = max(earlier.LastEventID, notice.LastEventID)
		notice.Prompts = notice.Prompts || earlier.Prompts
		notice.Claimable = append(earlier.Claimable[:len(earlier.Claimable):len(earlier.Claimable)], notice.Claimable...)
	} else {
		n.order = append(n.order, notice.SessionID)
	}
	n.waiting[notice.SessionID] = notice
	n.mu.Unlock()
	n.again()
}

// firstOf returns the smaller of two ids of events, of which 0 is none.
func firstOf(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func (n *notifier) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		pause := notifyPause
		if !n.send(ctx) {
			pause = notifyAgain
			n.again()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// send reports whether the others were told. When they were not, the next message
// tells them to look for themselves, because nothing else says what they missed.
func (n *notifier) send(ctx context.Context) (told bool) {
	notices := n.take()
	payloads := payloadsOf(n.replica, notices)
	if n.untold {
		payloads = lookForYourselves(n.replica)
	}
	if len(payloads) == 0 {
		return true
	}
	// What has begun is finished also when the store is closing.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
	defer cancel()
	_, err := n.pool.Exec(ctx, sqlNotify, payloads)
	if n.untold = err != nil; n.untold {
		n.logger.WarnContext(ctx, "could not tell other replicas of a commit", slog.Any("error", err))
	}
	return !n.untold
}

// again makes the next turn come although nothing is committed.
func (n *notifier) again() {
	select {
	case n.wake <- struct{}{}:
	default:
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
	overflow := lookForYourselves(replica)
	if overflow == nil {
		return nil
	}
	empty := len(overflow[0])
	var payloads []string
	current, size := message{Replica: replica}, empty
	flush := func() {
		if len(current.Hints) == 0 {
			return
		}
		if text, err := json.Marshal(current); err == nil {
			payloads = append(payloads, string(text))
		}
		current.Hints, size = nil, empty
	}
	for _, notice := range notices {
		h := hint{
			SessionID: notice.SessionID, LastEventID: notice.LastEventID,
			FirstEventID: notice.FirstEventID, Prompts: notice.Prompts,
		}
		for _, c := range notice.Claimable {
			h.Claimable = append(h.Claimable, claimHint{RunID: c.RunID, AgentID: c.AgentID, AtMs: c.ClaimableAtMs})
		}
		text, err := json.Marshal(h)
		// The member's name and the commas come on top.
		const around = len(`,"hints":[],`)
		if err != nil || empty+len(text)+around > maxPayload {
			return overflow
		}
		if size+len(text)+around > maxPayload {
			flush()
		}
		current.Hints = append(current.Hints, h)
		size += len(text) + 1
	}
	flush()
	if len(payloads) > maxPayloads {
		return overflow
	}
	return payloads
}

// lookForYourselves is the payload without hints.
func lookForYourselves(replica string) []string {
	text, err := json.Marshal(message{Replica: replica})
	if err != nil {
		return nil
	}
	return []string{string(text)}
}
