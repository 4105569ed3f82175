// Package storetest is the contract of every engine: the promises of a runs.Store as tests, each
// with a fresh database. It also has a reference model of the rules, with which the engines are
// compared.
//
// It must not know any engine: callers pass theirs as an [Engine].
package storetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Engine creates databases for tests.
type Engine struct {
	// Fresh returns a new, empty database.
	Fresh func(tb testing.TB) Database
	// Durable says that a database survives the closing of its store.
	Durable bool
	// Replicas says that one database supports several open stores. Its databases are [Locker]s.
	Replicas bool
	// Restores says that its databases are [Restorer]s.
	Restores bool
	// Scope is the part of the contract that runs; the whole by default. Where callers meet, the
	// databases are each a [Breaker].
	Scope Scope
}

// Scope is a part of the contract.
type Scope int

const (
	// ScopeWhole is everything.
	ScopeWhole Scope = iota
	// ScopeBasics is sessions, runs, claims, suspensions, clarifications, keys, events and lists.
	ScopeBasics
	// ScopeConcurrent is races, isolation and replicas: where callers meet.
	ScopeConcurrent
)

// Database is one database.
type Database interface {
	// Open opens a store on the database. It is closed with the test, if not before.
	Open(tb testing.TB, options Options) runs.Store
	// Tables returns all rows of all tables, read past the store.
	Tables(tb testing.TB) Tables
}

// Options replace the store's own clock, ids and such.
type Options struct {
	Clock *Clock
	NewID runs.IDSource // nil for the store's own
	// LockWait is how long a command waits for a session that another transaction has locked.
	LockWait time.Duration
	// NotifyAfter is as in store.Options.
	NotifyAfter time.Duration
}

// lockWait is longer than anything that a test does while a session is locked or contended, however slow the machine is.
const lockWait = 2 * time.Minute

// Clock is a manual clock. It is safe for concurrent use.
type Clock struct {
	nowMs     atomic.Int64
	mu        sync.Mutex
	followers []func(nowMs int64)
}

// clockStart is the initial time of a test's clock.
const clockStart = 1_750_000_000_000

// NewClock returns a clock at a fixed time.
func NewClock() *Clock {
	clock := &Clock{}
	clock.nowMs.Store(clockStart)
	return clock
}

// NowMs returns the time in ms since the epoch.
func (c *Clock) NowMs() int64 { return c.nowMs.Load() }

// Advance moves the clock on by ms. It returns after its followers were called.
func (c *Clock) Advance(ms int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	nowMs := c.nowMs.Add(ms)
	for _, follow := range c.followers {
		follow(nowMs)
	}
}

// Follow calls a function with the time, now and whenever it changes. It is for engines whose
// clock is outside of this process.
func (c *Clock) Follow(follow func(nowMs int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followers = append(c.followers, follow)
	follow(c.nowMs.Load())
}

// Run runs the contract against an engine. Each test has its own database, which must be healthy at
// the end.
func Run(t *testing.T, engine Engine) {
	t.Helper()
	groups := engine.groups()
	for _, group := range groups {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := newHarness(t, engine)
				test(h)
				RequireHealthy(h.ctx, h, h.store)
			})
		}
	}
}

// groups returns the groups of tests that apply to an engine, within its scope.
func (e Engine) groups() []map[string]func(*harness) {
	basics := []map[string]func(*harness){
		sessionTests, lifeTests, lifecycleTests, claimTests, suspensionTests, clarificationTests, idempotencyTests, eventTests, keyedEventTests, listTests, budgetTests,
	}
	others := []map[string]func(*harness){
		resolutionTests, expiryTests, vitalsTests, payloadTests, callTests, mailboxTests, loadBytesTests, effectTests, ruleTests, ruleBoundTests, ruleChangeTests, handleTests, nameTests, decisionTests, retentionTests, scopeTests, requesterTests, journalTests, redactionTests,
	}
	concurrent := []map[string]func(*harness){raceTests, ruleRaceTests, isolationTests, credentialTests}
	if Thorough {
		others = append(others, manyBytesTests)
	}
	if e.Durable {
		others = append(others, reopenTests, columnTests, webhookTests)
	}
	if e.Replicas {
		concurrent = append(concurrent, replicaTests, lifeReplicaTests, ruleReplicaTests, ruleChangeReplicaTests, lockTests, credentialReplicaTests)
	}
	if e.Restores {
		concurrent = append(concurrent, restoreTests)
	}
	switch e.Scope {
	case ScopeBasics:
		return basics
	case ScopeConcurrent:
		return concurrent
	case ScopeWhole:
	}
	return slices.Concat(basics, others, concurrent)
}

// harness is a test's store with short helpers.
type harness struct {
	*testing.T
	ctx      context.Context
	database Database
	clock    *Clock
	store    runs.Store
}

func newHarness(t *testing.T, engine Engine) *harness {
	t.Helper()
	h := &harness{T: t, ctx: t.Context(), database: engine.Fresh(t), clock: NewClock()}
	h.store = h.open()
	return h
}

func (h *harness) open() runs.Store {
	h.Helper()
	return h.database.Open(h, Options{Clock: h.clock, LockWait: lockWait})
}

// do sends a command that must be accepted.
func (h *harness) do(command runs.Command) runs.Reply {
	h.Helper()
	reply, err := h.store.Do(h.ctx, command)
	require.NoError(h, err, "%T", command)
	return reply
}

// refuse sends a command that must be rejected with a code.
func (h *harness) refuse(code api.Code, command runs.Command) *refusal.Error {
	h.Helper()
	_, err := h.store.Do(h.ctx, command)
	return requireCode(h, code, err)
}

