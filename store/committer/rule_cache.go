package committer

import (
	"context"
	"fmt"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
)

const (
	// maxRuleMatches limits how often a command is matched again because rules have changed.
	maxRuleMatches = 5
	// maxRuleReads limits how often rules are read until they have the version that a decision met.
	maxRuleReads = 3
	// maxRuleChanges limits the changes to rules of all sessions before all of them are read again.
	maxRuleChanges = 256
	// maxCachedRuleSets and maxCachedRuleBytes limit the cached rules of single sessions. The rules
	// of all sessions are not counted.
	maxCachedRuleSets  = 4096
	maxCachedRuleBytes = 32 << 20
)

// ruleCache caches the rules that commands are matched against. It never checks whether they are
// current: each decision compares the version. A session that is not cached is assumed to have no
// rules until a decision finds otherwise.
type ruleCache struct {
	reader runs.RuleReader
	reads  singleflight.Group

	mu sync.Mutex
	// incarnation identifies the database server that the rules were read from.
	incarnation int64
	ofAll       ruleSet
	sessions    *lru.Cache[string, ruleSet]
	bytes       int
}

// ruleSet holds the rules of one session, or of all sessions, at a version.
type ruleSet struct {
	set     *rules.Set // nil for none
	version int64
}

func newRuleCache(reader runs.RuleReader) *ruleCache {
	c := &ruleCache{reader: reader}
	// The only possible error is a size below 1.
	c.sessions, _ = lru.NewWithEvict(maxCachedRuleSets, func(_ string, gone ruleSet) { c.bytes -= gone.size() })
	return c
}

func (s ruleSet) size() int {
	if s.set == nil {
		return 0
	}
	return s.set.Size()
}

// of returns the cached rules of a session and of all sessions.
func (c *ruleCache) of(sessionID string) runs.RuleSets {
	c.mu.Lock()
	defer c.mu.Unlock()
	own, _ := c.sessions.Get(sessionID)
	return runs.RuleSets{
		OfAll: c.ofAll.set, OfSession: own.set,
		Versions: runs.RuleVersions{OfAll: c.ofAll.version, OfSession: own.version, Incarnation: c.incarnation},
	}
}

// meet clears the cache if it is from another incarnation of the database.
func (c *ruleCache) meet(incarnation int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.incarnation == incarnation {
		return
	}
	c.incarnation, c.ofAll = incarnation, ruleSet{}
	c.sessions.Purge()
}

// refresh reads the rules whose cached versions differ from the versions that a decision met. After
// a restore, the database's version may be lower than the cached one.
func (c *ruleCache) refresh(ctx context.Context, sessionID string, met runs.RuleVersions) error {
	c.meet(met.Incarnation)
	for reads := range maxRuleReads {
		known := c.of(sessionID).Versions
		reached := func(known, met int64) bool { return known == met || reads > 0 && known > met }
		all, own := reached(known.OfAll, met.OfAll), reached(known.OfSession, met.OfSession)
		if !all {
			if err := c.read(ctx, rules.AllSessions, api.MaxRulesOfAllSessions, api.MaxRuleBytesOfAllSessions); err != nil {
				return err
			}
		}
		if !own {
			if err := c.read(ctx, sessionID, api.MaxRulesOfSession, api.MaxRuleBytesOfSession); err != nil {
				return err
			}
		}
		if all && own {
			return nil
		}
	}
	return nil
}

// read reads the rules of one session or of all sessions. Concurrent callers share one read. It may
// have begun before the caller's version existed, and then returns older rules.
func (c *ruleCache) read(ctx context.Context, sessionID string, most, mostBytes int) error {
	incarnation := c.of("").Versions.Incarnation
	reading := c.reads.DoChan(fmt.Sprint(incarnation, " ", sessionID), func() (any, error) {
		ctx := context.WithoutCancel(ctx)
		// Commands that were decided concurrently may have exceeded the limit slightly.
		most, mostBytes := most+most/10, mostBytes+mostBytes/10
		if sessionID == rules.AllSessions {
			if whole, err := c.readChanges(ctx, incarnation, most, mostBytes); whole || err != nil {
				return nil, err
			}
		}
		version, standing, complete, err := c.reader.StandingRules(ctx, sessionID, most, mostBytes)
		if err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		fresh := ruleSet{version: version}
		if len(standing) > 0 {
			fresh.set = rules.NewSet(standing, complete)
		}
		c.put(incarnation, sessionID, fresh)
		return nil, nil
	})
	select {
	case read := <-reading:
		return read.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readChanges reads the changes to the rules of all sessions since the last read. It returns false
// if all rules must be read.
func (c *ruleCache) readChanges(ctx context.Context, incarnation int64, most, mostBytes int) (whole bool, err error) {
	sets := c.of("")
	set, known := sets.OfAll, sets.Versions.OfAll
	if known == 0 || sets.Versions.Incarnation != incarnation {
		return false, nil
	}
	if set == nil {
		set = rules.NewSet(nil, true)
	}
	changes, whole, err := c.reader.RuleChanges(ctx, known, maxRuleChanges-set.Changed(), mostBytes)
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
	c.put(incarnation, rules.AllSessions, ruleSet{set: set, version: changes.Version})
	return true, nil
}

// put caches rules, unless the incarnation of the database has changed since the read began.
func (c *ruleCache) put(incarnation int64, sessionID string, fresh ruleSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if incarnation != c.incarnation {
		return
	}
	if sessionID == rules.AllSessions {
		c.ofAll = fresh
		return
	}
	if known, _ := c.sessions.Peek(sessionID); known.version == fresh.version {
		return
	}
	c.sessions.Remove(sessionID)
	c.bytes += fresh.size()
	c.sessions.Add(sessionID, fresh)
	for c.bytes > maxCachedRuleBytes && c.sessions.Len() > 1 {
		c.sessions.RemoveOldest()
	}
}

// decideMatched matches a command that raises approvals against the cached rules and decides it. If
// the decision finds newer rules, the command is matched again. After maxRuleMatches tries it asks
// a person.
func (c *Committer) decideMatched(ctx context.Context, command runs.Command) (runs.Reply, error) {
	sessionID, err := c.session(ctx, command.Needs())
	if err != nil {
		return runs.Reply{}, err
	}
	for range maxRuleMatches {
		if err := runs.MatchRules(ctx, command, c.rules.of(sessionID)); err != nil {
			return runs.Reply{}, err
		}
		reply, err := c.decideInLane(ctx, command)
		met, changed := runs.RulesChanged(err)
		if !changed {
			return reply, err
		}
		if err := c.rules.refresh(ctx, sessionID, met); err != nil {
			return runs.Reply{}, err
		}
	}
	runs.AskDespiteRules(command)
	return c.decideInLane(ctx, command)
}

// answerChange answers a command that changed rules, once all decisions based on the old rules have
// ended. It waits in the background and does not block the lane.
func (c *Committer) answerChange(d decision) {
	d.call.settle()
	c.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.options.Timeout)
		defer cancel()
		if err := c.engine.AwaitRuleReaders(ctx); err != nil {
			d.reply = runs.Reply{}
			d.err = fmt.Errorf("%w: the rule is changed, but a decision that was made before may still be under way: %w", runs.ErrUnavailable, err)
		}
		d.call.answer(d.reply, d.err)
	})
}
