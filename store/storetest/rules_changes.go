package storetest

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// ruleFollower follows the rules of all sessions by reading the changes, as far as they are
// known.
type ruleFollower struct {
	reader  runs.RuleReader
	version int64
	rules   map[string]*rules.Rule
	// parts and wholes count the reads of changes and of all rules.
	parts, wholes int
}

func (f *ruleFollower) read(h *harness, limit int) {
	h.Helper()
	changes, whole, err := f.reader.RuleChanges(h.ctx, f.version, limit, api.MaxRuleBytesOfAllSessions)
	require.NoError(h, err)
	if !whole {
		version, standing, complete, err := f.reader.StandingRules(h.ctx, rules.AllSessions, 1_000, api.MaxRuleBytesOfAllSessions)
		require.NoError(h, err)
		require.True(h, complete)
		f.rules = map[string]*rules.Rule{}
		changes = runs.RuleChanges{Version: version, Standing: standing}
		f.wholes++
	} else {
		require.LessOrEqual(h, len(changes.RuleIDs), limit)
		f.parts++
	}
	for _, ruleID := range changes.RuleIDs {
		delete(f.rules, ruleID)
	}
	for _, rule := range changes.Standing {
		f.rules[rule.RuleID] = rule
	}
	f.version = changes.Version
}

// ruleChanger makes hostile changes of rules: ids are reused after deletion, rules expire, are
// revoked twice, and belong to other sessions or are exact.
type ruleChanger struct {
	*rand.Rand
}

func (c ruleChanger) change(h *harness, store runs.Store) {
	h.Helper()
	ruleID := numbered("l", c.IntN(8))
	var command runs.Command
	switch c.IntN(10) {
	case 0, 1, 2, 3:
		add := &runs.AddRule{
			RuleID: ruleID, ToolName: []string{"bash", "write"}[c.IntN(2)], Match: anyInput, Actor: person,
			Effect: []api.RuleEffect{api.RuleAllow, api.RuleAllow, api.RuleAsk, api.RuleDeny}[c.IntN(4)],
		}
		switch c.IntN(6) {
		case 0:
			add.Match = digestOf(h, `1`)
		case 1:
			add.SessionID = "s"
		case 2, 3:
			add.ExpiresAfterMs = new(int64(1 + c.IntN(20)))
		}
		command = add
	case 4, 5, 6:
		command = &runs.RevokeRule{RuleID: ruleID, Actor: person}
	case 7:
		h.clock.Advance(int64(1 + c.IntN(5)))
		return
	default:
		_, err := store.SweepRules(h.ctx, h.clock.NowMs(), 1+c.IntN(3))
		require.NoError(h, err)
		return
	}
	// Ids in use and missing rules are rejected.
	_, err := store.Do(h.ctx, command)
	if err != nil {
		var refused *refusal.Error
		require.ErrorAs(h, err, &refused)
	}
}

// changesAreWhole lets followers of rules read the changes at any of the stores, and compares
// them with a full read.
func changesAreWhole(h *harness, stores ...runs.Store) {
	h.Helper()
	changer := ruleChanger{rand.New(rand.NewPCG(11, 12))}
	var followers []*ruleFollower
	for range 3 {
		for _, store := range stores {
			followers = append(followers, &ruleFollower{reader: store.(runs.RuleReader), rules: map[string]*rules.Rule{}})
		}
	}
	nowMs := func(list []*rules.Rule) []rules.Rule {
		standing := []rules.Rule{}
		for _, rule := range list {
			if rule.WhyOver(h.clock.NowMs()) == "" {
				standing = append(standing, *rule)
			}
		}
		slices.SortFunc(standing, func(a, b rules.Rule) int { return rules.Compare(&a, &b) })
		return standing
	}
	for step := range 250 {
		changer.change(h, stores[changer.IntN(len(stores))])
		follower := followers[changer.IntN(len(followers))]
		follower.read(h, []int{2, 100}[changer.IntN(2)])
		version, standing, _, err := stores[0].(runs.RuleReader).StandingRules(h.ctx, rules.AllSessions, 1_000, api.MaxRuleBytesOfAllSessions)
		require.NoError(h, err)
		require.Equal(h, version, follower.version)
		var kept []*rules.Rule
		for _, rule := range follower.rules {
			kept = append(kept, rule)
		}
		require.Equal(h, nowMs(standing), nowMs(kept), "step %d", step)
	}
	for _, follower := range followers {
		require.Positive(h, follower.parts)
		require.Positive(h, follower.wholes)
	}
}

