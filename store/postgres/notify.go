package postgres

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdpoint/holdpoint/runs/reads"
)

const (
	// maxPayload is below NOTIFY's limit of 8,000 bytes.
	maxPayload = 7_900
	// maxPayloads bounds the payloads of one NOTIFY. Beyond it the other replicas read the rows.
	maxPayloads = 16
	// notifyTimeout bounds one NOTIFY.
	notifyTimeout = 5 * time.Second
	// notifyPause is the delay of the next hint after a NOTIFY; quietPause is the delay if no
	// worker waits for it. An idle replica sends a hint immediately. Under load the delay
	// collects hints, because each NOTIFY is a transaction that wakes every replica.
	notifyPause = 2 * time.Millisecond
	quietPause  = 15 * time.Millisecond
	// notifyRetryPause is the pause after a NOTIFY that failed.
	notifyRetryPause = 500 * time.Millisecond
)

// hint is the part of a payload about one session. Short names keep the payload small.
type hint struct {
	SessionID   string `json:"s"`
	Life        string `json:"l,omitzero"`
	LastEventID int64  `json:"e"`
	// FirstEventID is 0 if the commits had no events.
	FirstEventID int64       `json:"f,omitzero"`
	Prompts      bool        `json:"p,omitzero"`
	Claimable    []claimHint `json:"c,omitempty"`
}

type claimHint struct {
	RunID           string `json:"r"`
	AgentID         string `json:"a"`
	AtMs            int64  `json:"t"`
	Principal       string `json:"p,omitempty"`
	HolderPrincipal string `json:"h,omitempty"`
}

// message is one payload. Without any other member it says that hints were lost: read the rows.
type message struct {
	Replica string `json:"replica"`
	// Greets says that the replica has begun to listen.
	Greets bool   `json:"greets,omitzero"`
	Hints  []hint `json:"hints,omitempty"`
	// Told is set in a telling, which has no hints. Older versions of this program take one for lost hints.
	Told *telling `json:"told,omitzero"`
}

// notifier sends hints of this replica's commits to the others. While a NOTIFY is in flight, the
// next one collects hints.
type notifier struct {
	// tell sends all payloads or none.
	tell    func(ctx context.Context, payloads []string) error
	replica string
	logger  *slog.Logger
	// audience is nil when this replica cannot know who listens.
	audience *audience
	tellings tellings
	cancel   context.CancelFunc
	done     chan struct{}
	wake     chan struct{}
	// hurry ends the pause for a run that may be claimed.
	hurry chan struct{}

	mu sync.Mutex
	// order has the sessions of waiting in the order of their first hint.
	order   []string
	waiting map[string]reads.Notice

	// greeted says that a new listener must read the commits from before it was known.
	greeted bool

	// lastFailed says that the last NOTIFY failed. Only send uses it.
	lastFailed bool
}

func startNotifier(tell func(ctx context.Context, payloads []string) error, replica string, audience *audience, logger *slog.Logger) *notifier {
	ctx, cancel := context.WithCancel(context.Background())
	n := &notifier{
		tell: tell, replica: replica, audience: audience, logger: logger, cancel: cancel,
		done: make(chan struct{}), wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), waiting: map[string]reads.Notice{},
	}
	go func() {
		defer close(n.done)
		n.run(ctx)
	}()
	return n
}

// tellOn returns a function that notifies the listeners of a database.
func tellOn(pool *pgxpool.Pool) func(ctx context.Context, payloads []string) error {
	return func(ctx context.Context, payloads []string) error {
		_, err := pool.Exec(ctx, sqlNotify, payloads)
		return err
	}
}

// add never blocks.
func (n *notifier) add(notice reads.Notice) {
	if n.audience != nil && n.audience.absent() {
		return
	}
	// Only this process has the events.
	notice.Events = nil
	n.mu.Lock()
	if earlier, seen := n.waiting[notice.SessionID]; seen {
		if earlier.Life == notice.Life {
			notice.FirstEventID = earlierEvent(earlier.FirstEventID, notice.FirstEventID)
			notice.LastEventID = max(earlier.LastEventID, notice.LastEventID)
		}
		notice.Prompts = notice.Prompts || earlier.Prompts
		notice.Claimable = append(earlier.Claimable[:len(earlier.Claimable):len(earlier.Claimable)], notice.Claimable...)
	} else {
		n.order = append(n.order, notice.SessionID)
	}
	n.waiting[notice.SessionID] = notice
	n.mu.Unlock()
	if len(notice.Claimable) > 0 {
		signal(n.hurry)
	}
	n.wakeUp()
}

