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
	// maxRuleMatches is how often a command is matched against rules that change meanwhile.
	maxRuleMatches = 5
	// maxRuleReads is how often rules are read until they are those that a decision has met.
	maxRuleReads = 3
	// maxRuleChanges is how many rules of all sessions may change until all are read again.
	maxRuleChanges = 256
	// maxCachedRuleSets and maxCachedRuleBytes bound the rules of sessions that are kept in
	// memory. Those of all sessions are kept beside them.
	maxCachedRuleSets  = 4096
	maxCachedRuleBytes = 32 << 20
)

// ruleCache keeps the rules that commands are matched against. It asks nobody whether they are
// still those: the decision says so, by their version. A session that it knows nothing of has
// no rules until a decision says otherwise.
type ruleCache struct {
	reader runs.RuleReader
	reads  singleflight.Group

	mu sync.Mutex
	// incarnation is that of the database from which the rules are.
	incarnation int64
	ofAll       ruleSet
	sessions    *lru.Cache[string, ruleSet]
	bytes       int
}

// ruleSet are the rules of one session, or of all, at a version.
type ruleSet struct {
	set     *rules.Set // nil for none
	version int64
}

func newRuleCache(reader runs.RuleReader) *ruleCache {
	c := &ruleCache{reader: reader}
	// The only error is a size below 1.
	c.sessions, _ = lru.NewWithEvict(maxCachedRuleSets, func(_ string, gone ruleSet) { c.bytes -= gone.size() })
	return c
}

func (s ruleSet) size() int {
	if s.set == nil {
		return 0
	}
	return s.set.Size()
}

// of returns the rules of a session and of all sessions, as far as they are known.
func (c *ruleCache) of(sessionID string) runs.RuleSets {
	c.mu.Lock()
	defer c.mu.Unlock()
	own, _ := c.sessions.Get(sessionID)
	return runs.RuleSets{
		OfAll: c.ofAll.set, OfSession: own.set,
		Versions: runs.RuleVersions{OfAll: c.ofAll.version, OfSession: own.version, Incarnation: c.incarnation},
	}
}

// meet forgets all rules when they are of another incarnation of the database than this one.
func (c *ruleCache) meet(incarnation int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.incarnation == incarnation {
		return
	}
	c.incarnation, c.ofAll = incarnation, ruleSet{}
	c.sessions.Purge()
}

// refresh reads the rules whose versions are not the ones that a decision has met. In a restored
// database the version met may be less than the known one.
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

// read reads the rules of one session, or of all, once for all who ask at a time. A read that
// began before the asker met its version may be too old for it.
func (c *ruleCache) read(ctx context.Context, sessionID string, most, mostBytes int) error {
	incarnation := c.of("").Versions.Incarnation
	reading := c.reads.DoChan(fmt.Sprint(incarnation, " ", sessionID), func() (any, error) {
		ctx := context.WithoutCancel(ctx)
		// Some more than the bound may be there: those of commands that were decided at once.
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

// readChanges reads what has changed in the rules of all sessions since they were read. It returns
// false when all must be read.
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

// put keeps rules that were asked for while the database had an incarnation, unless it has another one now.
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

// decideMatched matches a command that raises approvals against the rules that are known, and
// decides it. When the decision meets other rules, it is matched again. After maxRuleMatches
// times a person is asked.
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

// answerChange answers a command that has changed rules once no decision is under way that was
// made from the rules as they were before. The lane does not wait for that.
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
