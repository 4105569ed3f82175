package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// Lists of pending, failed, or one session's effects do not read the finished ones, even if
// there seem to be many.
func TestListsOfEffectsPassOverWhatIsDone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, postgrestest.URL(t))
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
INSERT INTO effects (created_at_ms, due_at_ms, attempts, finished_at_ms, session_id, effect_id, run_id, kind, state, target_session_id, payload)
SELECT n, CASE WHEN n > 18000 THEN n END, 0, CASE WHEN n <= 18000 THEN n END, CASE WHEN n > 16000 THEN 's' ELSE 's' || n END,
	'f' || n, 'r', 'deliver_answer', CASE WHEN n > 18000 THEN 'pending' WHEN n > 16000 THEN 'failed' ELSE 'done' END, 't', '{}'
FROM generate_series(1, 20000) AS n;
ANALYZE effects;`+sqlReadSettings)
	require.NoError(t, err)
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		_, err = conn.Exec(ctx, "SET plan_cache_mode = "+mode)
		require.NoError(t, err)
		for index, q := range map[string]reads.EffectQuery{
			"effects_due": {State: api.EffectPending}, "effects_failed": {State: api.EffectFailed},
			"effects_pkey": {SessionID: "s"}, "effects_list": {},
		} {
			for _, after := range []*reads.EffectPosition{nil, {CreatedAtMs: 10, EffectID: "f"}} {
				q.After, q.Limit = after, 50
				sql, args := effectPage(q)
				_, err := conn.Prepare(ctx, "list", sql)
				require.NoError(t, err)
				var values []string
				for _, arg := range args {
					values = append(values, fmt.Sprintf("'%v'", arg))
				}
				rows, err := conn.Query(ctx, "EXPLAIN EXECUTE list ("+strings.Join(values, ", ")+")", pgx.QueryExecModeSimpleProtocol)
				require.NoError(t, err)
				lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
				require.NoError(t, err)
				require.Contains(t, strings.Join(lines, "\n"), index, "%s %+v", mode, q)
				require.NoError(t, conn.Deallocate(ctx, "list"))
			}
		}
	}
}

// A database may be old when its first effect is written, and the plans for a table
// that is empty walk all of it.
func TestPlansForEffectsAreMadeAgainAsTheyGrow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	conn, err := s.lanes.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	lane := &transaction{conn: conn}
	old := func(times int, needs runs.Needs) (at []int) {
		for n := 1; n <= times; n++ {
			if lane.plansAreOld([]door.Load{{Needs: []runs.Needs{needs}}}) {
				at = append(at, n)
			}
		}
		return at
	}
	require.Equal(t, []int{8, 32, 128}, old(500, runs.Needs{RunID: "r", RunMessages: true}))
	require.Equal(t, []int{8, 12}, old(20, runs.Needs{EffectID: "f"}), "the eighth of its kind, the 512th of all")
	require.Equal(t, []int{12}, old(12, runs.Needs{MessageID: "m"}), "the 32nd of its kind")
}

// effectPage returns the statement of a page of effects.
func effectPage(q reads.EffectQuery) (string, []any) {
	asked := storetest.AskedBy(&readStatements, func(r *read.Reader) { _, _ = r.Effects(context.Background(), q) })
	return asked[0].SQL, asked[0].Args
}
