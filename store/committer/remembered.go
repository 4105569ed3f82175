package committer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Unread is an Engine that can write without reading first.
type Unread interface {
	// CommitUnread writes and commits if the guard holds, and returns the time of the check. If the
	// guard does not hold, it writes nothing and the error wraps ErrStale. Other errors are as in
	// Batch.Commit.
	CommitUnread(ctx context.Context, guard Guard, writes runs.Writes) (nowMs int64, err error)
}

// Guard lists the assumptions of decisions made from cached rows. The transaction that writes them
// checks these under the same locks that a Batch takes.
type Guard struct {
	// Each session must still have this version and be unlocked. New sessions are checked by their
	// INSERT.
	Sessions []*model.Session
	// The database must have this Incarnation. Another one may use the same versions for other
	// rows.
	Incarnation int64
	// The deciding clock must be within WithinMs of NowMs.
	NowMs, WithinMs int64
	// Rules maps sessions to the expected version of their rules. No exact rule in Exact may exist.
	// If Rules is not empty, the transaction counts as one that has loaded rules.
	Rules map[string]int64
	Exact []ExactRules
	// Tokens must be unchanged in the fields that [auth.Token.Accepts] compares. None of them is
	// revoked, and they are locked until the transaction ends.
	Tokens []*auth.Token
}

// ExactRules identifies the rules about one input, of one session or of all sessions.
type ExactRules struct{ SessionID, InputDigest string }

// Errors of CommitUnread that wrap ErrStale.
var (
	ErrStale      = errors.New("the remembered rows are not those of the database")
	ErrStaleClock = fmt.Errorf("%w: the clock was estimated wrongly", ErrStale)
	ErrStaleRules = fmt.Errorf("%w: there are other rules", ErrStale)
	// ErrStaleTokens means that a token was changed, or is being changed.
	ErrStaleTokens = fmt.Errorf("%w: there are other tokens", ErrStale)
	// ErrStaleDatabase means that the database has another incarnation, or that someone may have
	// changed sessions without a new version.
	ErrStaleDatabase = fmt.Errorf("%w: the database is another one, or somebody else has changed it", ErrStale)
)

// Clocked is an Engine that decides by the clock of this process, which is free to read.
type Clocked interface{ NowMs() int64 }

// refusedFor is how long keys and chosen ids are looked up first after one was found in use.
const refusedFor = 50 * time.Millisecond

// decideRemembered decides the calls whose rows are all cached, in one transaction without reads,
// and answers them. It returns the other calls in order.
func (c *Committer) decideRemembered(l *lane, calls []*call) (rest []*call) {
	nowMs, known := c.clock.estimate()
	if c.unread == nil || !known {
		return calls
	}
	l.memory.meet(c.incarnation.Load())
	ctx, cancel := context.WithTimeout(context.Background(), c.options.Timeout)
	defer cancel()
	b := &rememberedBatch{committer: c, lane: l, nowMs: nowMs, of: map[string]*runs.Remembered{}, rules: map[string]int64{}, tokens: map[string]*auth.Token{}}
	b.grow(len(calls))
	defer b.putBack()
	answered := false
	defer func() {
		if cause := recover(); cause != nil {
			c.panicked(cause)
			b.forget()
			rest = nil
			if !answered {
				c.giveUp(slices.DeleteFunc(slices.Clone(calls), (*call).answered), fmt.Errorf("the transaction panicked: %v", cause))
			}
		}
	}()
	b.decide(calls)
	defer b.endHandover(errNotHandedOver)
	c.handOver(&b.decisions, b.of)
	if len(b.changes) == 0 {
		return b.rest
	}
	failpoint.Hit("committer.begun")
	failpoint.Hit("committer.decided")
	written := false
	var err error
	var traced []*call
	if c.options.Tracer != nil {
		traced = b.decided()
	}
	ctx, done := c.observe(ctx, traced, &Transaction{Lane: l.number, Commands: len(b.all)}, &written, &err)
	var lookedMs int64
	lookedMs, err = c.unread.CommitUnread(ctx, b.guard(), runs.Gather(b.changes))
	written = err == nil
	done()
	if err != nil {
		defer b.forget()
		return b.failed(calls, err)
	}
	c.clock.observe(lookedMs)
	answered = true
	c.committed(&b.decisions)
	for _, session := range b.changed {
		b.of[session.state.SessionID].Committed()
	}
	return b.rest
}

