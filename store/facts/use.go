package facts

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Use holds the facts of one batch: sessions that were taken out of the cache, or loaded under their
// locks. Call End when the batch is over. It is not safe for concurrent use.
type Use struct {
	// NowMs is the time of the decisions.
	NowMs int64

	cache *Cache
	// generation and incarnation are the cache's when the use began.
	generation, incarnation int64
	// loaded reports whether the transaction has locked the sessions, so that nothing can be stale.
	loaded bool
	stale  *Use
	// sessions are the sessions in use. A nil entry is not cached.
	sessions map[string]*Session
	// rules, exact, tokens and signIns become the fields of the ReadSet.
	rules   map[string]int64
	exact   []ExactRules
	tokens  map[string]*auth.Token
	signIns map[string]string
	// rulesWritten reports whether a decision has changed rules. Later commands that need rules are
	// then decided with loaded ones.
	rulesWritten bool
	committed    bool
	// contested reports whether other writers have changed sessions since they were cached.
	contested bool
}

// Session is the facts of a session that is in use.
type Session struct {
	*runs.Remembered
	changed bool
}

// Cached begins a use of cached facts, at an estimated time. It returns nil if the cache is disabled
// or the time is unknown.
func (c *Cache) Cached() *Use {
	nowMs, known := c.clock.estimate()
	if !known || c.maxBytes < 0 {
		return nil
	}
	u := c.use()
	u.NowMs = nowMs
	return u
}

// Loading begins a use of facts that a transaction is about to load. Begin it before the transaction.
// stale is the use whose commit failed before, or nil. If other writers have changed a session since
// it was cached, it is loaded first for a while.
func (c *Cache) Loading(stale *Use) *Use {
	u := c.use()
	u.loaded, u.stale = true, stale
	return u
}

func (c *Cache) use() *Use {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Use{cache: c, generation: c.generation, incarnation: c.incarnation, sessions: map[string]*Session{}}
}

// Began notes the time and the database of the transaction that loads. It returns true if that is
// another database than before.
func (u *Use) Began(nowMs, incarnation int64) (another bool) {
	u.NowMs = nowMs
	u.cache.clock.observe(nowMs)
	u.cache.mu.Lock()
	defer u.cache.mu.Unlock()
	if u.cache.incarnation != incarnation {
		another = u.cache.met(incarnation)
		u.generation = u.cache.generation
	}
	u.incarnation = incarnation
	return another
}

// Loaded notes the rows that were loaded for some needs of a session. The state is nil if another
// transaction has locked the session.
func (u *Use) Loaded(sessionID string, state *runs.State, needs []runs.Needs) {
	u.cache.mu.Lock()
	defer u.cache.mu.Unlock()
	u.cache.take(sessionID)
	if version, suspect := u.stale.suspects(sessionID); suspect && (state == nil || state.Session == nil || state.Session.Version != version) {
		u.cache.contested.Add(sessionID, time.Now().Add(contestedFor))
	}
	if state == nil {
		return
	}
	state.RuleVersions.Incarnation = u.incarnation
	if u.cache.generation == u.generation {
		for tokenID, token := range state.Tokens {
			u.cache.tokens.Add(tokenID, token)
		}
	}
	u.sessions[sessionID] = &Session{Remembered: runs.Remember(state, needs)}
}

// suspects returns the version that a stale use expected of a session.
func (u *Use) suspects(sessionID string) (version int64, suspect bool) {
	if u == nil || !u.contested {
		return 0, false
	}
	session := u.sessions[sessionID]
	if session == nil || !session.changed || session.Before() == nil {
		return 0, false
	}
	return session.Before().Version, true
}

// Of returns the facts for a command of a session, or nil if some are missing and have to be loaded.
// They are also nil if another transaction has locked a session that was to be loaded. With
// lockFirst, cached facts are not used.
func (u *Use) Of(sessionID string, command runs.Command, needs *runs.Needs, lockFirst bool) *Session {
	if u.loaded {
		return u.sessions[sessionID]
	}
	u.cache.mu.Lock()
	defer u.cache.mu.Unlock()
	session := u.session(sessionID, needs, lockFirst)
	if session == nil || !session.Answers(*needs) || !u.cache.mayGuess(needs) {
		return nil
	}
	if row := session.State.Session; row != nil && row.UpdatedAtMs > u.NowMs {
		return nil // another replica's clock is ahead
	}
	if session.Turns(u.NowMs, u.NowMs+u.cache.toleranceMs) {
		return nil // a deadline is too close for an estimated clock
	}
	if needs.TokenID != "" && !u.useToken(session, needs.TokenID) {
		return nil
	}
	if needs.CookieHash != "" {
		u.useSignIn(session, needs)
	}
	if needs.Rules && !u.useRules(session, command, needs) {
		return nil
	}
	return session
}

// session takes a session out of the cache, or returns nil.
func (u *Use) session(sessionID string, needs *runs.Needs, lockFirst bool) *Session {
	session, taken := u.sessions[sessionID]
	if taken || lockFirst || u.cache.generation != u.generation || u.cache.locksFirst(sessionID) {
		return session
	}
	if remembered := u.cache.take(sessionID); remembered != nil {
		session = &Session{Remembered: remembered}
	} else if needs.NewSession {
		session = &Session{Remembered: runs.RememberNew(sessionID)}
	}
	u.sessions[sessionID] = session
	return session
}

