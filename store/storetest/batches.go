package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/door"
)

// Batches compares an engine with the model when several commands share a transaction: each must
// see the effects of the earlier ones, although the engine loaded its rows before any was
// decided.
type Batches struct {
	engine    door.Engine
	newID     runs.IDSource
	model     *Model
	generator *Generator
}

// NewBatches returns a comparison that starts with an empty database.
func NewBatches(engine door.Engine) *Batches {
	model := NewModel(Counter(), 0)
	return &Batches{engine: engine, newID: Counter(), model: model, generator: NewGenerator(model)}
}

// Step decides a command per seed, all in one transaction. It returns the difference, or "".
func (b *Batches) Step(ctx context.Context, seeds []uint64, nowMs int64) (string, error) {
	type member struct {
		command   runs.Command
		sessionID string
		make      Maker
		refused   error // by Prepare
	}
	var members []member
	chosen := map[string]string{}
	loads := map[string]*door.Load{}
	for _, seed := range seeds {
		drawn := b.generator.Draw(seed, nowMs)
		command := drawn()
		// The database rejects one id or key used by two sessions in one batch; another test
		// covers that.
		if b.taken(chosen, command) {
			continue
		}
		// A run created in the batch cannot be found before the commit.
		needs := command.Needs()
		if needs.SessionID == "" && needs.RunID != "" && b.model.Run(needs.RunID) == nil {
			continue
		}
		if err := runs.Prepare(command, b.newID); err != nil {
			members = append(members, member{make: drawn, refused: err})
			continue
		}
		needs = command.Needs()
		sessionID := needs.SessionID
		if sessionID == "" {
			var err error
			if sessionID, err = b.engine.SessionOf(ctx, needs.RunID); err != nil {
				return "", err
			}
		}
		members = append(members, member{command: command, sessionID: sessionID, make: drawn})
		if loads[sessionID] == nil {
			loads[sessionID] = &door.Load{SessionID: sessionID}
		}
		loads[sessionID].Add(needs)
	}
	ordered := make([]door.Load, 0, len(loads))
	for _, load := range loads {
		ordered = append(ordered, *load)
	}
	slices.SortFunc(ordered, func(a, b door.Load) int { return cmp.Compare(a.SessionID, b.SessionID) })
	batch, err := b.engine.Begin(ctx, ordered)
	if err != nil {
		return "", err
	}
	defer batch.Rollback(ctx)
	var changes []runs.Change
	for _, m := range members {
		if m.refused != nil {
			// In order: it may have made identifiers before it was rejected.
			if _, modelErr := b.model.Do(m.make(), batch.NowMs()); refusal.CodeOf(modelErr) != refusal.CodeOf(m.refused) {
				return "the model prepares a command differently", nil
			}
			continue
		}
		state := batch.State(m.sessionID)
		sets := runs.RuleSets{
			OfAll: b.model.ruleSet(rules.AllSessions), OfSession: b.model.ruleSet(m.sessionID), Versions: state.RuleVersions,
		}
		if err := runs.MatchRules(ctx, m.command, sets); err != nil {
			return "", err
		}
		change, reply, err := runs.Decide(state, m.command, batch.NowMs())
		state.Apply(change)
		changes = append(changes, change)
		modelReply, modelErr := b.model.once(m.make(), batch.NowMs())
		if difference := Diff(OutcomeOf(modelReply, modelErr), OutcomeOf(reply, err)); difference != "" {
			return difference, nil
		}
	}
	return "", batch.Commit(ctx, runs.Gather(changes))
}

// Tables returns all rows of the model.
func (b *Batches) Tables(tb testing.TB) Tables {
	tb.Helper()
	return b.model.Tables()
}

// taken reports whether the command uses an id or key, unique across sessions, that another
// session of the batch has used, and otherwise records its own.
func (b *Batches) taken(chosen map[string]string, command runs.Command) bool {
	session, names := b.names(len(chosen), command)
	reads, writes := usesGlobalRules(command)
	switch reader, read := chosen[readRules]; {
	case writes && read && reader != session:
		return true
	case reads && chosen[writtenRules] != "" && chosen[writtenRules] != session:
		return true
	}
	for _, name := range names {
		if other, there := chosen[name]; there && other != session {
			return true
		}
	}
	for _, name := range names {
		chosen[name] = session
	}
	if writes {
		chosen[writtenRules] = session
	}
	if reader, read := chosen[readRules]; reads && read && reader != session {
		chosen[readRules] = "several"
	} else if reads {
		chosen[readRules] = session
	}
	return false
}

// The session that writes rules of all sessions, and the one that reads them. Sessions of a
// batch do not see each other's writes: in the model the reader came first, and here it may not.
const (
	writtenRules = "the rules of all sessions, written"
	readRules    = "the rules of all sessions, read"
)

// names returns the session of a command, and the ids and keys that the database
// refuses or that decide otherwise when another session of the batch has them too.
func (b *Batches) names(before int, command runs.Command) (session string, names []string) {
	switch made := command.(type) {
	case *runs.CreateRun:
		session = made.SessionID
		if !made.SessionGiven {
			session = fmt.Sprintf("made %d", before)
		}
		if made.RunID != "" {
			names = append(names, "run "+made.RunID)
		}
		if !made.SessionGiven && made.Key != "" {
			names = append(names, "key "+made.Key)
		}
	case *runs.OpenClarification:
		session, names = made.SessionID, []string{"run " + made.RunID}
	case *runs.AddRule:
		session = cmp.Or(made.SessionID, rules.AllSessions)
		if made.RuleID != "" {
			names = append(names, "rule "+made.RuleID)
			// It differs by another session's rule changes.
			if rule := b.model.Rule(made.RuleID); rule != nil && rule.SessionID != session {
				names = append(names, "session "+rule.SessionID)
			}
		}
	default:
		needs := command.Needs()
		session = needs.SessionID
		if run := b.model.Run(needs.RunID); session == "" && run != nil {
			session = run.SessionID
		}
	}
	// Names and runs share one space of ids.
	if segment := command.Needs().SegmentID; segment != "" {
		names = append(names, "run "+segment)
	}
	return session, append(names, "session "+session)
}

// usesGlobalRules reports whether a command decides from rules of all sessions, and
// whether it may change them.
func usesGlobalRules(command runs.Command) (reads, writes bool) {
	always := func(given []runs.ApprovalDecision) bool {
		return slices.ContainsFunc(given, func(r runs.ApprovalDecision) bool { return r.Remember == api.RememberAlways })
	}
	switch given := command.(type) {
	case *runs.AddRule:
		writes = cmp.Or(given.SessionID, rules.AllSessions) == rules.AllSessions
	case *runs.RevokeRule:
		writes = cmp.Or(given.SessionID, rules.AllSessions) == rules.AllSessions
	case *runs.ResolveApprovals:
		writes = always(given.Resolutions)
	case *runs.DecideRequests:
		writes = always(given.Approvals)
	}
	return command.Needs().Rules, writes
}
