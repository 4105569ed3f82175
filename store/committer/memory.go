package committer

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

// For how long a session is decided under its lock after another writer was found at it, and
// all commands that need rules after some were found.
const (
	contestedFor = time.Second
	rulesFor     = time.Second
)

const (
	// maxContested bounds the sessions of a lane that are known as contested.
	maxContested = 4096
	// maxTokens bounds the tokens that a lane remembers.
	maxTokens = 1024
)

// memory is what a lane remembers of the sessions that it decided lately. The lane's
// goroutine alone uses it. A session that is being decided is not in it: it comes back once
// the decisions are in the database, and is forgotten when they are not.
type memory struct {
	// incarnation is that of the database from which all of it is.
	incarnation     int64
	bytes, maxBytes int
	sessions        *simplelru.LRU[string, *kept]
	contested       *simplelru.LRU[string, time.Time]
	// tokens are those of callers as they were read last. They are not looked after: whoever decides
	// by one has it compared with what is there.
	tokens *simplelru.LRU[string, *auth.Token]
	// suspects are the sessions of a batch that was found stale, with the versions that it
	// expected. They are loaded next.
	suspects map[string]int64
	// Until rulesUntil rules are taken to be in force, and until lookUpUntil keys and chosen
	// ids to be taken.
	rulesUntil, lookUpUntil time.Time
}

type kept struct {
	*runs.Remembered
	bytes int
}

func newMemory(maxBytes int) *memory {
	m := &memory{maxBytes: maxBytes, suspects: map[string]int64{}}
	// The only error is a size below 1. The bytes bound it, long before.
	const sessions = 1 << 30
	m.sessions, _ = simplelru.NewLRU(sessions, func(_ string, k *kept) { m.bytes -= k.bytes })
	m.contested, _ = simplelru.NewLRU[string, time.Time](maxContested, nil)
	m.tokens, _ = simplelru.NewLRU[string, *auth.Token](maxTokens, nil)
	return m
}

// take returns what is remembered of a session, nil for nothing, and forgets it.
func (m *memory) take(sessionID string) *runs.Remembered {
	k, there := m.sessions.Get(sessionID)
	if !there {
		return nil
	}
	m.sessions.Remove(sessionID)
	return k.Remembered
}

// forget forgets all sessions.
func (m *memory) forget() { m.sessions.Purge() }

// meet forgets what is of another incarnation of the database than this one.
func (m *memory) meet(incarnation int64) {
	if m.incarnation == incarnation {
		return
	}
	m.incarnation = incarnation
	m.forget()
	m.tokens.Purge()
	clear(m.suspects)
}

// put remembers a session, unless it does not exist or would take most of the memory.
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

// loaded forgets the sessions that a batch has loaded, and remembers the tokens. Sessions that are
// not what was expected of suspects are decided under their lock for a while.
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

// mayGuess reports whether a decision may assume that what it needs beside its session is not
// there.
func (m *memory) mayGuess(needs *runs.Needs) bool {
	return (!needs.Rules || !time.Now().Before(m.rulesUntil)) &&
		(needs.Record == nil && needs.ChosenRunID == "" || !time.Now().Before(m.lookUpUntil))
}
