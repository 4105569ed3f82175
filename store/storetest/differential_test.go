package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// TestDifferential sends the engines and the model the same random commands at the same times
// and compares every reply, rejection, read and row. On Postgres two stores alternate. With the
// tag faults, retention deletes finished rows meanwhile, so that ids of sessions and runs are
// reused.
func TestDifferential(t *testing.T) {
	t.Parallel()
	differ(t, func(example *exampleTB, shared *postgresDatabase) map[string]storetest.Database {
		return map[string]storetest.Database{"sqlite": sqliteFile.Fresh(example), "postgres": shared}
	})
}

// TestRestored is TestDifferential for a database that is restored to an earlier state now and
// then, while the stores are open.
func TestRestored(t *testing.T) {
	t.Parallel()
	differ(t, func(_ *exampleTB, shared *postgresDatabase) map[string]storetest.Database {
		return map[string]storetest.Database{"postgres": shared}
	})
}

func differ(t *testing.T, databases func(*exampleTB, *postgresDatabase) map[string]storetest.Database) {
	t.Helper()
	// One Postgres database for all examples: making one costs more than an example.
	shared := newPostgresDatabase(t)
	rapid.Check(t, func(rt *rapid.T) {
		// Resources of an example are released with it, not with the test.
		example := &exampleTB{TB: t}
		defer example.end()
		shared.reset(t)
		compare(example, rt, databases(example, shared))
	})
}

// notifyAfter is how long a request without steps is open before people are notified.
const notifyAfter = time.Second

// subject is one database under comparison, with the store whose turn it is.
type subject struct {
	name     string
	database storetest.Database
	stores   []runs.Store
	store    runs.Store
	// restore restores the database's last backup, nil without one.
	restore func() error
}

// take switches to one of the stores.
func (s *subject) take(seed uint64) { s.store = s.stores[seed%uint64(len(s.stores))] }

func compare(tb testing.TB, rt *rapid.T, databases map[string]storetest.Database) {
	clock := storetest.NewClock()
	model := storetest.NewModel(storetest.Counter(), notifyAfter)
	var subjects []subject
	for _, name := range slices.Sorted(maps.Keys(databases)) {
		options := storetest.Options{Clock: clock, NewID: storetest.Counter(), NotifyAfter: notifyAfter}
		one := subject{name: name, database: databases[name], stores: []runs.Store{databases[name].Open(tb, options)}}
		if name == "postgres" {
			one.stores = append(one.stores, databases[name].Open(tb, options))
		}
		one.take(0)
		subjects = append(subjects, one)
	}
	var before *storetest.Model // the rows at the time of the backup
	g := storetest.NewGenerator(model)
	steps := rapid.SliceOfN(storetest.Seeds, 30, 80).Draw(rt, "steps")
	for step, seed := range steps {
		clock.Advance(storetest.Pause(seed))
		for i := range subjects {
			subjects[i].take(seed / 7)
		}
		// Retention is among the moves where there is time for it.
		if storetest.Thorough && seed%5 == 0 {
			sessionID := storetest.Sessions()[seed/5%uint64(len(storetest.Sessions()))]
			trim(rt, tb.Context(), model, subjects, sessionID, clock.NowMs())
		}
		if len(subjects) == 1 && seed%11 == 0 {
			before = goBack(rt, tb.Context(), model, before, &subjects[0])
		}
		command := g.Draw(seed, clock.NowMs())
		reply, err := model.Do(command(), clock.NowMs())
		want := storetest.OutcomeOf(reply, err)
		for _, s := range subjects {
			given := command()
			reply, err := s.store.Do(tb.Context(), given)
			if difference := storetest.Diff(want, storetest.OutcomeOf(reply, err)); difference != "" {
				rt.Fatalf("%s answers %T %+v differently (-model +engine):\n%s", s.name, given, given, difference)
			}
		}
		if step%16 == 15 || step == len(steps)-1 {
			compareRows(rt, tb, model, subjects)
			compareReads(rt, tb.Context(), model, subjects)
			compareOwed(rt, tb.Context(), model, subjects, clock.NowMs())
			compareRules(rt, tb.Context(), model, subjects, clock.NowMs())
		}
	}
}

