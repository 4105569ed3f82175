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

// Unread is an Engine that can write without having read.
type Unread interface {
	// CommitUnread writes and commits if all that the guard says holds, and returns the moment
	// at which it looked. If not, nothing is written and the error wraps ErrStale. The other
	// errors are those of Batch.Commit.
	CommitUnread(ctx context.Context, guard Guard, writes runs.Writes) (nowMs int64, err error)
}

// Guard is what decisions from remembered rows rest on. The transaction that writes them
// checks it under the locks that a Batch would have taken.
type Guard struct {
	// Sessions must have the versions that these rows have, and nobody else's lock. The
	// sessions that are not among them must not be there, for which their insertion is enough.
	Sessions []*model.Session
	// The database must have this Incarnation: the versions of another one are of other rows.
	Incarnation int64
	// The clock that decides must be at NowMs, give or take WithinMs.
	NowMs, WithinMs int64
	// Rules must have these versions, by session, and there must be no exact rules. If there are
	// any, the transaction counts as one that has loaded rules.
	Rules map[string]int64
	Exact []ExactRules
	// Tokens must be these, of those members that [auth.Token.Accepts] asks for. None of them is
	// revoked, and they stay what they are until the transaction is over.
	Tokens []*auth.Token
}

// ExactRules are the rules of a session, or of all, about one input.
type ExactRules struct{ SessionID, InputDigest string }

// Errors of CommitUnread. The others wrap ErrStale.
var (
	ErrStale      = errors.New("the remembered rows are not those of the database")
	ErrStaleClock = fmt.Errorf("%w: the clock was estimated wrongly", ErrStale)
	ErrStaleRules = fmt.Errorf("%w: there are other rules", ErrStale)
	// ErrStaleTokens says that a token is another one, or that somebody is changing it.
	ErrStaleTokens = fmt.Errorf("%w: there are other tokens", ErrStale)
	// ErrStaleDatabase says that the database has another incarnation, or that somebody may have
	// changed any session without a new version.
	ErrStaleDatabase = fmt.Errorf("%w: the database is another one, or somebody else has changed it", ErrStale)
)

// Clocked is an Engine whose clock is that of this process, which costs nothing to read.
type Clocked interface{ NowMs() int64 }

// refusedFor is for how long keys and chosen ids are looked up first, after one of them turned
// out to be taken.
const refusedFor = 50 * time.Millisecond

// decideRemembered decides those calls of a batch for which the lane remembers all rows, in one
// transaction that reads nothing, and answers them. It returns the others, in their order.
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
	// of are the sessions that were taken out of the lane's memory, nil for those that are not
	// remembered or are left to rest.
	of map[string]*runs.Remembered
	// rules, exact and tokens are those of the Guard.
	rules  map[string]int64
	exact  []ExactRules
	tokens map[string]*auth.Token
	// rulesWritten says that a decision has changed rules: later ones would have to meet them.
	rulesWritten bool
	rest         []*call
}

// decide decides what it can. All calls of a session behind one that it cannot are left too,
// so that none overtakes another.
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
		return false // another replica's clock reading is newer
	}
	if remembered.Turns(b.nowMs, b.nowMs+b.committer.options.ClockTolerance.Milliseconds()) {
		return false // the clock is read when it matters
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

// meetRules adds the rules that a call was matched against to those that the transaction must
// find. It returns false when it cannot.
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

// meetToken gives a decision the token of its caller as the lane remembers it, which the
// transaction must find. It returns false when it cannot.
func (b *rememberedBatch) meetToken(waiting *call, remembered *runs.Remembered) bool {
	token, known := b.lane.memory.tokens.Get(waiting.needs.TokenID)
	if !known || token.RevokedAtMs != 0 || token.Turns(b.nowMs, b.nowMs+b.committer.options.ClockTolerance.Milliseconds()) {
		return false
	}
	remembered.UseToken(token)
	b.tokens[token.TokenID] = token
	return true
}

// session returns what is remembered of the session of a call, or nil.
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

// failed returns the calls that must be decided with reading after the transaction failed. Those
// of which it is not known whether they took effect are answered with that.
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

// decided returns the calls that were decided.
func (b *rememberedBatch) decided() []*call {
	calls := make([]*call, len(b.all))
	for i := range b.all {
		calls[i] = b.all[i].call
	}
	return calls
}

// forget keeps the changed sessions from being remembered again: their states are ahead of the
// database, or not known to be in it.
func (b *rememberedBatch) forget() {
	for _, session := range b.changed {
		b.of[session.state.SessionID] = nil
	}
}

// forgetAll forgets everything that the lane remembers.
func (b *rememberedBatch) forgetAll() {
	b.lane.memory.sessions.Purge()
	for sessionID := range b.of {
		b.of[sessionID] = nil
	}
}

// putBack remembers the sessions again, unless they were forgotten.
func (b *rememberedBatch) putBack() {
	for _, remembered := range b.of {
		if remembered != nil {
			b.lane.memory.put(remembered)
		}
	}
}

// rememberLoaded returns what may be remembered of the sessions that a batch has loaded, once
// its decisions are committed.
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
