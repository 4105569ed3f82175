package postgres

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/load"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// statements returns every statement of the package by a name.
func statements(tb testing.TB) map[string]string {
	tb.Helper()
	all := storetest.SQLConstants(tb)
	for name, query := range storetest.ReadStatements(&readStatements) {
		all[name] = query.SQL
	}
	for name, sql := range loadStatements {
		all["load "+name] = sql
	}
	addWriter(all, "sessions", writeSessions)
	addWriter(all, "runs", writeRuns)
	addWriter(all, "requests", writeRequests)
	addWriter(all, "events", writeEvents)
	addWriter(all, "records", writeRecords)
	addWriter(all, "effects", writeEffects)
	addWriter(all, "messages", writeMessages)
	addWriter(all, "rules", writeRules)
	return all
}

func addWriter[R any](all map[string]string, name string, w *writer[R]) {
	all["insert "+name], all["insert one of "+name] = w.insert, w.insertOne.sql
	if w.update != "" {
		all["update "+name], all["update one of "+name] = w.update, w.updateOne.sql
	}
}

func TestEveryQuestionHasAStatement(t *testing.T) {
	t.Parallel()
	require.Len(t, loadStatements, len(load.Questions))
	for _, question := range load.Questions {
		require.Contains(t, loadStatements, question.Name)
	}
	require.Contains(t, loadStatements["exact rules"], "LIMIT "+strconv.Itoa(runs.MaxExactRulesLoaded))
	require.Contains(t, loadStatements["exact rules"], "< "+strconv.Itoa(runs.MaxExactRuleBytesLoaded))
	for _, outputs := range []string{readStatements.RunOutputs, readStatements.SessionOutputs} {
		require.Contains(t, outputs, "LIMIT "+strconv.Itoa(api.MaxOutputsShown+1))
		require.Contains(t, outputs, "o.place <= "+strconv.Itoa(api.MaxOutputsShown))
	}
}

func TestEveryStatementFitsTheSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, postgrestest.URL(t))
	require.NoError(t, err)
	defer conn.Close(ctx)
	for name, sql := range statements(t) {
		_, err := conn.Prepare(ctx, "", sql)
		require.NoError(t, err, "%s\n%s", name, sql)
	}
}

// fill creates tables large enough for the access path to matter.
const fill = `
INSERT INTO sessions (queued_count, last_event_id, created_at_ms, updated_at_ms, session_id, agent_id, active_run_id)
	SELECT 0, 1, 1, 1, 's' || n, 'agent', 'r' || n FROM generate_series(1, 20000) AS n;
INSERT INTO runs (submitted_at_ms, updated_at_ms, first_event_id, last_event_id, attempt, stalled_attempts, fence,
		raised_count, settled_count, resume_after, output_count, question_count, attached, status, session_id, run_id,
		agent_id, kind, suspension_id, payload_digest, source_plugin, source_kind, actor_id, input)
	SELECT 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, false, 'waiting_for_approval', 's' || n, 'r' || n,
		'agent', 'input', 'u', '', '', '', '', '""' FROM generate_series(1, 20000) AS n;
INSERT INTO requests (number, due_at_ms, created_at_ms, session_id, run_id, request_id, kind, handle, suspension_id, suspension_digest, body)
	SELECT 1, 9999999999999, 1, 's' || n, 'r' || n, 'q', 'approval', 'h' || n, 'u', '', '{}' FROM generate_series(1, 20000) AS n;
INSERT INTO events (event_id, timestamp_ms, session_id, run_id, agent_id, type, body)
	SELECT 1, 1, 's' || n, 'r' || n, 'agent', 'accepted', '{}' FROM generate_series(1, 20000) AS n;
INSERT INTO idempotency_records (created_at_ms, scope, operation, idempotency_key, fingerprint, session_id, run_id)
	SELECT 1, 's' || n, 'run', 'k', '', 's' || n, 'r' || n FROM generate_series(1, 20000) AS n;
INSERT INTO effects (created_at_ms, due_at_ms, attempts, session_id, effect_id, run_id, kind, state, target_session_id, payload)
	SELECT 1, 9999999999999, 0, 's' || n, 'f' || n, 'r' || n, 'open_clarification', 'pending', 's' || n, '{}' FROM generate_series(1, 20000) AS n;
INSERT INTO messages (created_at_ms, delivery_attempts, session_id, message_id, run_id, from_session_id, state, subject, payload)
	SELECT 1, 0, 's' || n, 'm' || n, 'r' || n, 's' || n, 'pending', '', '{}' FROM generate_series(1, 20000) AS n;
INSERT INTO rules (created_at_ms, uses, session_id, rule_id, tool_name, effect, input_digest, created_by, text, match)
	SELECT n, 0, '*', 'l' || n, 't', 'allow', 'd' || n, '', '', '{}' FROM generate_series(1, 20000) AS n`

