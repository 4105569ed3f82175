package claims

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every runs.Store can be a dispatcher's store.
var _ Store = runs.Store(nil)

// maxWait is the longest wait of a claim.
const maxWait = api.MaxWaitMs * time.Millisecond

// fakeStore is a store of claimable runs that performs claims and releases.
type fakeStore struct {
	// Do calls beforeDo before it decides, and afterDo between commit and reply, if set.
	beforeDo func(runs.Command)
	afterDo  func(runs.Command)
	// Claimable calls afterScan between its read and its reply.
	afterScan func()

	mu          sync.Mutex
	runs        map[string]*fakeRun
	subscribers map[int]func(reads.Notice)
	subscribed  int
	scanErr     error
	doErr       error
	scans       [][]string // the agents of each query
	claimed     []string   // the runs in the order of their claims
	refused     int
	released    []string
}

type fakeRun struct {
	reads.Claimable
	fence    int64
	workerID string
	usedUp   bool
}

func newFakeStore() *fakeStore {
	return &fakeStore{runs: map[string]*fakeRun{}, subscribers: map[int]func(reads.Notice){}}
}

func nowMs() int64 { return time.Now().UnixMilli() }

// add makes a run claimable without a notice.
func (s *fakeStore) add(runID, agentID string, claimableAtMs int64) reads.Claimable {
	s.mu.Lock()
	defer s.mu.Unlock()
	claimable := reads.Claimable{RunID: runID, SessionID: "session-" + runID, AgentID: agentID, ClaimableAtMs: claimableAtMs}
	s.runs[runID] = &fakeRun{Claimable: claimable}
	return claimable
}

// announce makes a run claimable now and publishes a notice.
func (s *fakeStore) announce(runID, agentID string) {
	claimable := s.add(runID, agentID, nowMs())
	s.publish(reads.Notice{SessionID: claimable.SessionID, Claimable: []reads.Claimable{claimable}})
}

func (s *fakeStore) publish(notice reads.Notice) {
	s.mu.Lock()
	var subscribers []func(reads.Notice)
	for _, notify := range s.subscribers {
		subscribers = append(subscribers, notify)
	}
	s.mu.Unlock()
	for _, notify := range subscribers {
		notify(notice)
	}
}

func (s *fakeStore) Subscribe(notify func(reads.Notice)) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribed++
	number := s.subscribed
	s.subscribers[number] = notify
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subscribers, number)
	}
}

// fakeReader reads the claimable runs in a scope.
type fakeReader struct {
	reads.Reader
	store *fakeStore
	scope reads.Scope
}

func (s *fakeStore) Within(scope reads.Scope) reads.Reader {
	return &fakeReader{store: s, scope: scope}
}

func (r *fakeReader) Claimable(_ context.Context, q reads.ClaimableQuery) ([]reads.Claimable, error) {
	rows, err := r.store.readClaimable(q.AgentIDs, r.scope, q.Limit)
	if r.store.afterScan != nil {
		r.store.afterScan()
	}
	return rows, err
}

func (s *fakeStore) readClaimable(agentIDs []string, scope reads.Scope, limit int) ([]reads.Claimable, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scans = append(s.scans, agentIDs)
	if s.scanErr != nil {
		return nil, s.scanErr
	}
	var found []reads.Claimable
	now := nowMs()
	for _, run := range s.runs {
		if run.ClaimableAtMs != 0 && run.ClaimableAtMs <= now && (len(agentIDs) == 0 || slices.Contains(agentIDs, run.AgentID)) && scope.Fits(run.SessionID, run.AgentID) {
			found = append(found, run.Claimable)
		}
	}
	slices.SortFunc(found, func(a, b reads.Claimable) int {
		return cmp.Or(cmp.Compare(a.ClaimableAtMs, b.ClaimableAtMs), cmp.Compare(a.RunID, b.RunID))
	})
	return found[:min(len(found), limit)], nil
}

