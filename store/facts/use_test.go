package facts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/facts"
)

func newCache() *facts.Cache {
	return facts.New(facts.Options{Bytes: 1 << 20, Runs: 8, Decides: func() int64 { return 1_000 }, Local: func() int64 { return 0 }})
}

// load caches a session as a transaction on a database would.
func load(c *facts.Cache, incarnation int64, sessionID string) {
	use := c.Loading(nil)
	use.Began(1_000, incarnation)
	loadInto(use, sessionID)
	use.Committed()
	use.End()
}

func loadInto(use *facts.Use, sessionID string) {
	state := runs.NewState(sessionID)
	state.Session = &model.Session{SessionID: sessionID, Version: 7}
	use.Loaded(sessionID, state, []runs.Needs{{SessionID: sessionID}})
}

// cached reports whether a session is in the cache.
func cached(c *facts.Cache, sessionID string) bool {
	use := c.Cached()
	defer use.End()
	return use.Of(sessionID, nil, &runs.Needs{SessionID: sessionID}, false) != nil
}

func change(version int64) *runs.Change {
	return &runs.Change{Session: &model.Session{SessionID: "s", Version: version}}
}

func TestASessionIsUsedByOneBatch(t *testing.T) {
	t.Parallel()
	c := newCache()
	require.False(t, cached(c, "s"))
	load(c, 1, "s")
	require.True(t, cached(c, "s"))
	use := c.Cached()
	require.NotNil(t, use.Of("s", nil, &runs.Needs{SessionID: "s"}, false))
	require.False(t, cached(c, "s"), "the other batch has it")
	use.End()
	require.True(t, cached(c, "s"))
	use = c.Cached()
	require.Nil(t, use.Of("s", nil, &runs.Needs{SessionID: "s"}, true), "it is to be locked first")
	use.End()
}

// What was decided but not committed must not be the basis of later decisions.
func TestAChangeIsCachedOnceItIsCommitted(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{true, false} {
		c := newCache()
		load(c, 1, "s")
		use := c.Cached()
		session := use.Of("s", nil, &runs.Needs{SessionID: "s"}, false)
		session.State.Apply(*change(8))
		use.Applied(session, change(8))
		require.EqualValues(t, 7, use.ReadSet().Sessions[0].Version, "the version that was read")
		if committed {
			use.Committed()
		}
		use.End()
		require.Equal(t, committed, cached(c, "s"))

		use = c.Loading(nil)
		use.Began(1_000, 1)
		loadInto(use, "s")
		if committed {
			use.Committed()
		}
		use.End()
		require.Equal(t, committed, cached(c, "s"), "the same for loaded rows")
	}
}

// Versions count for one database. Rows of another one do not enter the cache, and no ReadSet mixes
// the two.
func TestRowsOfAnotherDatabaseAreDropped(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(c *facts.Cache){
		"another server": func(c *facts.Cache) { load(c, 2, "u") },
		"somebody else wrote": func(c *facts.Cache) {
			use := c.Cached()
			require.True(t, use.Stale(facts.ErrStaleDatabase, false))
			use.End()
			load(c, 1, "u")
		},
	} {
		c := newCache()
		load(c, 1, "s")
		inUse, loading := c.Cached(), c.Loading(nil)
		require.NotNil(t, inUse.Of("s", nil, &runs.Needs{SessionID: "s"}, false))
		loading.Began(1_000, 1)
		loadInto(loading, "l")
		c.InSession("run", "s")

		other(c)
		require.Empty(t, c.SessionOf("run"), name)
		require.Nil(t, inUse.Of("u", nil, &runs.Needs{SessionID: "u"}, false), "%s: read from the other one", name)
		require.EqualValues(t, 1, inUse.ReadSet().Incarnation, name)
		inUse.End()
		loading.Committed()
		loading.End()
		for sessionID, want := range map[string]bool{"s": false, "l": false, "u": true} {
			require.Equal(t, want, cached(c, sessionID), "%s: %s", name, sessionID)
		}
	}
}

// A session that another writer has changed is locked first. One whose commit failed for another
// reason is not.
func TestAContestedSessionIsLockedFirst(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err    error
		loaded int64
		first  bool
	}{
		{facts.ErrStale, 9, true},
		{facts.ErrStale, 7, false},
		{facts.ErrStaleDatabase, 9, false},
	} {
		c := newCache()
		load(c, 1, "s")
		use := c.Cached()
		session := use.Of("s", nil, &runs.Needs{SessionID: "s"}, false)
		use.Applied(session, change(8))
		use.End()
		require.True(t, use.Stale(test.err, false))
		again := c.Loading(use)
		again.Began(1_000, 1)
		state := runs.NewState("s")
		state.Session = &model.Session{SessionID: "s", Version: test.loaded}
		again.Loaded("s", state, []runs.Needs{{SessionID: "s"}})
		again.Committed()
		again.End()
		require.Equal(t, !test.first, cached(c, "s"), "%+v", test)
	}
}

// A token that a commit found to be another one is loaded next. So is it if the caller's sign-in has ended.
func TestAStaleTokenIsDropped(t *testing.T) {
	t.Parallel()
	c := newCache()
	use := c.Loading(nil)
	use.Began(1_000, 1)
	state := runs.NewState("s")
	state.Session = &model.Session{SessionID: "s", Version: 7}
	state.Tokens = map[string]*auth.Token{"t": {TokenID: "t"}}
	use.Loaded("s", state, []runs.Needs{{SessionID: "s"}})
	use.Committed()
	use.End()

	needs := &runs.Needs{SessionID: "s", TokenID: "t", CookieHash: "c"}
	use = c.Cached()
	require.NotNil(t, use.Of("s", nil, needs, false))
	require.Len(t, use.ReadSet().Tokens, 1)
	require.Equal(t, map[string]string{"c": "t"}, use.ReadSet().SignIns)
	use.End()
	require.True(t, use.Stale(facts.ErrStaleTokens, false))
	use = c.Cached()
	defer use.End()
	require.Nil(t, use.Of("s", nil, needs, false))
}

// A decision that rules may make depends on their versions, and on that no rule about its exact input
// exists.
func TestRulesAreInTheReadSet(t *testing.T) {
	t.Parallel()
	c := newCache()
	load(c, 1, "s")
	command := &runs.CreateRun{
		SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "call", ToolName: "bash", Input: api.JSON(`{}`)}}},
	}
	require.NoError(t, runs.Prepare(command, runs.NewID))
	require.NoError(t, runs.MatchRules(t.Context(), command, c.Rules("s")))
	needs := command.Needs()
	use := c.Cached()
	require.NotNil(t, use.Of("s", command, &needs, false))
	set := use.ReadSet()
	require.Equal(t, map[string]int64{rules.AllSessions: 0, "s": 0}, set.Rules)
	require.ElementsMatch(t, []facts.ExactRules{{rules.AllSessions, needs.RuleDigests[0]}, {"s", needs.RuleDigests[0]}}, set.Exact)
	require.EqualValues(t, 1_000, set.NowMs)
	use.End()

	require.True(t, use.Stale(facts.ErrStaleRules, false))
	use = c.Cached()
	defer use.End()
	require.Nil(t, use.Of("s", command, &needs, false), "they are loaded")
}
