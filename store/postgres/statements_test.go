package postgres

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// statements are all SQL constants of the package.
var statements = map[string]string{
	"sqlActiveRun": sqlActiveRun, "sqlActiveRunOutputs": sqlActiveRunOutputs, "sqlActiveRunRequests": sqlActiveRunRequests,
	"sqlBegin": sqlBegin, "sqlBeginSnapshot": sqlBeginSnapshot, "sqlClaimable": sqlClaimable,
	"sqlClaimableOfAgents": sqlClaimableOfAgents, "sqlClock": sqlClock, "sqlCommit": sqlCommit,
	"sqlDiscardPlans": sqlDiscardPlans, "sqlDue": sqlDue,
	"sqlInsertEvents": sqlInsertEvents, "sqlInsertRecords": sqlInsertRecords, "sqlInsertRequests": sqlInsertRequests,
	"sqlInsertRuns": sqlInsertRuns, "sqlInsertSessions": sqlInsertSessions, "sqlLoadChosenRequests": sqlLoadChosenRequests,
	"sqlLoadChosenRuns": sqlLoadChosenRuns, "sqlLoadNamedRequests": sqlLoadNamedRequests, "sqlLoadPayloads": sqlLoadPayloads,
	"sqlLoadRecords": sqlLoadRecords, "sqlLoadRequests": sqlLoadRequests, "sqlLoadRuns": sqlLoadRuns,
	"sqlLoadSessionRequests": sqlLoadSessionRequests, "sqlLoadSuspensions": sqlLoadSuspensions,
	"sqlLoadUnfinishedRequests": sqlLoadUnfinishedRequests, "sqlLoadUnfinishedRuns": sqlLoadUnfinishedRuns,
	"sqlLocalSettings": sqlLocalSettings, "sqlLockSessions": sqlLockSessions, "sqlNextDue": sqlNextDue, "sqlNotify": sqlNotify,
	"sqlNow": sqlNow, "sqlOutputsOfRun": sqlOutputsOfRun, "sqlReadSettings": sqlReadSettings, "sqlRequestsOfRun": sqlRequestsOfRun, "sqlOutputsOfRuns": sqlOutputsOfRuns, "sqlQueuePlaces": sqlQueuePlaces, "sqlQueuedRunIDs": sqlQueuedRunIDs,
	"sqlRequestsOfRuns": sqlRequestsOfRuns, "sqlRollback": sqlRollback, "sqlRun": sqlRun, "sqlRunEvents": sqlRunEvents,
	"sqlRunPayload": sqlRunPayload, "sqlRunThere": sqlRunThere, "sqlSession": sqlSession, "sqlSessionEvents": sqlSessionEvents,
	"sqlSessionOf": sqlSessionOf, "sqlSessionOutputs": sqlSessionOutputs, "sqlSessionSettings": sqlSessionSettings,
	"sqlSessionThere": sqlSessionThere, "sqlSettleRequests": sqlSettleRequests, "sqlSettledAfter": sqlSettledAfter,
	"sqlSweepRecords": sqlSweepRecords, "sqlUpdateRuns": sqlUpdateRuns, "sqlUpdateSessions": sqlUpdateSessions,
	"sqlDueEffects": sqlDueEffects, "sqlInsertEffects": sqlInsertEffects, "sqlInsertMessages": sqlInsertMessages,
	"sqlLoadClarificationRequests": sqlLoadClarificationRequests, "sqlLoadClarifications": sqlLoadClarifications,
	"sqlLoadEffects": sqlLoadEffects, "sqlLoadMailbox": sqlLoadMailbox, "sqlLoadMessages": sqlLoadMessages,
	"sqlLoadRunMessages": sqlLoadRunMessages, "sqlLoadSessionRequestRuns": sqlLoadSessionRequestRuns,
	"sqlSessionClarifications": sqlSessionClarifications, "sqlUpdateEffects": sqlUpdateEffects, "sqlUpdateMessages": sqlUpdateMessages,
	"sqlAmendSessions": sqlAmendSessions, "sqlChangeRules": sqlChangeRules, "sqlInsertRules": sqlInsertRules,
	"sqlLoadRules": sqlLoadRules, "sqlLoadSessionRules": sqlLoadSessionRules, "sqlLockRules": sqlLockRules,
	"sqlRequestByHandle": sqlRequestByHandle, "sqlRule": sqlRule, "sqlRulesFor": sqlRulesFor, "sqlShareRules": sqlShareRules,
	"sqlUpdateRules": sqlUpdateRules,
}

func TestEveryStatementIsListed(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(tree, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok {
				for _, name := range spec.Names {
					if strings.HasPrefix(name.Name, "sql") {
						require.Contains(t, statements, name.Name)
					}
				}
			}
			return true
		})
	}
}