func (s *fakeStore) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if s.beforeDo != nil {
		s.beforeDo(command)
	}
	if err := ctx.Err(); err != nil {
		return runs.Reply{}, err
	}
	reply, notice, err := s.decide(command)
	if notice.SessionID != "" {
		s.publish(notice)
	}
	if s.afterDo != nil {
		s.afterDo(command)
	}
	return reply, err
}

func (s *fakeStore) decide(command runs.Command) (runs.Reply, reads.Notice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doErr != nil {
		return runs.Reply{}, reads.Notice{}, s.doErr
	}
	switch c := command.(type) {
	case *runs.ClaimRun:
		run := s.runs[c.RunID]
		if run == nil {
			return runs.Reply{}, reads.Notice{}, refusal.UnknownRun(c.RunID)
		}
		if run.ClaimableAtMs == 0 || run.ClaimableAtMs > nowMs() || run.usedUp {
			if run.usedUp {
				run.ClaimableAtMs = 0
			}
			s.refused++
			return runs.Reply{}, reads.Notice{}, refusal.New(api.CodeRunNotClaimable, "run %s cannot be claimed now", c.RunID)
		}
		run.fence++
		run.workerID = c.WorkerID
		run.ClaimableAtMs = nowMs() + cmp.Or(c.LeaseMs, api.DefaultLeaseMs)
		s.claimed = append(s.claimed, c.RunID)
		return runs.Reply{Claim: &api.Claim{
			Run: api.RunView{RunID: run.RunID, SessionID: run.SessionID, AgentID: run.AgentID}, Attempt: run.fence,
			Lease: api.ClaimedLease{Fence: model.FenceText(run.fence), WorkerID: c.WorkerID, ExpiresAtMs: run.ClaimableAtMs},
		}}, reads.Notice{}, nil
	case *runs.Release:
		run := s.runs[c.RunID]
		if run == nil || run.fence != c.Fence {
			return runs.Reply{}, reads.Notice{}, refusal.New(api.CodeLeaseLost, "lease is lost")
		}
		run.ClaimableAtMs = nowMs()
		run.workerID = ""
		s.released = append(s.released, c.RunID)
		return runs.Reply{}, reads.Notice{SessionID: run.SessionID, Claimable: []reads.Claimable{run.Claimable}}, nil
	default:
		return runs.Reply{}, reads.Notice{}, fmt.Errorf("unexpected command %T", command)
	}
}

func (s *fakeStore) scanCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.scans)
}

func (s *fakeStore) set(change func(*fakeStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// start runs a dispatcher until the test ends. The returned function stops it earlier.
func start(t testing.TB, store *fakeStore, options Options) (d *Dispatcher, stop func()) {
	t.Helper()
	options.Logger = slog.New(slog.DiscardHandler)
	d = New(store, options)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := d.Run(ctx); err != nil {
			t.Errorf("dispatcher ended with %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-stopped
	}
	t.Cleanup(stop)
	return d, stop
}

// pending is a claim in progress.
type pending struct {
	cancel context.CancelFunc
	done   chan struct{}
	claims []api.Claim
	err    error
	after  time.Duration
}

// claim starts a claim.
func claim(d *Dispatcher, request Request) *pending {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pending{cancel: cancel, done: make(chan struct{})}
	begin := time.Now()
	go func() {
		defer close(p.done)
		defer cancel()
		p.claims, p.err = d.Claim(ctx, request)
		p.after = time.Since(begin)
	}()
	return p
}

func (p *pending) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// runIDs returns the claimed runs, after the claim ended without an error.
func (p *pending) runIDs(t testing.TB) []string {
	t.Helper()
	<-p.done
	if p.err != nil {
		t.Fatalf("claim failed: %v", p.err)
	}
	return idsOf(p.claims)
}

func idsOf(claims []api.Claim) []string {
	ids := []string{}
	for _, c := range claims {
		ids = append(ids, c.Run.RunID)
	}
	return ids
}

func worker(agentIDs ...string) Request {
	return Request{WorkerID: "worker", AgentIDs: agentIDs, Wait: 20 * time.Second}
}

func names(prefix string, from, to int) []string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, prefix+strconv.Itoa(i))
	}
	return all
}