// trim deletes a session's finished rows.
func trim(rt *rapid.T, ctx context.Context, model *storetest.Model, subjects []subject, sessionID string, nowMs int64) {
	var first upkeep.Trimmed
	// SQLite is asked first: Postgres skips a session that is locked, and the transaction of a refused command ends after the
	// reply to it.
	for i, s := range slices.Backward(subjects) {
		trimmed, err := s.store.TrimSession(ctx, sessionID, nowMs, 1000)
		last := i == len(subjects)-1
		for try := 0; try < 1000 && err == nil && !last && trimmed == (upkeep.Trimmed{}) && trimmed != first; try++ {
			trimmed, err = s.store.TrimSession(ctx, sessionID, nowMs, 1000)
		}
		if err != nil {
			rt.Fatalf("%s does not trim %s: %v", s.name, sessionID, err)
		}
		if last {
			first = trimmed
		} else if trimmed != first {
			rt.Fatalf("%s has trimmed %+v of %s, and %s %+v", subjects[len(subjects)-1].name, first, sessionID, s.name, trimmed)
		}
	}
	if first == (upkeep.Trimmed{}) {
		return
	}
	if err := model.Trim(ctx, subjects[0].store, sessionID); err != nil {
		rt.Fatalf("%s does not show what is left of %s: %v", subjects[0].name, sessionID, err)
	}
}

// goBack makes a backup, or restores the last one.
func goBack(rt *rapid.T, ctx context.Context, model, before *storetest.Model, s *subject) *storetest.Model {
	restorer, able := s.database.(storetest.Restorer)
	if !able {
		rt.Fatalf("%s cannot be restored", s.name)
	}
	var err error
	if before == nil {
		s.restore, err = restorer.Backup(ctx)
		before = model.Clone()
	} else {
		err = s.restore()
		model.Become(before)
		before = nil
	}
	if err != nil {
		rt.Fatalf("%s is not restored: %v", s.name, err)
	}
	return before
}

func compareRows(rt *rapid.T, tb testing.TB, model *storetest.Model, subjects []subject) {
	want := model.Tables()
	for _, s := range subjects {
		if difference := storetest.Diff(want, s.database.Tables(tb)); difference != "" {
			rt.Fatalf("the rows of %s differ (-model +engine):\n%s", s.name, difference)
		}
		walked := storetest.WalkedTables(tb.Context(), rt, s.store)
		if difference := storetest.Diff(want.WithoutPayloads(), walked); difference != "" {
			rt.Fatalf("a walk of %s differs (-model +engine):\n%s", s.name, difference)
		}
	}
}

// compareReads compares the engines' reads with each other and, where possible, with the model.
func compareReads(rt *rapid.T, ctx context.Context, model *storetest.Model, subjects []subject) {
	var first map[string]any
	for _, s := range subjects {
		storetest.RequireHealthy(ctx, rt, s.store)
		shown := allReads(rt, ctx, s.store)
		for _, runID := range model.RunIDs() {
			record, err := s.store.ClaimedRun(ctx, runID)
			if err != nil {
				rt.Fatalf("%s does not show run %s: %v", s.name, runID, err)
			}
			record.Outputs = nil
			if difference := storetest.Diff(model.RunRecord(runID), record); difference != "" {
				rt.Fatalf("%s shows run %s differently (-model +engine):\n%s", s.name, runID, difference)
			}
		}
		if first == nil {
			first = shown
			continue
		}
		if difference := storetest.Diff(first, shown); difference != "" {
			rt.Fatalf("%s and %s show different things (-+):\n%s", subjects[0].name, s.name, difference)
		}
	}
}

// compareOwed compares the engines' effects and open clarifications with the model.
func compareOwed(rt *rapid.T, ctx context.Context, want *storetest.Model, subjects []subject, nowMs int64) {
	for _, s := range subjects {
		check := s.check(rt)
		effects, err := s.store.Effects(ctx, reads.EffectQuery{Limit: 1_000})
		check("the effects", want.Effects(), effects, err)
		due, err := s.store.DueEffects(ctx, 1_000)
		check("the due effects", want.DueEffects(nowMs), due, err)
		for _, sessionID := range want.AllSessions() {
			session, err := s.store.Session(ctx, sessionID)
			var shown []model.PendingRequest
			if session != nil {
				shown = session.Besides
			}
			check("the clarifications of "+sessionID, want.Clarifications(sessionID), shown, err)
		}
	}
}