// earlierEvent returns the smaller event id; 0 means none.
func earlierEvent(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// greet handles a greeting. The new listener must read the rows: earlier commits sent it no
// hint.
func (n *notifier) greet() {
	n.audience.greeted()
	n.tellings.again()
	n.mu.Lock()
	n.greeted = true
	n.mu.Unlock()
	n.wakeUp()
}

func (n *notifier) run(ctx context.Context) {
	looking := time.NewTicker(audienceEvery)
	defer looking.Stop()
	for {
		due := false
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		case <-looking.C:
			due = true
		}
		n.look(ctx, due)
		if due {
			n.tellAsked(ctx)
		}
		select { // urgent hints are included in this message
		case <-n.hurry:
		default:
		}
		if n.send(ctx) {
			n.pause(ctx, notifyPause, nil)
			n.pause(ctx, quietPause-notifyPause, n.hurry)
		} else {
			n.pause(ctx, notifyRetryPause, nil)
			n.wakeUp()
		}
	}
}

// pause waits for a while, or until it is ended early.
func (n *notifier) pause(ctx context.Context, pause time.Duration, early <-chan struct{}) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-early:
	}
}

// look determines whether to send. While that is unknown, everything is sent.
func (n *notifier) look(ctx context.Context, due bool) {
	if n.audience == nil {
		return
	}
	if err := n.audience.look(ctx, due); err != nil && ctx.Err() == nil {
		n.logger.WarnContext(ctx, "could not look for other replicas", slog.Any("error", err))
	}
}

// send reports whether the pending hints were sent. After a failure or a greeting the message
// says that hints were lost, because the others cannot know what they missed.
func (n *notifier) send(ctx context.Context) (sent bool) {
	notices, greeted := n.takeWaiting()
	payloads := payloadsOf(n.replica, notices)
	if n.lastFailed || greeted {
		payloads = hintsLost(n.replica)
	}
	if len(payloads) == 0 {
		return true
	}
	// Finish sending even if the store is closing.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
	defer cancel()
	err := n.tell(ctx, payloads)
	if n.lastFailed = err != nil; n.lastFailed {
		n.logger.WarnContext(ctx, "could not tell other replicas of a commit", slog.Any("error", err))
	}
	return !n.lastFailed
}

// wakeUp makes run send again.
func (n *notifier) wakeUp() { signal(n.wake) }

// signal wakes the receiver of a channel with room for one.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

func (n *notifier) takeWaiting() (notices []reads.Notice, greeted bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	notices = make([]reads.Notice, 0, len(n.order))
	for _, sessionID := range n.order {
		notices = append(notices, n.waiting[sessionID])
	}
	n.order = nil
	clear(n.waiting)
	greeted, n.greeted = n.greeted, false
	return notices, greeted
}

// close sends the pending hints and returns once the notifier has ended.
func (n *notifier) close() {
	n.cancel()
	<-n.done
	n.send(context.Background())
}

// payloadsOf packs notices into as few payloads as possible.
func payloadsOf(replica string, notices []reads.Notice) []string {
	hints := make([]hint, len(notices))
	for i := range notices {
		notice, h := &notices[i], &hints[i]
		*h = hint{
			SessionID: notice.SessionID, Life: notice.Life, LastEventID: notice.LastEventID,
			FirstEventID: notice.FirstEventID, Prompts: notice.Prompts,
		}
		for _, c := range notice.Claimable {
			h.Claimable = append(h.Claimable, claimHint{RunID: c.RunID, AgentID: c.AgentID, AtMs: c.ClaimableAtMs, Principal: c.Principal, HolderPrincipal: c.HolderPrincipal})
		}
	}
	payloads, fit := packed(hints, func(hints []hint) message { return message{Replica: replica, Hints: hints} })
	if !fit {
		return hintsLost(replica)
	}
	return payloads
}

// packed puts items into as few messages as possible, none without items. They fit if there are few enough messages
// and no item is too long for one.
func packed[T any](items []T, messageOf func([]T) message) (payloads []string, fit bool) {
	empty, err := json.Marshal(messageOf(nil))
	if err != nil {
		return nil, false
	}
	// Room for the member's name and the commas.
	const around = len(`,"agents":[],`)
	first, size := 0, len(empty)
	for i := range items {
		text, err := json.Marshal(&items[i])
		if err != nil || len(empty)+len(text)+around > maxPayload {
			return nil, false
		}
		if size+len(text)+around > maxPayload {
			payloads = append(payloads, payloadOf(messageOf(items[first:i]))...)
			first, size = i, len(empty)
		}
		size += len(text) + 1
	}
	if first < len(items) {
		payloads = append(payloads, payloadOf(messageOf(items[first:]))...)
	}
	return payloads, len(payloads) <= maxPayloads
}

// hintsLost is the payload without hints.
func hintsLost(replica string) []string { return payloadOf(message{Replica: replica}) }

// greeting is the payload of a replica that has begun to listen.
func greeting(replica string) []string { return payloadOf(message{Replica: replica, Greets: true}) }

func payloadOf(m message) []string {
	text, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return []string{string(text)}
}