// useRules adds the rules that a command was matched against to the ReadSet. It returns false if the
// command must be decided with loaded rules.
func (u *Use) useRules(session *Session, command runs.Command, needs *runs.Needs) bool {
	versions, meets := session.MeetRules(command)
	here := versions
	here.Incarnation = u.incarnation
	if !meets || u.rulesWritten || !versions.Same(here) {
		return false
	}
	expected := map[string]int64{rules.AllSessions: versions.OfAll}
	if session.Before() != nil {
		expected[session.State.SessionID] = versions.OfSession
	} else if versions.OfSession != 0 {
		return false
	}
	for sessionID, version := range expected {
		if other, known := u.rules[sessionID]; known && other != version {
			return false
		}
	}
	if u.rules == nil {
		u.rules = map[string]int64{}
	}
	for sessionID, version := range expected {
		u.rules[sessionID] = version
		for _, digest := range needs.RuleDigests {
			u.exact = append(u.exact, ExactRules{sessionID, digest})
		}
	}
	return true
}

// useToken gives a decision the cached token of its caller and adds the token to the ReadSet. It
// returns false if the token must be loaded.
func (u *Use) useToken(session *Session, tokenID string) bool {
	token, known := u.cache.tokens.Get(tokenID)
	if !known || token.RevokedAtMs != 0 || token.Turns(u.NowMs, u.NowMs+u.cache.toleranceMs) {
		return false
	}
	session.UseToken(token)
	if u.tokens == nil {
		u.tokens = map[string]*auth.Token{}
	}
	u.tokens[tokenID] = token
	return true
}

// useSignIn assumes that a caller is still signed in, as it was when the call arrived, and adds the sign-in to
// the ReadSet.
func (u *Use) useSignIn(session *Session, needs *runs.Needs) {
	session.UseSignIn(needs.CookieHash, needs.TokenID)
	if u.signIns == nil {
		u.signIns = map[string]string{}
	}
	u.signIns[needs.CookieHash] = needs.TokenID
}

// Proves reports whether a decision of a command is valid once its change is written. A decision
// from loaded rows always is.
func (u *Use) Proves(session *Session, needs *runs.Needs, change *runs.Change, err error) bool {
	return u.loaded || session.Proves(needs, change, err)
}

// Session returns the facts of a session that is in use, or nil.
func (u *Use) Session(sessionID string) *Session { return u.sessions[sessionID] }

// Applied notes a change that was decided from the facts of a session and applied to them.
func (u *Use) Applied(session *Session, change *runs.Change) {
	session.Applied(change)
	session.changed = session.changed || !change.Empty()
	u.rulesWritten = u.rulesWritten || len(change.NewRules)+len(change.UpdatedRules) > 0
}

// ReadSet returns what the transaction that writes the changes has to check.
func (u *Use) ReadSet() ReadSet {
	set := ReadSet{Incarnation: u.incarnation, NowMs: u.NowMs, WithinMs: u.cache.toleranceMs, Rules: u.rules, Exact: u.exact, SignIns: u.signIns}
	for _, sessionID := range slices.Sorted(maps.Keys(u.sessions)) {
		if session := u.sessions[sessionID]; session != nil && session.changed && session.Before() != nil {
			set.Sessions = append(set.Sessions, session.Before())
		}
	}
	for _, tokenID := range slices.Sorted(maps.Keys(u.tokens)) {
		set.Tokens = append(set.Tokens, u.tokens[tokenID])
	}
	return set
}

// Stale drops the facts that a commit found to be stale, so that they are loaded next. End drops the
// changed sessions in any case. refused means that a constraint was violated: a row exists
// that was assumed not to. It returns false for an error that says nothing about facts.
func (u *Use) Stale(err error, refused bool) bool {
	c := u.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	u.contested = errors.Is(err, ErrStale)
	switch {
	case errors.Is(err, ErrStaleDatabase):
		u.contested = false
		c.dropAll()
	case errors.Is(err, ErrStaleClock):
		c.clock.distrust()
	case errors.Is(err, ErrStaleRules):
		c.rulesUntil = time.Now().Add(rulesFor)
	case errors.Is(err, ErrStaleTokens):
		for tokenID := range u.tokens {
			c.tokens.Remove(tokenID)
		}
	case errors.Is(err, ErrStale):
	case refused:
		c.lookUpUntil = time.Now().Add(lookUpFor)
	default:
		return false
	}
	return true
}

// Observed notes the time at which a commit has checked the facts.
func (u *Use) Observed(nowMs int64) { u.cache.clock.observe(nowMs) }

// Committed notes that the changes are in the database. It drops the rows that no later decision
// needs.
func (u *Use) Committed() {
	u.committed = true
	for _, session := range u.sessions {
		if session != nil && (u.loaded || session.changed) {
			session.Committed()
		}
	}
}

// Forget keeps the sessions in use out of the cache.
func (u *Use) Forget() { clear(u.sessions) }

// End returns the sessions to the cache, except for those whose changes are not in the database or
// may not be.
func (u *Use) End() {
	c := u.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.maxBytes < 0 || c.generation != u.generation || u.loaded && !u.committed {
		return
	}
	for _, session := range u.sessions {
		if session != nil && (u.committed || !session.changed) {
			c.put(session.Remembered)
		}
	}
}