// rememberedBatch is a batch that is decided without reading.
type rememberedBatch struct {
	decisions
	committer *Committer
	lane      *lane
	nowMs     int64
	// of are the sessions taken out of the lane's cache. A nil entry is not cached or stays out of
	// the cache.
	of map[string]*runs.Remembered
	// rules, exact and tokens become the fields of the Guard.
	rules  map[string]int64
	exact  []ExactRules
	tokens map[string]*auth.Token
	// rulesWritten reports whether a decision has changed rules. Later commands that need rules are
	// then decided with reading.
	rulesWritten bool
	rest         []*call
}

// decide decides as many calls as possible. After one that it cannot decide, it skips the later
// calls of that session too, to keep them in order.
func (b *rememberedBatch) decide(calls []*call) {
	left := map[string]bool{}
	for _, waiting := range calls {
		if left[waiting.sessionID] || !b.decideOne(waiting) {
			left[waiting.sessionID] = true
			b.rest = append(b.rest, waiting)
		}
	}
}

func (b *rememberedBatch) decideOne(waiting *call) (done bool) {
	remembered := b.session(waiting)
	if remembered == nil || !remembered.Answers(waiting.needs) || !b.lane.memory.mayGuess(&waiting.needs) {
		return false
	}
	if session := remembered.State.Session; session != nil && session.UpdatedAtMs > b.nowMs {
		return false // another replica's clock is ahead
	}
	if remembered.Turns(b.nowMs, b.nowMs+b.committer.options.ClockTolerance.Milliseconds()) {
		return false // a deadline is too close for an estimated clock
	}
	if waiting.needs.TokenID != "" && !b.meetToken(waiting, remembered) {
		return false
	}
	if waiting.needs.Rules && !b.meetRules(waiting, remembered) {
		return false
	}
	if !waiting.beginDeciding() {
		return true
	}
	change, reply, err := b.committer.decideCommand(remembered.State, waiting.command, b.nowMs)
	if !remembered.Proves(&waiting.needs, &change, err) {
		waiting.leave()
		return false
	}
	b.add(waiting, remembered.State, b.nowMs, change, reply, nil)
	remembered.Applied(&change)
	b.rulesWritten = b.rulesWritten || len(change.NewRules)+len(change.UpdatedRules) > 0
	return true
}

// meetRules adds the rules that a call was matched against to the guard. It returns false if the
// call must be decided with reading.
func (b *rememberedBatch) meetRules(waiting *call, remembered *runs.Remembered) bool {
	versions, meets := remembered.MeetRules(waiting.command)
	here := versions
	here.Incarnation = b.lane.memory.incarnation
	if !meets || b.rulesWritten || !versions.Same(here) {
		return false
	}
	expected := map[string]int64{rules.AllSessions: versions.OfAll}
	if remembered.Before() != nil {
		expected[waiting.sessionID] = versions.OfSession
	} else if versions.OfSession != 0 {
		return false
	}
	for sessionID, version := range expected {
		if other, known := b.rules[sessionID]; known && other != version {
			return false
		}
	}
	for sessionID, version := range expected {
		b.rules[sessionID] = version
		for _, digest := range waiting.needs.RuleDigests {
			b.exact = append(b.exact, ExactRules{sessionID, digest})
		}
	}
	return true
}

// meetToken gives the decision the cached token of its caller and adds the token to the guard. It
// returns false if the call must be decided with reading.
func (b *rememberedBatch) meetToken(waiting *call, remembered *runs.Remembered) bool {
	token, known := b.lane.memory.tokens.Get(waiting.needs.TokenID)
	if !known || token.RevokedAtMs != 0 || token.Turns(b.nowMs, b.nowMs+b.committer.options.ClockTolerance.Milliseconds()) {
		return false
	}
	remembered.UseToken(token)
	b.tokens[token.TokenID] = token
	return true
}