// changesAreMet raises approvals at each store after each change at one of them, and checks that
// all current rules decide.
func changesAreMet(h *harness, stores ...runs.Store) {
	h.Helper()
	changer := ruleChanger{rand.New(rand.NewPCG(13, 14))}
	seen := map[bool]int{}
	for step := range 60 {
		changer.change(h, stores[changer.IntN(len(stores))])
		changer.change(h, stores[changer.IntN(len(stores))])
		_, standing, _, err := h.store.(runs.RuleReader).StandingRules(h.ctx, rules.AllSessions, 1_000, api.MaxRuleBytesOfAllSessions)
		require.NoError(h, err)
		slices.SortFunc(standing, rules.Compare)
		for n, store := range stores {
			tool := []string{"bash", "write"}[changer.IntN(2)]
			held := approvals("a")
			held.Approvals[0] = withInput(withTool(held.Approvals[0], tool), `2`)
			name := fmt.Sprintf("met-%d-%d", step, n)
			reply, err := store.Do(h.ctx, &runs.CreateRun{
				SessionID: name, SessionGiven: true, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &held,
			})
			require.NoError(h, err)
			verdict := rules.Judge(standing, &rules.Call{SessionID: name, ToolName: tool, Input: api.JSON(`2`)}, h.clock.NowMs())
			want := map[api.RuleEffect]api.Outcome{api.RuleAllow: api.OutcomeAllowed, api.RuleDeny: api.OutcomeDenied}[verdict.Effect]
			require.Equal(h, want, reply.Run.Requests[0].Outcome, "step %d, store %d", step, n)
			seen[want != ""]++
		}
	}
	require.Positive(h, seen[true])
	require.Positive(h, seen[false])
}

var ruleChangeTests = map[string]func(*harness){
	"rule changes/equal a full read": func(h *harness) { changesAreWhole(h, h.store) },
	"rule changes/are met at once":   func(h *harness) { changesAreMet(h, h.store) },
}

var ruleChangeReplicaTests = map[string]func(*harness){
	"replicas/changes of rules equal a full read": func(h *harness) { changesAreWhole(h, h.store, h.open()) },
	"replicas/changes of rules are met at once":   func(h *harness) { changesAreMet(h, h.store, h.open()) },
}

// RequireRuleChanges checks that a reader of a database without rules reports when it may have
// missed changes by any writer. db is the same database.
func RequireRuleChanges(t *testing.T, reader runs.RuleReader, db *sql.DB) {
	t.Helper()
	exec := func(statement string) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	version := func() int64 {
		t.Helper()
		version, _, _, err := reader.StandingRules(t.Context(), rules.AllSessions, 10, 1<<20)
		require.NoError(t, err)
		return version
	}
	changes := func(since int64, limit, maxBytes int) (changed, standing []string, whole bool) {
		t.Helper()
		got, whole, err := reader.RuleChanges(t.Context(), since, limit, maxBytes)
		require.NoError(t, err)
		if whole {
			require.Equal(t, version(), got.Version)
		}
		for _, rule := range got.Standing {
			standing = append(standing, rule.RuleID)
		}
		slices.Sort(standing)
		return slices.Compact(slices.Sorted(slices.Values(got.RuleIDs))), standing, whole
	}
	requireChanges := func(since int64, changed, standing []string) {
		t.Helper()
		gotChanged, gotStanding, whole := changes(since, 100, 1<<20)
		require.True(t, whole)
		require.Equal(t, changed, gotChanged)
		require.Equal(t, standing, gotStanding)
	}
	unknown := func(since int64, limit, maxBytes int) {
		t.Helper()
		_, _, whole := changes(since, limit, maxBytes)
		require.False(t, whole)
	}
	unknown(0, 100, 1<<20)
	const add = `INSERT INTO rules (created_at_ms, uses, session_id, rule_id, tool_name, effect, created_by, text, match)
		VALUES (1, 0, '*', '%s', 'bash', 'allow', 'ann', 'a rule', '{"any_input":true}')`
	exec(fmt.Sprintf(add, "l-1"))
	exec(fmt.Sprintf(add, "l-2"))
	first := version()
	requireChanges(first, nil, nil)
	unknown(first+1, 100, 1<<20)

	// A writer that knows nothing of the changes, as one of an earlier version.
	exec(`UPDATE rules SET revoked_at_ms = 2, revoked_by = 'eve' WHERE rule_id = 'l-1'`)
	exec(fmt.Sprintf(add, "l-3"))
	third := version()
	requireChanges(first, []string{"l-1", "l-3"}, []string{"l-3"})
	unknown(first, 1, 1<<20)
	unknown(first, 100, 3)
	exec(`DELETE FROM rules WHERE rule_id = 'l-1'`)
	requireChanges(first, []string{"l-1", "l-3"}, []string{"l-3"})
	exec(fmt.Sprintf(add, "l-1"))
	requireChanges(first, []string{"l-1", "l-3"}, []string{"l-1", "l-3"})
	requireChanges(third, []string{"l-1"}, []string{"l-1"})

	// A line that is missing is noticed, wherever it is.
	exec(fmt.Sprintf(`DELETE FROM rule_changes WHERE version = %d`, third))
	unknown(first, 100, 1<<20)
	requireChanges(third, []string{"l-1"}, []string{"l-1"})
	exec(fmt.Sprintf(`DELETE FROM rule_changes WHERE version > %d`, third))
	unknown(third, 100, 1<<20)

	// Old lines go.
	for old := range 1200 {
		exec(fmt.Sprintf(`INSERT INTO rule_changes (version, previous, rule_id) VALUES (%d, %d, 'old')`, -old, -old-1))
	}
	lines := func() (lines int) {
		t.Helper()
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM rule_changes`).Scan(&lines))
		return lines
	}
	// They are checked after one change in 16, at random.
	for n := 0; lines() > 1200; n++ {
		require.Less(t, n, 1000)
		before := version()
		exec(fmt.Sprintf(add, fmt.Sprint("l-4-", n)))
		requireChanges(before, []string{fmt.Sprint("l-4-", n)}, []string{fmt.Sprint("l-4-", n)})
	}
	require.Equal(t, 1001, lines())
}
