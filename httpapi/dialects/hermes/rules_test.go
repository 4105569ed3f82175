package hermes_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// keyed is an approval with pattern keys.
func keyed(id string, keys string) string { return approval(id, `"pattern_keys":[`+keys+`]`) }

// raised raises an approval in a session without an active run and returns its outcome.
func (s *service) raised(t *testing.T, session, approval string) (made run, settled bool) {
	t.Helper()
	made = s.waitingIn(t, session, `"approvals":[`+approval+`]`)
	settled = len(made.PendingApprovals) == 0
	s.post(t, "/v1/runs/"+made.RunID+"/cancel", "").Into(nil)
	return made, settled
}

// testRules holds docs/spec/hermes.md#scope-of-a-choice: the scopes are kept strictly apart, and a later
// prompt is allowed only when it is for the same call.
func testRules(t *testing.T, s *service) {
	// choose has one prompt answered and ends its run.
	choose := func(t *testing.T, session, choice, approval string) run {
		t.Helper()
		made := s.waitingIn(t, session, `"approvals":[`+approval+`]`)
		s.respond(t, session, `"choice":"`+choice+`","approval_id":"`+made.PendingApprovals[0].Handle+`"`).is(http.StatusOK, chose(choice))
		after := s.now(t, made)
		s.post(t, "/v1/runs/"+made.RunID+"/cancel", "").Into(nil)
		return after
	}
	parallel(t, "session: the exact call, in this session, whatever its keys", func(t *testing.T) {
		session, mark := runs.NewID("session"), runs.NewID("key")
		one, two := `"`+mark+`1"`, `"`+mark+`2"`
		after := choose(t, session, "session", keyed("a1", one+","+two))
		require.NotNil(t, after.Resume.Approvals[0].Resolution.Rule, "the rule was written with the decision")

		for call, allowed := range map[string]bool{
			keyed("a1", one+","+two): true, keyed("a1", one): true, approval("a1"): true, keyed("a2", one+","+two): false, keyed("a2", one): false,
		} {
			made, settled := s.raised(t, session, call)
			require.Equal(t, allowed, settled, call)
			if allowed {
				resolution := made.Resume.Approvals[0].Resolution
				require.Equal(t, api.OutcomeAllowed, resolution.Outcome)
				require.Equal(t, "rule:"+after.Resume.Approvals[0].Resolution.Rule.RuleID, resolution.Via)
			}
			s.pendingApproval(t, session).is(http.StatusOK, noApproval)
		}
		_, settled := s.raised(t, runs.NewID("session"), keyed("a1", one))
		require.False(t, settled, "another session")
	})
	parallel(t, "always: everywhere, and forever", func(t *testing.T) {
		mark := runs.NewID("call")
		after := choose(t, runs.NewID("session"), "always", keyed(mark, `"k"`))
		rule, err := s.Store.Rule(t.Context(), after.Resume.Approvals[0].Resolution.Rule.RuleID)
		require.NoError(t, err)
		require.Equal(t, rules.AllSessions, rule.Rule.SessionID)
		require.Zero(t, rule.Rule.ExpiresAtMs)
		_, settled := s.raised(t, runs.NewID("session"), keyed(mark, `"k"`))
		require.True(t, settled)
		_, settled = s.raised(t, runs.NewID("session"), keyed(mark+"-2", `"k"`))
		require.False(t, settled, "another call with the same key")
	})
	parallel(t, "once and deny write nothing", func(t *testing.T) {
		for _, choice := range []string{"once", "deny"} {
			session, key := runs.NewID("session"), `"`+runs.NewID("key")+`"`
			after := choose(t, session, choice, keyed("a1", key))
			require.Nil(t, after.Resume.Approvals[0].Resolution.Rule)
			_, settled := s.raised(t, session, keyed("a1", key))
			require.False(t, settled, choice)
			rules, err := s.Store.Rules(t.Context(), reads.RuleQuery{SessionID: session, Limit: 10})
			require.NoError(t, err)
			require.Empty(t, rules)
		}
	})
	parallel(t, "without keys it is the exact call", func(t *testing.T) {
		session := runs.NewID("session")
		choose(t, session, "session", approval("a1"))
		_, settled := s.raised(t, session, approval("a1"))
		require.True(t, settled)
		_, settled = s.raised(t, session, approval("a2"))
		require.False(t, settled)
	})
	parallel(t, "what a rule settles is never shown", func(t *testing.T) {
		session, key := runs.NewID("session"), `"`+runs.NewID("key")+`"`
		choose(t, session, "session", keyed("a1", key))
		stream := s.follow(t, "/api/approval/stream", session)
		stream.shows("initial", "", 0)
		made := s.waitingIn(t, session, `"approvals":[`+keyed("a1", key)+`,`+approval("a2")+`]`)
		require.Len(t, made.PendingApprovals, 1)
		stream.shows("approval", made.handle(t, "a2"), 1)
	})
}

// TestCapOfRules checks that a rule beyond the cap is refused and not clamped.
func TestCapOfRules(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		store := database.Open(t)
		s := serve(t, store, func(options *httpapi.Options) { options.MaxRuleAge = time.Hour })
		made := s.waiting(t, approvals("a1"))
		got := s.respond(t, made.SessionID, `"choice":"always"`)
		got.is(http.StatusUnprocessableEntity, failed("The choice always is not possible here: must be between 1 and 3600000: the service lets no rule hold longer"))
		require.Len(t, s.now(t, made).PendingApprovals, 1)
		s.respond(t, made.SessionID, `"choice":"session"`).is(http.StatusOK, chose("session"))
		rules, err := s.Store.Rules(t.Context(), reads.RuleQuery{SessionID: made.SessionID, Limit: 10})
		require.NoError(t, err)
		require.Equal(t, rules[0].Rule.CreatedAtMs+time.Hour.Milliseconds(), rules[0].Rule.ExpiresAtMs, "nobody said how long")
	})
}

// TestNoRoomForARule checks that the approval stays open when the session has no room for the rule.
func TestNoRoomForARule(t *testing.T) {
	t.Parallel()
	store := &troubled{Store: dialecttest.SQLite(t)}
	s := serve(t, store)
	made := s.waiting(t, approvals("a1"))
	store.then(func() error { return refusal.New(api.CodeTooManyRules, "the session would have 1001 rules in force") })
	s.respond(t, made.SessionID, `"choice":"session"`).is(http.StatusConflict, failed("the session would have 1001 rules in force"))
	require.Len(t, s.now(t, made).PendingApprovals, 1)
	s.respond(t, made.SessionID, `"choice":"once"`).is(http.StatusOK, chose("once"))
}