// indexed are the statements of deciding transactions, and frequent reads other than lists.
var indexed = regexp.MustCompile(`^(load |insert |update |sqlAmend|RequestByHandle|Rule|Claimable|Due|SessionClarifications|SessionRequestEvents|ActiveRun|.*OfRuns$|QueuePlaces)`)

var indexScan = regexp.MustCompile(`Index (Only )?Scan (Backward )?using|Bitmap Index Scan`)

// Frequent statements use index lookups, even if the tables were last analysed while empty and
// the plan is generic.
func TestHotStatementsReachRowsByTheirKeys(t *testing.T) {
	t.Parallel()
	requirePlansByKeys(t, indexed, true)
}

// Except updates, they do so even by plans made while the tables were empty. Plans of updates
// are renewed; see sqlDiscardPlans.
func TestPlansFromEmptyTablesReachRowsByTheirKeys(t *testing.T) {
	t.Parallel()
	requirePlansByKeys(t, regexp.MustCompile(`^(load |insert |RequestByHandle|Rule|Claimable|Due|SessionClarifications|ActiveRun|.*OfRuns$|QueuePlaces)`), false)
}

func requirePlansByKeys(t *testing.T, names *regexp.Regexp, filledBefore bool) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, postgrestest.URL(t))
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sqlSessionSettings)
	require.NoError(t, err)
	if filledBefore {
		_, err = conn.Exec(ctx, fill)
		require.NoError(t, err)
	}
	explains := map[string]string{}
	for name, sql := range statements(t) {
		if strings.Contains(name, " {") || !names.MatchString(name) {
			continue
		}
		if name == "ClaimableWithin" {
			// The reader adds the prefix, the agents and the end.
			sql += "\nAND c.session_id >= $1 AND c.session_id < $2 ORDER BY c.claimable_at_ms, c.run_id LIMIT $3"
		}
		description, err := conn.Prepare(ctx, name, sql)
		require.NoError(t, err, name)
		arguments := strings.TrimSuffix(strings.Repeat("NULL, ", len(description.ParamOIDs)), ", ")
		explains[name] = "EXPLAIN EXECUTE " + pgx.Identifier{name}.Sanitize() + " (" + arguments + ")"
		_ = planOf(t, conn, explains[name])
	}
	if !filledBefore {
		_, err = conn.Exec(ctx, fill)
		require.NoError(t, err)
	}
	for name, explain := range explains {
		plan := planOf(t, conn, explain)
		require.NotContains(t, plan, "Seq Scan", "%s\n%s", name, plan)
		if name == "load rules" && filledBefore {
			require.Regexp(t, `(?s)rules_standing.*input_digest IS NULL.*rules_standing.*input_digest = `, plan, "other inputs are not stepped over")
		}
		require.Len(t, indexScan.FindAllString(plan, -1), strings.Count(plan, "Index Cond"), "an index is walked from end to end: %s\n%s", name, plan)
	}
}

func planOf(t *testing.T, conn *pgx.Conn, explain string) string {
	t.Helper()
	rows, err := conn.Query(context.Background(), explain, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err, explain)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err, explain)
	return strings.Join(lines, "\n")
}