// listStatements puts together every statement that the lists can be asked for.
func listStatements() map[string]string {
	list := map[string]string{}
	add := func(kind string, q any, sql string) { list[fmt.Sprintf("%s %+v", kind, q)] = sql }
	for _, agent := range []string{"", "a"} {
		for _, status := range []api.Status{"", api.SessionEnded, api.SessionIdle, api.StatusRunning} {
			for _, after := range []string{"", "s"} {
				q := runs.SessionQuery{Status: status, AgentID: agent, After: after, Limit: 1}
				sql, _ := sessionList(q)
				add("sessions", q, sql)
				sql, _ = sessionCount(q)
				add("count sessions", q, sql)
			}
		}
	}
	for _, session := range []string{"", "s"} {
		for _, after := range []*runs.RequestPosition{nil, {SessionID: "s", RunID: "r", RequestID: "q"}} {
			q := runs.RequestQuery{Kind: model.KindApproval, SessionID: session, After: after, Limit: 1}
			sql, _ := requestList(q)
			add("requests", q, sql)
			sql, _ = requestCount(q)
			add("count requests", q, sql)
		}
		for _, filter := range []runs.RunQuery{{}, {AgentID: "a"}, {Status: api.StatusRunning}, {Status: api.StatusFailed}, {Kind: api.KindInput}, {AgentID: "a", Status: api.StatusQueued, Kind: api.KindInput}} {
			for _, after := range []*runs.RunPosition{nil, {SubmittedAtMs: 1, RunID: "r"}, {Over: true, SubmittedAtMs: 1, RunID: "r"}} {
				for _, last := range []bool{false, true} {
					q := filter
					q.SessionID, q.After, q.Last, q.Limit = session, after, last, 1
					for _, part := range []runPart{allRuns, unfinishedRuns, finishedRuns} {
						if sql, _, ok := runList(q, part, 1); ok {
							add("runs "+string(part), q, sql)
						}
					}
					sql, _ := runCount(q)
					add("count runs", q, sql)
				}
			}
		}
	}
	for _, session := range []string{"", "s"} {
		for _, state := range []api.EffectState{"", api.EffectPending, api.EffectDone, api.EffectFailed} {
			for _, after := range []*runs.EffectPosition{nil, {CreatedAtMs: 1, EffectID: "f"}} {
				q := runs.EffectQuery{State: state, SessionID: session, After: after, Limit: 1}
				sql, _ := effectList(q)
				add("effects", q, sql)
			}
		}
		for _, after := range []*runs.RulePosition{nil, {CreatedAtMs: 1, RuleID: "l"}} {
			q := runs.RuleQuery{SessionID: session, After: after, Limit: 1}
			sql, _ := ruleList(q)
			add("rules", q, sql)
			sql, _ = ruleCount(q)
			add("count rules", q, sql)
		}
	}
	return list
}

func TestEveryStatementFitsTheSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, postgrestest.URL(t))
	require.NoError(t, err)
	defer conn.Close(ctx)
	for name, sql := range statements {
		_, err := conn.Prepare(ctx, name, sql)
		require.NoError(t, err, name)
	}
	for name, sql := range listStatements() {
		_, err := conn.Prepare(ctx, "", sql)
		require.NoError(t, err, name)
	}
}

// fill makes tables of a size at which the way to a row matters.
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

var indexScan = regexp.MustCompile(`Index (Only )?Scan (Backward )?using|Bitmap Index Scan`)

// The statements of the deciding transactions reach rows by their keys, also when
// the tables were analysed last while they were empty, and the plan is made without
// knowing the values.
func TestHotStatementsReachRowsByTheirKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, postgrestest.URL(t))
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, fill)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, sqlSessionSettings)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "SET plan_cache_mode = force_generic_plan")
	require.NoError(t, err)
	for name, sql := range statements {
		hot := strings.HasPrefix(name, "sqlLoad") || strings.HasPrefix(name, "sqlUpdate") || strings.HasPrefix(name, "sqlInsert") ||
			name == "sqlLockSessions" || name == "sqlLockRules" || name == "sqlAmendSessions" || name == "sqlSettleRequests" || name == "sqlRequestByHandle" || strings.HasPrefix(name, "sqlRule") || strings.HasPrefix(name, "sqlClaimable") || strings.HasPrefix(name, "sqlDue") || name == "sqlSessionClarifications" ||
			strings.HasPrefix(name, "sqlActive") || strings.HasSuffix(name, "OfRuns") || name == "sqlQueuePlaces"
		if !hot {
			continue
		}
		description, err := conn.Prepare(ctx, name, sql)
		require.NoError(t, err, name)
		arguments := strings.TrimSuffix(strings.Repeat("NULL, ", len(description.ParamOIDs)), ", ")
		rows, err := conn.Query(ctx, "EXPLAIN EXECUTE "+pgx.Identifier{name}.Sanitize()+" ("+arguments+")", pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, name)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, name)
		plan := strings.Join(lines, "\n")
		require.NotContains(t, plan, "Seq Scan", "%s\n%s", name, plan)
		if name == "sqlLoadRules" {
			require.Regexp(t, `(?s)rules_standing.*input_digest IS NULL.*rules_standing.*input_digest = `, plan, "other inputs are not stepped over")
		}
		require.Len(t, indexScan.FindAllString(plan, -1), strings.Count(plan, "Index Cond"), "an index is walked from end to end: %s\n%s", name, plan)
	}
}
