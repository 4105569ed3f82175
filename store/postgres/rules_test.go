package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/committer"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// waitingAtGate waits until so many transactions wait for the gate.
func waitingAtGate(t *testing.T, conn *pgx.Conn, want int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting int
		err := conn.QueryRow(context.Background(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting)
		require.NoError(t, err)
		return waiting == want
	}, 10*time.Second, time.Millisecond)
}

func TestAChangeOfRulesWaitsForDecisionsThatWereMadeFromThem(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{"straight": {}, "through a pool": {Pooler: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			url := postgrestest.URL(t)
			conn, err := pgx.Connect(ctx, url)
			require.NoError(t, err)
			defer conn.Close(ctx)
			replicas := []*Store{open(t, url, options), open(t, url, options), open(t, url, options)}
			do(t, replicas[0], &runs.CreateSession{SessionID: "s"})
			do(t, replicas[0], &runs.AddRule{RuleID: "l", ToolName: "bash", Match: api.RuleMatch{AnyInput: true}})

			// Two replicas decide from rules, at once.
			var deciding []committer.Batch
			for n, s := range replicas[:2] {
				decides := &engine{lanes: s.lanes, reads: s.reads, localSettings: options.Pooler}
				batch, err := decides.Begin(ctx, []committer.Load{{SessionID: []string{"s-1", "s-2"}[n], Needs: []runs.Needs{{Rules: true}}}})
				require.NoError(t, err)
				defer batch.Rollback(ctx)
				require.Contains(t, batch.State([]string{"s-1", "s-2"}[n]).Rules, "l")
				deciding = append(deciding, batch)
			}
			revoked := make(chan error, 1)
			go func() {
				_, err := replicas[0].Do(ctx, &runs.RevokeRule{RuleID: "l"})
				revoked <- err
			}()
			waitingAtGate(t, conn, 1)

			// Who comes to decide from rules now waits behind the change, and keeps nobody
			// from the session meanwhile.
			raised := make(chan runs.Reply, 1)
			go func() {
				suspension := approval("q")
				reply, err := replicas[1].Do(ctx, &runs.CreateRun{
					SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`),
					Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &suspension,
				})
				if err != nil {
					t.Error(err)
				}
				raised <- reply
			}()
			waitingAtGate(t, conn, 2)
			do(t, replicas[2], &runs.AmendSession{SessionID: "s", Metadata: api.JSON(`{"a":1}`)})

			deciding[0].Rollback(ctx)
			require.NoError(t, deciding[1].Commit(ctx, runs.Writes{}))
			require.NoError(t, <-revoked)
			require.Equal(t, api.StatusWaitingForApproval, (<-raised).Run.Run.Status, "the rule is revoked")
		})
	}
}

func TestADecisionFromRulesWaitsForTheirChange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := postgrestest.URL(t)
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(ctx)
	s := open(t, url, Options{})
	changes := &engine{lanes: s.lanes, reads: s.reads}
	batch, err := changes.Begin(ctx, []committer.Load{
		{SessionID: rules.AllSessions, Needs: []runs.Needs{{RuleID: "l", ChangesRules: true}}},
		{SessionID: "other", Needs: []runs.Needs{{Rules: true}}},
	})
	require.NoError(t, err)
	defer batch.Rollback(ctx)
	raised := make(chan runs.Reply, 1)
	go func() {
		suspension := approval("q")
		reply, err := s.Do(ctx, &runs.CreateRun{RunID: "r", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &suspension})
		if err != nil {
			t.Error(err)
		}
		raised <- reply
	}()
	waitingAtGate(t, conn, 1)
	require.NoError(t, batch.Commit(ctx, runs.Writes{NewRules: []*rules.Rule{{
		RuleID: "l", SessionID: rules.AllSessions, ToolName: "bash", Effect: api.RuleDeny, Match: api.RuleMatch{AnyInput: true},
		Text: "no", CreatedBy: "ann", CreatedAtMs: 1,
	}}}))
	reply := <-raised
	require.Equal(t, api.OutcomeDenied, reply.Run.Requests[0].Outcome)
}

func TestRulesAreLoadedAsTheyAreNeeded(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{})
	storetest.RequireRuleLoads(t, &engine{lanes: s.lanes, reads: s.reads})
}
