package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writers are the files that may change the tables: write.go makes the inserts and
// updates of a decision's rows from the table of columns, and statements.go has the few
// that stand whole; those in store/hooks, store/tokens and store/retain serve both engines. Nothing else writes: there is one door.
// retention.go and retain.go delete what is past its horizon and are the only ones that delete decisions;
// redaction.go and redact.go empty rows that are there and make or delete none; rewrap.go encrypts keys otherwise.
var (
	writers   = regexp.MustCompile(`^store/((postgres|sqlite)/(write|statements|retention|redaction)|(hooks|tokens)/statements|retain/(retain|redact|rewrap))\.go$`)
	redaction = regexp.MustCompile(`^store/((postgres|sqlite)/redaction|retain/(redact|rewrap))\.go$`)
	retention = regexp.MustCompile(`^store/((postgres|sqlite)/retention|retain/retain)\.go$`)
)

// swept are the tables from which rows may be deleted because they are no longer kept,
// or because what they hold was replaced. No decision is lost with them. A row of run_intake is only a
// wish: a program writes it in its own transaction, and the run that the door makes of it replaces it.
var swept = map[string]bool{"idempotency_records": true, "run_payloads": true, "sign_ins": true, "stream_tickets": true, "webhooks": true, "addresses": true, "code_counts": true, "links": true, "quiet_hours": true, "sent_messages": true, "run_intake": true}

// counted are the tables that only triggers of the schemas write, and retention deletes.
var counted = map[string]bool{"rule_versions": true, "rule_changes": true, "claimable_runs": true}

var (
	createTable = regexp.MustCompile(`(?im)^\s*CREATE TABLE (?:IF NOT EXISTS )?"?([a-z_]+)"?`)
	// statement finds the verb of a statement that changes rows, and its table when
	// it stands in the same text.
	statement = regexp.MustCompile(`(?i)\b(INSERT(?:\s+OR\s+[A-Z]+)?\s+INTO|REPLACE\s+INTO|UPDATE(?:\s+ONLY)?|DELETE\s+FROM(?:\s+ONLY)?|MERGE\s+INTO|TRUNCATE(?:\s+TABLE)?|COPY)(?:\s+"?([a-z_]+)"?|\s*$)`)
	// reading are the uses of UPDATE that change nothing: locks, and what an upsert
	// does, which stands in the statement of an INSERT.
	reading = regexp.MustCompile(`(?i)\b(FOR(\s+NO\s+KEY)?|DO)\s+UPDATE\b`)
)

// write is one statement in the text of a Go file that changes rows.
type write struct {
	file, verb, table string
	// text is the whole of the literal that it stands in.
	text string
	line int
}

// TestOnlyTheEnginesWrite holds that INSERT, UPDATE and DELETE stand in the engines'
// write files and nowhere else.
func TestOnlyTheEnginesWrite(t *testing.T) {
	t.Parallel()
	tables := tablesOfMigrations(t)
	for _, w := range writesInTree(t, tables) {
		require.Regexp(t, writers, w.file, "line %d: %s %s: a second way to write", w.line, w.verb, w.table)
		switch {
		case redaction.MatchString(w.file):
			require.Equal(t, "UPDATE", w.verb, "%s:%d: redaction makes and deletes nothing", w.file, w.line)
			require.Contains(t, []string{"sessions", "runs", "run_payloads", "requests", "events"}, w.table, "%s:%d", w.file, w.line)
		case retention.MatchString(w.file):
			require.True(t, strings.HasPrefix(w.verb, "DELETE") || w.table == "sessions", "%s:%d: %s %s: retention decides nothing", w.file, w.line, w.verb, w.table)
		case strings.HasPrefix(w.verb, "DELETE"):
			require.True(t, swept[w.table], "%s:%d: %s %s: what was decided is not deleted", w.file, w.line, w.verb, w.table)
		}
	}
	// Every table of the schemas is one whose columns are known, or has a statement of its
	// own: the search does not miss one because its statement is put together.
	columns, err := os.ReadFile(filepath.Join(root(t), "store/columns/tables.go"))
	require.NoError(t, err)
	var shared []byte
	for _, room := range []string{"hooks", "tokens"} {
		statements, err := os.ReadFile(filepath.Join(root(t), "store", room, "statements.go"))
		require.NoError(t, err)
		shared = append(shared, statements...)
	}
	for engine, known := range tables {
		statements, err := os.ReadFile(filepath.Join(root(t), "store", engine, "statements.go"))
		require.NoError(t, err)
		statements = append(statements, shared...)
		for table := range known {
			listed := strings.Contains(string(columns), `Name: "`+table+`"`) || strings.Contains(string(statements), "INSERT INTO "+table+" ") || counted[table]
			require.True(t, listed, "nothing writes table %s of %s", table, engine)
		}
	}
}