// check returns a function that compares a store's result with the expected one.
func (s *subject) check(rt *rapid.T) func(what string, want, got any, err error) {
	return func(what string, want, got any, err error) {
		if err != nil {
			rt.Fatalf("%s does not show %s: %v", s.name, what, err)
		}
		if difference := storetest.Diff(want, got); difference != "" {
			rt.Fatalf("%s shows %s differently (-model +engine):\n%s", s.name, what, difference)
		}
	}
}

// compareRules compares the engines' rules, and single requests and sessions, with the model.
func compareRules(rt *rapid.T, ctx context.Context, memory *storetest.Model, subjects []subject, nowMs int64) {
	want := memory.Rules()
	for _, s := range subjects {
		check := s.check(rt)
		records, err := s.store.Rules(ctx, reads.RuleQuery{Limit: 1_000})
		check("the rules", want, records, err)
		count, err := s.store.CountRules(ctx, reads.RuleQuery{})
		check("how many rules there are", int64(len(want)), count, err)
		for i := range want {
			record, err := s.store.Rule(ctx, want[i].Rule.RuleID)
			check("a rule", &want[i], record, err)
		}
		for _, sessionID := range []string{"s-1", "s-2", "S-3", "nobody"} {
			rules, atMs, err := s.store.RulesFor(ctx, sessionID, 1_000, &reads.Budget{MaxBytes: api.MaxReplyBytes})
			check("the rules for "+sessionID, memory.RulesFor(sessionID), rules, err)
			check("the moment", nowMs, atMs, err)
		}
		for _, handle := range memory.Handles() {
			request, err := s.store.RequestByHandle(ctx, handle)
			check("request "+handle, memory.RequestByHandle(handle), request, err)
		}
		for _, sessionID := range memory.AllSessions() {
			session, err := s.store.SessionHead(ctx, sessionID)
			check("the row of "+sessionID, memory.SessionHead(sessionID), session, err)
		}
	}
}

