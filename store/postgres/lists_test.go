package postgres

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// seldom adds a few rows of each queried kind after the rows of fill.
const seldom = `
UPDATE runs SET submitted_at_ms = 10 + substr(run_id, 2)::bigint;
UPDATE effects SET created_at_ms = 10 + substr(effect_id, 2)::bigint;
INSERT INTO sessions (queued_count, last_event_id, ended_at_ms, created_at_ms, updated_at_ms, session_id, agent_id)
	SELECT 0, 1, CASE WHEN n % 2 = 0 THEN 1 END, 1, 1, 'z' || n, 'a' FROM generate_series(1, 10) AS n;
INSERT INTO runs (submitted_at_ms, started_at_ms, finished_at_ms, updated_at_ms, first_event_id, last_event_id, attempt,
		stalled_attempts, fence, claimable_at_ms, raised_count, settled_count, resume_after, output_count, question_count,
		attached, status, session_id, run_id, agent_id, kind, payload_digest, source_plugin, source_kind, actor_id, input)
	SELECT 100000, 1, CASE WHEN n % 2 = 0 THEN 1 END, 1, 1, 1, 0, 0, 0, CASE WHEN n % 2 = 1 THEN 1 END, 0, 0, 0, 0, 0, false,
		CASE WHEN n % 2 = 0 THEN 'failed' ELSE 'running' END, 'z' || n, 'zr' || n, 'a', 'input', '', '', '', '', '""'
	FROM generate_series(1, 10) AS n;
UPDATE sessions SET active_run_id = 'zr' || substr(session_id, 2) WHERE session_id IN ('z1', 'z3', 'z5');
INSERT INTO effects (created_at_ms, due_at_ms, finished_at_ms, attempts, session_id, effect_id, run_id, kind, state, target_session_id, payload)
	SELECT 100000, NULL, 1, 0, 'z' || n, 'zf' || n, 'zr' || n, 'open_clarification', 'failed', 's' || n, '{}' FROM generate_series(1, 10) AS n;
INSERT INTO requests (number, created_at_ms, settled_number, settled_at_ms, session_id, run_id, request_id, kind, outcome, handle,
		suspension_id, suspension_digest, resolved_by, resolution, body)
	SELECT 1, 1, 1, 10 + n, 's' || n, 'r' || n, 'd', 'approval', 'denied', 'd' || n, 'u', '', 'o', '{}', '{}' FROM generate_series(1, 20000) AS n
	UNION ALL SELECT 1, 1, 1, 100000, 'z' || n, 'zr' || n, 'p', 'approval', 'allowed', 'p' || n, 'u', '', 'p', '{}', '{}' FROM generate_series(1, 10) AS n;
ANALYZE`

// walks are the lists that may read any number of rows if matches are rare: by columns that
// change while a run waits, which no index may include, by the kind of runs, finished runs
// after all waiting ones, and decisions by who, how or of which agent. docs/postgres.md names them.
var walks = regexp.MustCompile(`^Sessions {Status:(idle|running) AgentID: ` +
	`|^Runs {SessionID: AgentID:a? Status:(failed|running|queued) ` +
	`|^Runs {SessionID: AgentID: Status: Kind:input ` +
	`|^Effects {State:(pending|done) ` +
	`|^Decisions {SessionID: AgentID:(a| (ResolvedBy:p|ResolvedBy: Outcome:allowed)) `)

type planNode struct {
	Type    string     `json:"Node Type"`
	Rows    float64    `json:"Actual Rows"`
	Loops   float64    `json:"Actual Loops"`
	Removed float64    `json:"Rows Removed by Filter"`
	Plans   []planNode `json:"Plans"`
}

// looked returns the number of rows read by the scans of a plan.
func (n *planNode) looked() float64 {
	var total float64
	if strings.Contains(n.Type, "Scan") {
		total = (n.Rows + n.Removed) * n.Loops
	}
	for i := range n.Plans {
		total += n.Plans[i].looked()
	}
	return total
}

// A page costs in proportion to its rows, whatever else is stored.
func TestAPageOfAListLooksAtFewRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, postgrestest.URL(t))
	require.NoError(t, err)
	defer conn.Close(ctx)
	for _, sql := range []string{sqlReadSettings, fill, seldom} {
		_, err = conn.Exec(ctx, sql)
		require.NoError(t, err)
	}
	for name, query := range storetest.ReadStatements(&readStatements) {
		name = strings.ReplaceAll(name, "Scope:{SessionPrefixes:[] AgentIDs:[] OwnedBy:} ", "")
		if !strings.Contains(name, " {") || strings.HasPrefix(name, "Count") || walks.MatchString(name) ||
			strings.Contains(query.SQL, "r.finished_at_ms IS NOT NULL") {
			continue
		}
		var text []byte
		require.NoError(t, conn.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+query.SQL, query.Args...).Scan(&text), name)
		var plans []struct{ Plan planNode }
		require.NoError(t, json.Unmarshal(text, &plans))
		require.LessOrEqual(t, plans[0].Plan.looked(), 100.0, "%s\n%s\n%s", name, query.SQL, text)
	}
}
