package committer

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

// Cool-downs: contestedFor is how long a session is decided under its lock after another writer
// changed it. rulesFor is how long all commands that need rules are, after rules were found.
const (
	contestedFor = time.Second
	rulesFor     = time.Second
)

const (
	// maxContested limits the contested sessions of a lane.
	maxContested = 4096
	// maxTokens limits the cached tokens of a lane.
	maxTokens = 1024
)

// memory is a lane's cache of sessions that it decided lately. Only the lane's goroutine uses it. A
// session is removed while it is being decided. It is added back once the decisions are committed,
// and dropped if they are not.
type memory struct {
	// incarnation identifies the database server that everything here was read from.
	incarnation     int64
	bytes, maxBytes int
	sessions        *simplelru.LRU[string, *kept]
	contested       *simplelru.LRU[string, time.Time]
	// tokens caches caller tokens without invalidation. The commit compares them with the database.
	tokens *simplelru.LRU[string, *auth.Token]
	// suspects are the sessions of a stale batch with the versions it expected. They are loaded
	// next.
	suspects map[string]int64
	// Until rulesUntil, rules are assumed to exist. Until lookUpUntil, keys and chosen ids are
	// assumed to be in use.
	rulesUntil, lookUpUntil time.Time
}

type kept struct {
	*runs.Remembered
	bytes int
}

func newMemory(maxBytes int) *memory {
	m := &memory{maxBytes: maxBytes, suspects: map[string]int64{}}
	// The only possible error is a size below 1. The byte limit applies long before this size.
	const sessions = 1 << 30
	m.sessions, _ = simplelru.NewLRU(sessions, func(_ string, k *kept) { m.bytes -= k.bytes })
	m.contested, _ = simplelru.NewLRU[string, time.Time](maxContested, nil)
	m.tokens, _ = simplelru.NewLRU[string, *auth.Token](maxTokens, nil)
	return m
}

// take removes a session from the cache and returns it, or nil.
func (m *memory) take(sessionID string) *runs.Remembered {
	k, there := m.sessions.Get(sessionID)
	if !there {
		return nil
	}
	m.sessions.Remove(sessionID)
	return k.Remembered
}

// forget removes all sessions.
func (m *memory) forget() { m.sessions.Purge() }

// meet clears the cache if it is from another incarnation of the database.
func (m *memory) meet(incarnation int64) {
	if m.incarnation == incarnation {
		return
	}
	m.incarnation = incarnation
	m.forget()
	m.tokens.Purge()
	clear(m.suspects)
}

// put caches a session, unless it does not exist or would take most of the cache.
func (m *memory) put(remembered *runs.Remembered) {
	sessionID := remembered.State.SessionID
	m.sessions.Remove(sessionID)
	bytes := remembered.Bytes()
	if remembered.State.Session == nil || bytes > m.maxBytes/4 {
		return
	}
	m.sessions.Add(sessionID, &kept{remembered, bytes})
	for m.bytes += bytes; m.bytes > m.maxBytes; {
		m.sessions.RemoveOldest()
	}
}

// loaded removes the sessions that a batch has loaded and caches the tokens. Suspects whose version
// differs are decided under their lock for a while.
func (m *memory) loaded(batch Batch, loads []Load) {
	m.meet(batch.Incarnation())
	for i := range loads {
		sessionID := loads[i].SessionID
		m.take(sessionID)
		if state := batch.State(sessionID); state != nil {
			for tokenID, token := range state.Tokens {
				m.tokens.Add(tokenID, token)
			}
		}
		if version, suspect := m.suspects[sessionID]; suspect {
			if state := batch.State(sessionID); state == nil || state.Session == nil || state.Session.Version != version {
				m.lockFirst(sessionID)
			}
			delete(m.suspects, sessionID)
		}
	}
}

// lockFirst makes the lane decide a session under its lock for a while.
func (m *memory) lockFirst(sessionID string) {
	m.contested.Add(sessionID, time.Now().Add(contestedFor))
}

func (m *memory) locksFirst(sessionID string) bool {
	until, there := m.contested.Get(sessionID)
	if there && time.Now().After(until) {
		m.contested.Remove(sessionID)
		return false
	}
	return there
}

// mayGuess reports whether a decision may assume that the rules, keys and ids it needs outside of
// its session do not exist.
func (m *memory) mayGuess(needs *runs.Needs) bool {
	return (!needs.Rules || !time.Now().Before(m.rulesUntil)) &&
		(needs.Record == nil && needs.ChosenRunID == "" || !time.Now().Before(m.lookUpUntil))
}
