package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// A rule applies at each replica from the commit on, without waiting. Its change is acknowledged
// once the decisions based on the old rules are finished.
func TestAChangeOfRulesIsAnsweredAfterDecisionsMadeFromThem(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{"straight": {}, "through a pool": {Pooler: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			url := postgrestest.URL(t)
			replicas := []*Store{open(t, url, options), open(t, url, options), open(t, url, options)}
			raise := func(s *Store, sessionID string) api.Status {
				suspension := approval("q")
				return do(t, s, &runs.CreateRun{
					SessionID: sessionID, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &suspension,
				}).Run.Run.Status
			}
			do(t, replicas[0], &runs.AddRule{RuleID: "l", ToolName: "bash", Match: api.RuleMatch{AnyInput: true}})
			require.Equal(t, api.StatusRunning, raise(replicas[1], "before"))

			// Two replicas decide by rules concurrently.
			var deciding []door.Batch
			for n, s := range replicas[:2] {
				decides := &engine{lanes: s.lanes, reads: s.reads, localSettings: options.Pooler}
				sessionID := []string{"s-1", "s-2"}[n]
				batch, err := decides.Begin(ctx, []door.Load{{SessionID: sessionID, Needs: []runs.Needs{{Rules: true}}}})
				require.NoError(t, err)
				defer batch.Rollback(ctx)
				require.NotZero(t, batch.State(sessionID).RuleVersions.OfAll)
				deciding = append(deciding, batch)
			}
			revoked := make(chan error, 1)
			go func() {
				_, err := replicas[0].Do(ctx, &runs.RevokeRule{RuleID: "l"})
				revoked <- err
			}()
			require.Eventually(t, func() bool {
				record, err := replicas[2].Rule(ctx, "l")
				return err == nil && record.Rule.RevokedAtMs != 0
			}, time.Minute, time.Millisecond, "a change waits for no decision")

			for n, s := range replicas {
				require.Equal(t, api.StatusWaitingForApproval, raise(s, fmt.Sprint("after-", n)), "the rule is revoked")
			}
			require.Empty(t, revoked, "decisions are under way that were made from the rule")
			deciding[0].Rollback(ctx)
			require.NoError(t, deciding[1].Commit(ctx, runs.Writes{}))
			require.NoError(t, <-revoked)
		})
	}
}

// A change that is not committed keeps no decision waiting, and counts at each replica once
// it is.
func TestAnOpenChangeOfRulesKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := postgrestest.URL(t)
	s, other := open(t, url, Options{}), open(t, url, Options{})
	changes := &engine{lanes: s.lanes, reads: s.reads}
	batch, err := changes.Begin(ctx, []door.Load{
		{SessionID: rules.AllSessions, Needs: []runs.Needs{{RuleID: "l", ChangesRules: true}}},
	})
	require.NoError(t, err)
	defer batch.Rollback(ctx)
	raise := func(runID string) api.Outcome {
		suspension := approval("q")
		return do(t, other, &runs.CreateRun{
			RunID: runID, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &suspension,
		}).Run.Requests[0].Outcome
	}
	require.Empty(t, raise("before"))
	require.NoError(t, batch.Commit(ctx, runs.Writes{Rows: runs.Rows{NewRules: []*rules.Rule{{
		RuleID: "l", SessionID: rules.AllSessions, ToolName: "bash", Effect: api.RuleDeny, Match: api.RuleMatch{AnyInput: true},
		Text: "no", CreatedBy: "ann", CreatedAtMs: 1,
	}}}}))
	require.Equal(t, api.OutcomeDenied, raise("after"))
}

// A decision that creates its session has no lock that a revocation of the session's rules waits for.
func TestAUseDoesNotUndoARevocation(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]int{"a statement for each rule": 1, "one statement": fewRows + 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			url := postgrestest.URL(t)
			s, other := open(t, url, Options{}), open(t, url, Options{})
			ruleIDs := make([]string, count)
			for i := range ruleIDs {
				ruleIDs[i] = fmt.Sprint("l-", i)
				do(t, s, &runs.AddRule{RuleID: ruleIDs[i], SessionID: "s", ToolName: "bash", Match: api.RuleMatch{AnyInput: true}, MaxUses: 2})
			}
			decides := &engine{lanes: s.lanes, reads: s.reads}
			batch, err := decides.Begin(ctx, []door.Load{{SessionID: "s", Needs: []runs.Needs{{Rules: true}}}})
			require.NoError(t, err)
			defer batch.Rollback(ctx)
			var writes runs.Writes
			for _, ruleID := range ruleIDs {
				record, err := s.Rule(ctx, ruleID)
				require.NoError(t, err)
				record.Rule.Uses++
				writes.UpdatedRules = append(writes.UpdatedRules, &record.Rule)
			}
			revoked := make(chan error, count)
			for _, ruleID := range ruleIDs {
				go func() {
					_, err := other.Do(ctx, &runs.RevokeRule{RuleID: ruleID, SessionID: "s", Actor: runs.Actor{Name: "ann"}})
					revoked <- err
				}()
			}
			for _, ruleID := range ruleIDs {
				require.Eventually(t, func() bool {
					record, err := s.Rule(ctx, ruleID)
					return err == nil && record.Rule.RevokedAtMs != 0
				}, time.Minute, time.Millisecond)
			}
			require.Empty(t, revoked, "a decision is under way that was made from the rules")
			require.NoError(t, batch.Commit(ctx, writes))
			for _, ruleID := range ruleIDs {
				require.NoError(t, <-revoked)
				record, err := s.Rule(ctx, ruleID)
				require.NoError(t, err)
				require.EqualValues(t, 1, record.Rule.Uses)
				require.NotZero(t, record.Rule.RevokedAtMs)
				require.Equal(t, "ann", record.Rule.RevokedBy)
			}
		})
	}
}

func TestRulesAreLoadedAsTheyAreNeeded(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{})
	storetest.RequireRuleLoads(t, &engine{lanes: s.lanes, reads: s.reads})
}

func TestTheVersionOfRulesGrows(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{})
	storetest.RequireRuleVersions(t, &engine{lanes: s.lanes, reads: s.reads})
}

func TestChangesOfRulesAreKnownOrAllAreRead(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := open(t, url, Options{})
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	storetest.RequireRuleChanges(t, s, db)
}
