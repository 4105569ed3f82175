package facts

import (
	"context"
	"fmt"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
)

const (
	// maxRuleReads limits how often rules are read until they have the version that a decision met.
	maxRuleReads = 3
	// maxRuleChanges limits the changes to rules of all sessions before all of them are read again.
	maxRuleChanges = 256
	// maxCachedRuleSets and maxCachedRuleBytes limit the cached rules of single sessions. The rules
	// of all sessions are not counted.
	maxCachedRuleSets  = 4096
	maxCachedRuleBytes = 32 << 20
)

// ruleSets are the cached rules that commands are matched against. A session that is not cached is
// assumed to have no rules until a decision finds otherwise.
type ruleSets struct {
	ofAll    ruleSet
	sessions *simplelru.LRU[string, ruleSet]
	bytes    int
}

// ruleReads lets concurrent callers share a read of rules.
type ruleReads struct {
	reader runs.RuleReader
	group  singleflight.Group
}

// ruleSet holds the rules of one session, or of all sessions, at a version.
type ruleSet struct {
	set     *rules.Set // nil for none
	version int64
}

func (s *ruleSets) init() {
	// The only possible error is a size below 1.
	s.sessions, _ = simplelru.NewLRU(maxCachedRuleSets, func(_ string, gone ruleSet) { s.bytes -= gone.size() })
}

func (s *ruleSets) clear() {
	s.ofAll = ruleSet{}
	s.sessions.Purge()
}

func (s ruleSet) size() int {
	if s.set == nil {
		return 0
	}
	return s.set.Size()
}

// Rules returns the cached rules of a session and of all sessions.
func (c *Cache) Rules(sessionID string) runs.RuleSets {
	c.mu.Lock()
	defer c.mu.Unlock()
	own, _ := c.rules.sessions.Get(sessionID)
	return runs.RuleSets{
		OfAll: c.rules.ofAll.set, OfSession: own.set,
		Versions: runs.RuleVersions{OfAll: c.rules.ofAll.version, OfSession: own.version, Incarnation: c.incarnation},
	}
}

// ReadRules reads the rules whose cached versions differ from the versions that a decision met. After
// a restore, the database's version may be lower than the cached one. It returns the errors of the
// reader and of the context.
func (c *Cache) ReadRules(ctx context.Context, sessionID string, met runs.RuleVersions) error {
	for reads := range maxRuleReads {
		known := c.Rules(sessionID).Versions
		reached := func(known, met int64) bool { return known == met || reads > 0 && known > met }
		all, own := reached(known.OfAll, met.OfAll), reached(known.OfSession, met.OfSession)
		if !all {
			if err := c.readRules(ctx, rules.AllSessions, api.MaxRulesOfAllSessions, api.MaxRuleBytesOfAllSessions); err != nil {
				return err
			}
		}
		if !own {
			if err := c.readRules(ctx, sessionID, api.MaxRulesOfSession, api.MaxRuleBytesOfSession); err != nil {
				return err
			}
		}
		if all && own {
			return nil
		}
	}
	return nil
}

// readRules reads the rules of one session or of all sessions. Concurrent callers share one read. It
// may have begun before the caller's version existed, and then returns older rules.
func (c *Cache) readRules(ctx context.Context, sessionID string, most, mostBytes int) error {
	c.mu.Lock()
	generation := c.generation
	c.mu.Unlock()
	reading := c.ruleReads.group.DoChan(fmt.Sprint(generation, " ", sessionID), func() (any, error) {
		ctx := context.WithoutCancel(ctx)
		// Commands that were decided concurrently may have exceeded the limit slightly.
		most, mostBytes := most+most/10, mostBytes+mostBytes/10
		if sessionID == rules.AllSessions {
			if whole, err := c.readRuleChanges(ctx, generation, most, mostBytes); whole || err != nil {
				return nil, err
			}
		}
		version, standing, complete, err := c.ruleReads.reader.StandingRules(ctx, sessionID, most, mostBytes)
		if err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		fresh := ruleSet{version: version}
		if len(standing) > 0 {
			fresh.set = rules.NewSet(standing, complete)
		}
		c.putRules(generation, sessionID, fresh)
		return nil, nil
	})
	select {
	case read := <-reading:
		return read.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readRuleChanges reads the changes to the rules of all sessions since the last read. It returns false
// if all rules must be read.
func (c *Cache) readRuleChanges(ctx context.Context, generation int64, most, mostBytes int) (whole bool, err error) {
	sets := c.Rules("")
	set, known := sets.OfAll, sets.Versions.OfAll
	if known == 0 {
		return false, nil
	}
	if set == nil {
		set = rules.NewSet(nil, true)
	}
	changes, whole, err := c.ruleReads.reader.RuleChanges(ctx, known, maxRuleChanges-set.Changed(), mostBytes)
	if err != nil {
		return false, fmt.Errorf("read changes of rules: %w", err)
	}
	if !whole {
		return false, nil
	}
	set = set.With(changes.RuleIDs, changes.Standing)
	if !set.Within(most, mostBytes) {
		return false, nil
	}
	c.putRules(generation, rules.AllSessions, ruleSet{set: set, version: changes.Version})
	return true, nil
}

// putRules caches rules, unless everything was dropped since the read began.
func (c *Cache) putRules(generation int64, sessionID string, fresh ruleSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation {
		return
	}
	if sessionID == rules.AllSessions {
		c.rules.ofAll = fresh
		return
	}
	if known, _ := c.rules.sessions.Peek(sessionID); known.version == fresh.version {
		return
	}
	c.rules.sessions.Remove(sessionID)
	c.rules.bytes += fresh.size()
	c.rules.sessions.Add(sessionID, fresh)
	for c.rules.bytes > maxCachedRuleBytes && c.rules.sessions.Len() > 1 {
		c.rules.sessions.RemoveOldest()
	}
}