func requireCode(tb testing.TB, code api.Code, err error) *refusal.Error {
	tb.Helper()
	var refused *refusal.Error
	require.ErrorAs(tb, err, &refused)
	require.Equal(tb, code, refused.Code, refused.Detail)
	return refused
}

func (h *harness) run(runID string) *model.RunRecord {
	h.Helper()
	record, err := h.store.Run(h.ctx, runID)
	require.NoError(h, err)
	return record
}

func (h *harness) session(sessionID string) *model.SessionRecord {
	h.Helper()
	record, err := h.store.Session(h.ctx, sessionID)
	require.NoError(h, err)
	return record
}

func (h *harness) runs(q reads.RunQuery) []model.RunRecord {
	h.Helper()
	list, err := h.store.Runs(h.ctx, q)
	require.NoError(h, err)
	return list
}

func (h *harness) pending(q reads.RequestQuery) []model.PendingRequest {
	h.Helper()
	list, err := h.store.PendingRequests(h.ctx, q)
	require.NoError(h, err)
	return list
}

// settledAfter returns the requests of a run that were settled after one.
func (h *harness) settledAfter(runID string, after int64) []model.Request {
	h.Helper()
	_, settled, err := h.store.SettledAfter(h.ctx, runID, after)
	require.NoError(h, err)
	return settled
}

// create creates a run.
func (h *harness) create(sessionID, runID string) runs.Reply {
	h.Helper()
	return h.do(&runs.CreateRun{SessionID: sessionID, SessionGiven: true, RunID: runID, Input: api.JSON(`"do it"`)})
}

// started creates a run, claims it and returns the fence.
func (h *harness) started(sessionID, runID string) int64 {
	h.Helper()
	h.create(sessionID, runID)
	return h.claim(runID)
}

// claim claims a run and returns the fence.
func (h *harness) claim(runID string) int64 {
	h.Helper()
	return fenceOf(h, h.do(&runs.ClaimRun{RunID: runID, WorkerID: "worker"}))
}

func fenceOf(tb testing.TB, reply runs.Reply) int64 {
	tb.Helper()
	require.NotNil(tb, reply.Claim)
	fence, err := strconv.ParseInt(reply.Claim.Lease.Fence, 10, 64)
	require.NoError(tb, err)
	return fence
}

// wait creates a run that waits for the suspension, unattached.
func (h *harness) wait(sessionID, runID string, suspension api.Suspension) {
	h.Helper()
	fence := h.started(sessionID, runID)
	h.do(&runs.Suspend{RunID: runID, Fence: fence, Suspension: suspension})
}

func (h *harness) claimable(agentIDs ...string) []string {
	h.Helper()
	list, err := h.store.Claimable(h.ctx, reads.ClaimableQuery{AgentIDs: agentIDs, Limit: 1000})
	require.NoError(h, err)
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].RunID
	}
	return ids
}

func (h *harness) events(sessionID string) []model.Event {
	h.Helper()
	events, _ := h.eventsWithin(reads.EventQuery{SessionID: sessionID, Limit: 10_000, MaxBytes: 1 << 30})
	return events
}

func (h *harness) eventsWithin(q reads.EventQuery) (events []model.Event, more bool) {
	h.Helper()
	events, more, err := h.store.EventsWithin(h.ctx, q)
	require.NoError(h, err)
	return events, more
}

func typesOf(events []model.Event) []api.EventType {
	types := make([]api.EventType, len(events))
	for i := range events {
		types[i] = events[i].Type
	}
	return types
}

func approval(id string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: id, ToolCallID: "call-" + id, ToolName: "bash", Input: api.JSON(`{"command":"make"}`)}
}

func approvalDueAt(id string, dueAtMs int64) api.ApprovalRequest {
	request := approval(id)
	request.ExpiresAtMs = &dueAtMs
	return request
}

func question(id string) api.UserQuestionRequest {
	return api.UserQuestionRequest{ID: id, ToolCallID: "call-" + id, Questions: []api.UserQuestion{{
		ID: "route", Header: "Route", Question: "Which route?",
		AllowFreeform: new(true), Options: []api.QuestionOption{{ID: "left", Label: "Left"}, {ID: "right", Label: "Right"}},
	}}}
}

func questionDueAt(id string, dueAtMs int64) api.UserQuestionRequest {
	request := question(id)
	request.ExpiresAtMs = &dueAtMs
	return request
}

func approvals(ids ...string) api.Suspension {
	var suspension api.Suspension
	for _, id := range ids {
		suspension.Approvals = append(suspension.Approvals, approval(id))
	}
	return suspension
}

func questions(ids ...string) api.Suspension {
	var suspension api.Suspension
	for _, id := range ids {
		suspension.Questions = append(suspension.Questions, question(id))
	}
	return suspension
}

func allow(ids ...string) []runs.ApprovalDecision {
	resolutions := make([]runs.ApprovalDecision, len(ids))
	for i, id := range ids {
		resolutions[i] = runs.ApprovalDecision{RequestID: id, Behavior: api.BehaviorAllow}
	}
	return resolutions
}

func answer(id, optionID string) runs.QuestionAnswer {
	return runs.QuestionAnswer{RequestID: id, Answers: []api.UserQuestionAnswer{
		{QuestionID: "route", SelectedOptionIDs: []string{optionID}},
	}}
}

var person = runs.Actor{Name: "alice", Via: api.ViaAPI}

func numbered(prefix string, n int) string { return fmt.Sprintf("%s-%03d", prefix, n) }
