package sqlite

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/load"
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
	for _, sql := range []string{
		writeSessions.insert.sql, writeRuns.insert.sql, writeRequests.insert.sql, writeEvents.insert.sql,
		writeRecords.insert.sql, writeEffects.insert.sql, writeMessages.insert.sql, writeRules.insert.sql,
		writeSessions.update.sql, writeRuns.update.sql, writeRuns.updateClosed.sql, writeRequests.update.sql,
		writeRequests.updateClosed.sql, writeEffects.update.sql, writeMessages.update.sql, writeMessages.updateClosed.sql,
		writeRules.update.sql, writeRules.updateClosed.sql,
	} {
		all[sql] = sql
	}
	return all
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
		require.Contains(t, outputs, "newest.place <= "+strconv.Itoa(api.MaxOutputsShown))
	}
}

// fileWithConnection opens a database file and returns a connection to it.
func fileWithConnection(t *testing.T) *connection {
	t.Helper()
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "holdpoint.db"), Options{})
	require.NoError(t, err)
	c, err := store.writers.acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		store.writers.release(c)
		require.NoError(t, store.Close())
	})
	return c
}

// A list, or a count, may walk a whole index that contains only its rows.
var walked = map[string]*regexp.Regexp{
	"runs_list":                   regexp.MustCompile(`^Runs {SessionID: AgentID: Status: Kind:( |input .*WithCalls:true)`),
	"runs_list_unfinished":        regexp.MustCompile(`^Runs {SessionID: AgentID: Status: Kind:(input)? PriorityActive:true`),
	"runs_list_finished":          regexp.MustCompile(`^Runs {SessionID: AgentID: Status: Kind:( PriorityActive:true|input PriorityActive:true .*WithCalls:true)`),
	"sessions_idle":               regexp.MustCompile(`^(Count)?Sessions {Status:idle AgentID: `),
	"sessions_ended":              regexp.MustCompile(`^(Count)?Sessions {Status:ended AgentID: `),
	"sqlite_autoindex_sessions_1": regexp.MustCompile(`^(Count)?Sessions {Status: AgentID: `),
	"effects_list":                regexp.MustCompile(`^(Count)?Effects {State: SessionID: `),
	// It contains only pending effects, by webhook.
	"effects_due": regexp.MustCompile(`^((Count)?Effects {State:pending |Vitals$)`),
	// There are at most 32.
	"sqlite_autoindex_webhooks_1": regexp.MustCompile(`^sqlAddWebhook$`),
	"rules_list":                  regexp.MustCompile(`^Rules {SessionID: `),
	"sqlite_autoindex_runs_1":     regexp.MustCompile(`^CountRuns {SessionID: AgentID: Status: Kind: `),
	"messages_waiting_of_run":     regexp.MustCompile(`^Vitals$`),
	"rules_standing":              regexp.MustCompile(`^Vitals$`),
	"sqlite_autoindex_rules_2":    regexp.MustCompile(`^CountRules {SessionID: `),
}

// The queries that sort their results: pending effects, a session's queue, and rows found by key
// in frequent statements. The oldest request is found among a few sessions.
var sorted = regexp.MustCompile(`Oldest:true|^Effects {State:pending|^Runs {SessionID:s AgentID:a? Status:(running|queued|) |^[^{]*$`)

// TestNoStatementScansATable prepares every statement and checks its plan.
func TestNoStatementScansATable(t *testing.T) {
	t.Parallel()
	c := fileWithConnection(t)
	scan := regexp.MustCompile(`^SCAN ([a-z_]+)(?: USING (?:COVERING )?INDEX ([a-z0-9_]+))?( LEFT-JOIN)?$`)
	lists := regexp.MustCompile(`^(k|a|b|n|h|most|newest|place|page|counted|holdpoint_schema)$`)
	for name, sql := range statements(t) {
		name = strings.ReplaceAll(name, "Scope:{SessionPrefixes:[] AgentIDs:[] OwnedBy:} ", "")
		if strings.HasPrefix(sql, "BEGIN") || sql == sqlCommit || sql == sqlRollback {
			continue
		}
		for _, row := range storetest.ReadRows(t, c.conn, "EXPLAIN QUERY PLAN "+sql, arguments(sql)...) {
			detail := row["detail"].(string)
			if strings.Contains(detail, "FOR ORDER BY") && !sorted.MatchString(name) {
				t.Errorf("%s sorts\n%s\n%s", name, sql, detail)
			}
			if name == "sqlTrimSession" && detail == "SCAN audit_checkpoints" {
				continue // EXISTS ends at the first row
			}
			found := scan.FindStringSubmatch(detail)
			// In a page within a budget of bytes, e is the page.
			if found == nil || lists.MatchString(found[1]) || strings.HasSuffix(name, "Within") && found[0] == "SCAN e" {
				continue
			}
			if allowed := walked[found[2]]; allowed == nil || !allowed.MatchString(name) {
				t.Errorf("%s\n%s\n%s", name, sql, detail)
			}
		}
	}
}

// TestOtherInputsAreSteppedOver checks the plans: there may be very many rules about exact
// inputs.
func TestOtherInputsAreSteppedOver(t *testing.T) {
	t.Parallel()
	c := fileWithConnection(t)
	for name, conditions := range map[string][]string{
		"exact rules": {"SEARCH n (rule_id=?)", "one (session_id=? AND input_digest=?)", "(rule_id=?)"}, "session rules": {"(session_id=?)"}, "named rules": {"(rule_id=?)"},
	} {
		query := loadStatements[name]
		var found []string
		for _, row := range storetest.ReadRows(t, c.conn, "EXPLAIN QUERY PLAN "+query, arguments(query)...) {
			detail := strings.NewReplacer("SEARCH l ", "", "SEARCH one ", "one ").Replace(row["detail"].(string))
			if of, condition, searched := strings.Cut(detail, "USING INDEX "); searched {
				_, condition, _ = strings.Cut(condition, " ")
				found = append(found, of+condition)
			}
		}
		require.Equal(t, conditions, found, name)
	}
}

// arguments returns as many NULLs as the query has parameters.
func arguments(query string) []any {
	distinct := map[string]bool{}
	for _, parameter := range regexp.MustCompile(`\$\d+`).FindAllString(query, -1) {
		distinct[parameter] = true
	}
	return make([]any, len(distinct)+strings.Count(query, "?"))
}