// TestSearchFindsWrites shows what counts as a write.
func TestSearchFindsWrites(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"runs": true, "sessions": true, "effects": true, "messages": true, "rules": true}
	for _, test := range []struct {
		text  string
		verb  string
		table string
	}{
		{"INSERT INTO runs (run_id) VALUES ($1)", "INSERT INTO", "runs"},
		{"insert or ignore\n into sessions VALUES (1)", "INSERT OR IGNORE INTO", "sessions"},
		{"WITH u AS (UPDATE ONLY runs SET a = 1) SELECT 1", "UPDATE ONLY", "runs"},
		{"DELETE FROM \"runs\"", "DELETE FROM", "runs"},
		{"INSERT INTO effects SELECT * FROM unnest($1::text[])", "INSERT INTO", "effects"},
		{"UPDATE messages AS m SET state = v.state", "UPDATE", "messages"},
		{"DELETE FROM effects WHERE state = 'done'", "DELETE FROM", "effects"},
		{"SELECT effect_id FROM effects ORDER BY due_at_ms FOR UPDATE SKIP LOCKED", "", ""},
		{"INSERT INTO ", "INSERT INTO", ""},
		{"SELECT 1 FROM runs FOR UPDATE", "", ""},
		{"SELECT 1 FROM runs FOR NO KEY UPDATE OF runs", "", ""},
		{"UPDATE holdpoint_schema SET a = 1", "", ""},
		{"update the documentation", "", ""},
	} {
		verb, table, _ := findWrite(test.text, known)
		require.Equal(t, test.verb, verb, test.text)
		require.Equal(t, test.table, table, test.text)
	}
}

// tablesOfMigrations returns the tables of each engine's schema.
func tablesOfMigrations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	tables := map[string]map[string]bool{}
	for _, engine := range []string{"postgres", "sqlite"} {
		files, err := filepath.Glob(filepath.Join(root(t), "migrations", engine, "*.sql"))
		require.NoError(t, err)
		tables[engine] = map[string]bool{}
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, match := range createTable.FindAllStringSubmatch(string(text), -1) {
				tables[engine][match[1]] = true
			}
		}
		for _, table := range []string{"sessions", "runs", "requests", "events", "idempotency_records", "effects", "messages", "rules"} {
			require.Contains(t, tables[engine], table)
		}
	}
	return tables
}

// writesInTree returns the writes in the texts of every Go file except tests.
func writesInTree(t *testing.T, tables map[string]map[string]bool) []write {
	t.Helper()
	known := map[string]bool{}
	for _, ofEngine := range tables {
		for table := range ofEngine {
			known[table] = true
		}
	}
	var found []write
	base := root(t)
	require.NoError(t, filepath.WalkDir(base, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != base {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || isTest(path) {
			return nil
		}
		relative, err := filepath.Rel(base, path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				return true
			}
			for whole := text; text != ""; {
				verb, table, rest := findWrite(text, known)
				if verb != "" {
					found = append(found, write{filepath.ToSlash(relative), verb, table, whole, files.Position(literal.Pos()).Line})
				}
				text = rest
			}
			return true
		})
		return nil
	}))
	return found
}

// findWrite returns the first write to a known table in a text, and what comes after
// it. The table is empty when the text ends with the verb: then somebody puts the
// statement together, and nobody can see what it writes.
func findWrite(text string, known map[string]bool) (verb, table, rest string) {
	text = reading.ReplaceAllString(text, "")
	for text != "" {
		at := statement.FindStringSubmatchIndex(text)
		if at == nil {
			return "", "", ""
		}
		match := statement.FindStringSubmatch(text)
		text = text[at[1]:]
		verb, table = strings.Join(strings.Fields(strings.ToUpper(match[1])), " "), strings.ToLower(match[2])
		// A word alone that ends a text may be prose; two words are SQL.
		if known[table] || table == "" && strings.Contains(verb, " ") {
			return verb, table, text
		}
	}
	return "", "", ""
}

// isTest tells tests and what only tests use.
func isTest(path string) bool {
	slashed := filepath.ToSlash(path)
	return strings.HasSuffix(slashed, "_test.go") || strings.Contains(slashed, "/store/storetest/") ||
		strings.Contains(slashed, "/postgrestest/") || strings.Contains(slashed, "/test/")
}
