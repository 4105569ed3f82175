package facts

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

const (
	// contestedFor is how long a session is loaded under its lock after another writer changed it.
	contestedFor = time.Second
	// After a rule, a key or a chosen id was found that was assumed not to exist, commands that need
	// such rows load them for this long.
	rulesFor, lookUpFor = time.Second, 50 * time.Millisecond
	// maxContested and maxTokens limit the contested sessions and the cached tokens.
	maxContested = 4096
	maxTokens    = 2048
)

// Options configure a Cache.
type Options struct {
	// Bytes limits the cached rows of sessions. No decision is made from the cache if it is negative.
	Bytes int
	// Runs is how many runs are cached with their session.
	Runs int
	// Rules reads standing rules, and Webhooks reads webhooks. Default: there are none.
	Rules    runs.RuleReader
	Webhooks WebhookReader
	// Addresses reports whether decisions depend on whether somebody has a verified address.
	Addresses bool
	// Decides reads the deciding clock, in milliseconds. Nil if that clock is in the database.
	Decides func() int64
	// Local runs at the pace of the deciding clock, in milliseconds.
	Local func() int64
	// Tolerance is how far an estimate of the deciding clock may be off.
	Tolerance time.Duration
}

// Cache is the cache of one process. It is safe for concurrent use.
type Cache struct {
	// Webhooks is nil without a reader.
	Webhooks *Webhooks

	clock       clock
	toleranceMs int64
	ruleReads   ruleReads

	mu sync.Mutex
	// incarnation identifies the database server that everything here was read from, 0 before the
	// first one. generation counts how often everything was dropped: rows that were taken or read
	// before do not enter the cache afterwards.
	incarnation, generation int64
	bytes, maxBytes         int
	sessions                *simplelru.LRU[string, *kept]
	contested               *simplelru.LRU[string, time.Time]
	tokens                  *simplelru.LRU[string, *auth.Token]
	rules                   ruleSets
	// sessionOf maps runs to their sessions.
	sessionOf *lru.Cache[string, string]
	// Until rulesUntil, rules are assumed to exist. Until lookUpUntil, keys and chosen ids are
	// assumed to be in use.
	rulesUntil, lookUpUntil time.Time
}

type kept struct {
	*runs.Remembered
	bytes int
}

// New returns an empty cache.
func New(options Options) *Cache {
	c := &Cache{
		clock: clock{decides: options.Decides, local: options.Local}, toleranceMs: options.Tolerance.Milliseconds(),
		ruleReads: ruleReads{reader: options.Rules},
		maxBytes:  options.Bytes,
	}
	if options.Webhooks != nil {
		c.Webhooks = &Webhooks{reader: options.Webhooks, people: options.Addresses}
	}
	// The only possible error is a size below 1. The byte limit applies long before this size.
	const sessions = 1 << 30
	c.sessions, _ = simplelru.NewLRU(sessions, func(_ string, k *kept) { c.bytes -= k.bytes })
	c.contested, _ = simplelru.NewLRU[string, time.Time](maxContested, nil)
	c.tokens, _ = simplelru.NewLRU[string, *auth.Token](maxTokens, nil)
	c.sessionOf, _ = lru.New[string, string](options.Runs)
	c.rules.init()
	return c
}

// met notes the incarnation of the database that rows were loaded from. If it is another one than
// before, it drops everything. It returns false for the first one.
func (c *Cache) met(incarnation int64) (another bool) {
	before := c.incarnation
	if before == incarnation {
		return false
	}
	c.incarnation = incarnation
	c.dropAll()
	return before != 0
}

// dropAll drops every row, also those that are in use.
func (c *Cache) dropAll() {
	c.generation++
	c.sessions.Purge()
	c.tokens.Purge()
	c.sessionOf.Purge()
	c.rules.clear()
}

// take removes a session from the cache and returns it, or nil. Its rows are in use by one batch.
func (c *Cache) take(sessionID string) *runs.Remembered {
	k, there := c.sessions.Get(sessionID)
	if !there {
		return nil
	}
	c.sessions.Remove(sessionID)
	return k.Remembered
}

// put caches a session, unless it does not exist or would take most of the cache.
func (c *Cache) put(remembered *runs.Remembered) {
	sessionID := remembered.State.SessionID
	c.sessions.Remove(sessionID)
	bytes := remembered.Bytes()
	if remembered.State.Session == nil || bytes > c.maxBytes/4 {
		return
	}
	c.sessions.Add(sessionID, &kept{remembered, bytes})
	for c.bytes += bytes; c.bytes > c.maxBytes; {
		c.sessions.RemoveOldest()
	}
}

func (c *Cache) locksFirst(sessionID string) bool {
	until, there := c.contested.Get(sessionID)
	if there && time.Now().After(until) {
		c.contested.Remove(sessionID)
		return false
	}
	return there
}

// mayGuess reports whether a decision may assume that the rules, keys and ids it needs outside of
// its session do not exist.
func (c *Cache) mayGuess(needs *runs.Needs) bool {
	return (!needs.Rules || !time.Now().Before(c.rulesUntil)) &&
		(needs.Record == nil && needs.ChosenRunID == "" || !time.Now().Before(c.lookUpUntil))
}

// SessionOf returns the cached session of a run, or "".
func (c *Cache) SessionOf(runID string) string {
	sessionID, _ := c.sessionOf.Get(runID)
	return sessionID
}

// InSession caches the session of a run. With an empty session it drops the run.
func (c *Cache) InSession(runID, sessionID string) {
	if sessionID == "" {
		c.sessionOf.Remove(runID)
		return
	}
	c.sessionOf.Add(runID, sessionID)
}