// allReads asks a store everything it can be asked.
func allReads(rt *rapid.T, ctx context.Context, store runs.Store) map[string]any {
	shown := map[string]any{}
	show := func(name string, value any, err error) {
		refusal := new(refusal.Error)
		if err != nil && !errors.As(err, &refusal) {
			rt.Fatalf("%s: %v", name, err)
		}
		shown[name] = []any{value, refusal}
	}
	for _, sessionID := range []string{"nobody", "s-1", "s-2", "S-3"} {
		session, err := store.Session(ctx, sessionID)
		show("session "+sessionID, session, err)
		events, _, err := store.EventsWithin(ctx, reads.EventQuery{SessionID: sessionID, After: 3, Limit: 20, MaxBytes: api.MaxReplyBytes})
		show("events of "+sessionID, events, err)
	}
	for _, runID := range []string{"nobody", "r-1", "r-2", "r-3", "R-4", "r-5", "r-6"} {
		run, err := store.Run(ctx, runID)
		show("run "+runID, run, err)
		events, _, err := store.EventsWithin(ctx, reads.EventQuery{RunID: runID, After: 2, Limit: 10, MaxBytes: api.MaxReplyBytes})
		show("events of "+runID, events, err)
		of, settled, err := store.SettledAfter(ctx, runID, 1)
		show("settled of "+runID, []any{of, settled}, err)
	}
	for i, query := range []reads.RunQuery{
		{Limit: 100},
		{Limit: 3, Last: true},
		{Limit: 100, PriorityActive: true},
		{Limit: 4, PriorityActive: true, Last: true},
		{Limit: 100, SessionID: "s-1", AgentID: "coder"},
		{Limit: 100, Status: api.StatusRunning},
		{Limit: 100, Kind: api.KindParentClarification},
		{Limit: 100, After: &reads.RunPosition{SubmittedAtMs: storetest.NewClock().NowMs() + 1_000, RunID: "r-2"}},
		{Limit: 2, PriorityActive: true, After: &reads.RunPosition{Over: true, SubmittedAtMs: storetest.NewClock().NowMs(), RunID: "r-1"}},
		{Limit: 100, PriorityActive: true, After: &reads.RunPosition{SubmittedAtMs: storetest.NewClock().NowMs(), RunID: "r-1"}},
	} {
		list, err := store.Runs(ctx, query)
		show(fmt.Sprintf("runs %d", i), list, err)
		count, err := store.CountRuns(ctx, query)
		show(fmt.Sprintf("count of runs %d", i), count, err)
	}
	for i, query := range []reads.SessionQuery{
		{Limit: 100},
		{Limit: 2, After: "S-3"},
		{Limit: 100, Status: api.SessionIdle},
		{Limit: 100, Status: api.SessionEnded},
		{Limit: 100, Status: api.StatusWaitingForApproval},
		{Limit: 100, AgentID: "coder"},
	} {
		list, err := store.Sessions(ctx, query)
		show(fmt.Sprintf("sessions %d", i), list, err)
		count, err := store.CountSessions(ctx, query)
		show(fmt.Sprintf("count of sessions %d", i), count, err)
	}
	for i, query := range []reads.RequestQuery{
		{Limit: 100, Kind: model.KindApproval},
		{Limit: 100, Kind: model.KindQuestion},
		{Limit: 100, Kind: model.KindQuestion, SessionID: "s-1"},
		{Limit: 100, Kind: model.KindClarification},
		{Kind: model.KindQuestion, SessionID: "s-1", Oldest: true},
		{Limit: 100, Kind: model.KindApproval, SessionID: "s-1", RunID: "r-1"},
		{Limit: 1, Kind: model.KindApproval, After: &reads.RequestPosition{SessionID: "s-1", RunID: "r-1", RequestID: "a-1"}},
	} {
		list, err := store.PendingRequests(ctx, query)
		show(fmt.Sprintf("pending %d", i), list, err)
		count, err := store.CountPendingRequests(ctx, query)
		show(fmt.Sprintf("count of pending %d", i), count, err)
	}
	for i, query := range []reads.EffectQuery{
		{Limit: 100, State: api.EffectPending},
		{Limit: 100, State: api.EffectDone},
		{Limit: 2, State: api.EffectFailed},
		{Limit: 3, SessionID: "s-1"},
		{Limit: 100, After: &reads.EffectPosition{CreatedAtMs: storetest.NewClock().NowMs() + 1_000, EffectID: "open_clarification:run_000020"}},
	} {
		list, err := store.Effects(ctx, query)
		show(fmt.Sprintf("effects %d", i), list, err)
	}
	for i, query := range []reads.RuleQuery{
		{Limit: 2},
		{Limit: 100, SessionID: "s-1"},
		{Limit: 100, SessionID: rules.AllSessions},
		{Limit: 1, SessionID: "s-2", After: &reads.RulePosition{CreatedAtMs: storetest.NewClock().NowMs() + 1_000, RuleID: "l-2"}},
		{Limit: 100, After: &reads.RulePosition{CreatedAtMs: storetest.NewClock().NowMs(), RuleID: "l-1"}},
	} {
		list, err := store.Rules(ctx, query)
		show(fmt.Sprintf("rules %d", i), list, err)
		count, err := store.CountRules(ctx, query)
		show(fmt.Sprintf("count of rules %d", i), count, err)
	}
	for i, agents := range [][]string{nil, {"coder"}, {"writer", model.DefaultAgentID}} {
		list, err := store.Claimable(ctx, reads.ClaimableQuery{AgentIDs: agents, Limit: 4})
		show(fmt.Sprintf("claimable %d", i), list, err)
	}
	due, err := store.Due(ctx, 1_000)
	show("due", due, err)
	dueAtMs, nowMs, err := store.NextDueAtMs(ctx)
	show("next due", []int64{dueAtMs, nowMs}, err)
	return shown
}

func TestModelTellsEnginesApart(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	model := storetest.NewModel(storetest.Counter(), 0)
	database := sqliteFile.Fresh(t)
	store := database.Open(t, storetest.Options{Clock: clock, NewID: storetest.Counter()})
	create := func(input string) runs.Command {
		return &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(input)}
	}
	_, err := model.Do(create(`1`), clock.NowMs())
	require.NoError(t, err)
	_, err = store.Do(t.Context(), create(`2`))
	require.NoError(t, err)
	require.Contains(t, storetest.Diff(model.Tables(), database.Tables(t)), "input")
}