// session returns the cached session of a call, or nil.
func (b *rememberedBatch) session(waiting *call) *runs.Remembered {
	remembered, taken := b.of[waiting.sessionID]
	if taken || b.lane.memory.locksFirst(waiting.sessionID) || b.lane.locked[waiting.sessionID] != nil {
		return remembered
	}
	remembered = b.lane.memory.take(waiting.sessionID)
	if remembered == nil && waiting.needs.NewSession {
		remembered = runs.RememberNew(waiting.sessionID)
	}
	b.of[waiting.sessionID] = remembered
	return remembered
}

func (b *rememberedBatch) guard() Guard {
	guard := Guard{
		Incarnation: b.lane.memory.incarnation,
		NowMs:       b.nowMs, WithinMs: b.committer.options.ClockTolerance.Milliseconds(), Rules: b.rules, Exact: b.exact,
	}
	for _, session := range b.changed {
		if before := b.of[session.state.SessionID].Before(); before != nil {
			guard.Sessions = append(guard.Sessions, before)
		}
	}
	slices.SortFunc(guard.Sessions, func(x, y *model.Session) int { return cmp.Compare(x.SessionID, y.SessionID) })
	for _, tokenID := range slices.Sorted(maps.Keys(b.tokens)) {
		guard.Tokens = append(guard.Tokens, b.tokens[tokenID])
	}
	return guard
}

// failed returns the calls to decide with reading after the transaction failed. Calls with an
// unknown outcome are answered with that error.
func (b *rememberedBatch) failed(calls []*call, err error) []*call {
	c, memory := b.committer, b.lane.memory
	switch {
	case errors.Is(err, ErrStaleDatabase):
		b.forgetAll()
	case errors.Is(err, ErrStaleClock):
		c.clock.distrust()
	case errors.Is(err, ErrStaleRules):
		memory.rulesUntil = time.Now().Add(rulesFor)
	case errors.Is(err, ErrStaleTokens):
		for tokenID := range b.tokens {
			memory.tokens.Remove(tokenID)
		}
	case errors.Is(err, ErrStale):
	case errors.Is(err, ErrRefused):
		memory.lookUpUntil = time.Now().Add(refusedFor)
	default:
		c.giveUp(b.decided(), fmt.Errorf("commit: %w", err))
		return b.rest
	}
	c.options.Logger.Debug("batch refused, deciding it anew", slog.Int("commands", len(calls)), slog.Any("error", err))
	if errors.Is(err, ErrStale) && !errors.Is(err, ErrStaleDatabase) {
		for _, session := range b.guard().Sessions {
			memory.suspects[session.SessionID] = session.Version
		}
	}
	for _, d := range b.all {
		d.call.leave()
	}
	return calls
}

func (b *rememberedBatch) decided() []*call {
	calls := make([]*call, len(b.all))
	for i := range b.all {
		calls[i] = b.all[i].call
	}
	return calls
}

// forget keeps the changed sessions out of the cache: their changes are not in the database, or the
// outcome is unknown.
func (b *rememberedBatch) forget() {
	for _, session := range b.changed {
		b.of[session.state.SessionID] = nil
	}
}

// forgetAll clears the lane's session cache.
func (b *rememberedBatch) forgetAll() {
	b.lane.memory.sessions.Purge()
	for sessionID := range b.of {
		b.of[sessionID] = nil
	}
}

// putBack returns the sessions to the cache, unless they were dropped.
func (b *rememberedBatch) putBack() {
	for _, remembered := range b.of {
		if remembered != nil {
			b.lane.memory.put(remembered)
		}
	}
}

// rememberLoaded returns the sessions of a batch that may be cached once its decisions are
// committed.
func (c *Committer) rememberLoaded(batch Batch, loads []Load) map[string]*runs.Remembered {
	c.clock.observe(batch.NowMs())
	loaded := make(map[string]*runs.Remembered, len(loads))
	for i := range loads {
		if state := batch.State(loads[i].SessionID); state != nil {
			loaded[loads[i].SessionID] = runs.Remember(state, loads[i].Needs)
		}
	}
	return loaded
}
