package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// board is a store of many sessions, each with one run that raises approvals.
type board struct {
	Store

	mu          sync.Mutex
	logs        map[string][]model.Event
	open        map[string]model.PendingRequest // by "session/request"
	subscribers map[int]func(reads.Notice)
	joined      int
	broken      bool
	// held, if set, blocks the reading of events until it is closed.
	held chan struct{}
	// eventReads and openReads count the calls.
	eventReads, openReads int
	// mostBytes is the size of the largest read of events.
	mostBytes int
}

func newBoard() *board {
	return &board{logs: map[string][]model.Event{}, open: map[string]model.PendingRequest{}, subscribers: map[int]func(reads.Notice){}}
}

func (b *board) Subscribe(tell func(reads.Notice)) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.joined++
	at := b.joined
	b.subscribers[at] = tell
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subscribers, at)
	}
}

// tell passes a notice on.
func (b *board) tell(notice reads.Notice) {
	b.mu.Lock()
	subscribers := slices.Collect(maps.Values(b.subscribers))
	b.mu.Unlock()
	for _, tell := range subscribers {
		tell(notice)
	}
}

// far is a notice as another replica has it.
func far(notice reads.Notice) reads.Notice {
	notice.Events = nil
	return notice
}

// commit performs steps in a session: "+r" raises a request, "-r" settles it, and "." does neither.
// It returns the notice.
func (b *board) commit(session string, steps ...string) reads.Notice {
	b.mu.Lock()
	defer b.mu.Unlock()
	notice := reads.Notice{SessionID: session, FirstEventID: int64(len(b.logs[session]) + 1)}
	for _, step := range steps {
		event := model.Event{SessionID: session, RunID: "run", EventID: int64(len(b.logs[session]) + 1), Type: "delta", Body: api.JSON(`{"type":"delta"}`)}
		name := session + "/" + step[1:]
		switch step[0] {
		case '+':
			event.Type = api.EventWaitingForApproval
			event.Body = api.JSON(fmt.Sprintf(`{"request_ids":[%q]}`, step[1:]))
			b.open[name] = model.PendingRequest{Request: model.Request{
				SessionID: session, RunID: "run", RequestID: step[1:], Kind: model.KindApproval, Body: api.JSON(`{}`),
			}}
		case '-':
			event.Type = api.EventApprovalResolved
			event.Body = api.JSON(fmt.Sprintf(`{"resolutions":[{"request_id":%q}]}`, step[1:]))
			delete(b.open, name)
		}
		notice.Prompts = notice.Prompts || model.AboutRequest(event.Type)
		b.logs[session] = append(b.logs[session], event)
		notice.Events = append(notice.Events, &event)
	}
	notice.LastEventID = int64(len(b.logs[session]))
	return notice
}

// lose loses a session with all that it has.
func (b *board) lose(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.logs, session)
	maps.DeleteFunc(b.open, func(name string, _ model.PendingRequest) bool { return strings.HasPrefix(name, session+"/") })
}

// do commits and announces the notice at once.
func (b *board) do(session string, steps ...string) { b.tell(b.commit(session, steps...)) }

func (b *board) Within(reads.Scope) reads.Reader { return b }

func (b *board) PendingRequests(_ context.Context, q reads.RequestQuery) ([]model.PendingRequest, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.openReads++
	if b.broken {
		return nil, errBroken
	}
	var found []model.PendingRequest
	for _, name := range slices.Sorted(maps.Keys(b.open)) {
		if q.Kind == model.KindApproval && len(found) < q.Limit && (q.After == nil || name > q.After.SessionID+"/"+q.After.RequestID) {
			found = append(found, b.open[name])
		}
	}
	return found, nil
}

func (b *board) CountPendingRequests(_ context.Context, q reads.RequestQuery) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q.Kind != model.KindApproval {
		return 0, nil
	}
	return int64(len(b.open)), nil
}

func (b *board) NowMs(context.Context) (int64, error) { return time.Now().UnixMilli(), nil }

func (b *board) EventsWithin(_ context.Context, q reads.EventQuery) (events []model.Event, more bool, err error) {
	if b.held != nil {
		<-b.held
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.eventReads++
	if b.broken {
		return nil, false, errBroken
	}
	events, more = within(b.logs[q.SessionID], q)
	b.mostBytes = max(b.mostBytes, bytesOfAll(events))
	return events, more, nil
}

func (b *board) setBroken(broken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = broken
}

func (b *board) shown() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.open))
}

func (b *board) reads() (events, open int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.eventReads, b.openReads
}

// inboxReader is a sink that keeps the open requests.
type inboxReader struct {
	// takes, when set, is asked before each call.
	takes func() error

	mu   sync.Mutex
	open map[string]bool
	more bool
	// heard records what the reader received: "[n]" for a snapshot of n, "!reason" for a gap,
	// "session:id" for an event, "-" for silence.
	heard []string
}

func (r *inboxReader) hear(apply func()) error {
	if r.takes != nil {
		if err := r.takes(); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	apply()
	return nil
}

func (r *inboxReader) Snapshot(snapshot *InboxSnapshot) error {
	return r.hear(func() {
		r.heard = append(r.heard, fmt.Sprintf("[%d]", len(snapshot.Pending)))
		r.open, r.more = map[string]bool{}, snapshot.More
		for i := range snapshot.Pending {
			r.open[snapshot.Pending[i].Request.SessionID+"/"+snapshot.Pending[i].Request.RequestID] = true
		}
	})
}

func (r *inboxReader) Gap(reason string) error {
	return r.hear(func() { r.heard = append(r.heard, "!"+reason) })
}

func (r *inboxReader) Events(events []*model.Event) error {
	return r.hear(func() {
		for _, event := range events {
			r.heard = append(r.heard, fmt.Sprintf("%s:%d", event.SessionID, event.EventID))
			var body requestEvent
			if err := json.Unmarshal(event.Body, &body); err != nil {
				panic(err)
			}
			for _, id := range body.RequestIDs {
				r.open[event.SessionID+"/"+id] = true
			}
			for _, one := range body.Resolutions {
				delete(r.open, event.SessionID+"/"+one.RequestID)
			}
		}
	})
}

func (r *inboxReader) KeepAlive() error {
	return r.hear(func() { r.heard = append(r.heard, "-") })
}

func (r *inboxReader) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.heard, " ")
}

func (r *inboxReader) shown() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.open))
}

// inboxBench is a hub on a board, for a bubble.
type inboxBench struct {
	*testing.T
	board *board
	hub   *Hub
}

func newInboxBench(t *testing.T, options Options) *inboxBench {
	t.Helper()
	b := &inboxBench{T: t, board: newBoard()}
	options.Store, options.Watches = b.board, watch.NewHub()
	b.hub = NewHub(options)
	return b
}

// follow follows the inbox and returns a function that ends it.
func (b *inboxBench) follow(reader *inboxReader) (stop func(), ended <-chan struct{}) {
	b.Helper()
	subscription, err := b.hub.JoinInbox(context.Background())
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer subscription.Close()
		subscription.Deliver(ctx, reader)
	}()
	return func() {
		cancel()
		<-done
	}, done
}

// kept returns the number of events that the inbox keeps for slow followers.
func (b *inboxBench) kept() int {
	in := b.hub.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.window.events
}
