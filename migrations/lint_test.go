package migrations_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// firstOnline is the first step that may meet rows and other replicas: the baseline before it is
// applied to an empty database.
const firstOnline = 2

var (
	comment       = regexp.MustCompile(`(?m)--.*$`)
	madeTable     = regexp.MustCompile(`(?i)^CREATE TABLE (?:IF NOT EXISTS )?([a-z_]+)`)
	anyIndex      = regexp.MustCompile(`(?i)^(CREATE (?:UNIQUE )?INDEX|DROP INDEX|REINDEX [A-Z]+)( CONCURRENTLY)?`)
	indexedTable  = regexp.MustCompile(`(?i) ON (?:ONLY )?([a-z_]+)`)
	alteredTable  = regexp.MustCompile(`(?i)^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?([a-z_]+)`)
	addedCheck    = regexp.MustCompile(`(?i)ADD (?:CONSTRAINT [a-z_]+ )?(?:CHECK|FOREIGN KEY)`)
	addedKey      = regexp.MustCompile(`(?i)ADD (?:CONSTRAINT [a-z_]+ )?(?:PRIMARY KEY|UNIQUE|EXCLUDE)`)
	addedColumn   = regexp.MustCompile(`(?i)ADD COLUMN (?:IF NOT EXISTS )?[a-z_]+ ([^,;]*)`)
	rewrites      = regexp.MustCompile(`(?i)\b(ALTER COLUMN [a-z_]+ (?:SET DATA )?TYPE|SET NOT NULL|SET (?:UN)?LOGGED|SET TABLESPACE|SET ACCESS METHOD)`)
	wholeTable    = regexp.MustCompile(`(?i)^(VACUUM FULL|CLUSTER|LOCK|TRUNCATE|REFRESH)`)
	changedRows   = regexp.MustCompile(`(?i)^(?:UPDATE|DELETE FROM)\s+([a-z_]+)`)
	strongLock    = regexp.MustCompile(`(?i)^(?:ALTER TABLE|DROP TABLE|CREATE (?:OR REPLACE )?TRIGGER|DROP TRIGGER)`)
	lockTimeout   = regexp.MustCompile(`(?i)^SET lock_timeout = (.*)`)
	validate      = regexp.MustCompile(`(?i)VALIDATE CONSTRAINT`)
	functionStart = "-- +goose StatementBegin"
)

// statementsOf returns the statements of the Up part of a step, without comments, on one line
// each, and whether they are one transaction.
func statementsOf(text string) (statements []string, transaction bool) {
	transaction = !strings.Contains(text, "+goose NO TRANSACTION")
	up, _, _ := strings.Cut(text, "-- +goose Down")
	for strings.Contains(up, functionStart) {
		before, rest, _ := strings.Cut(up, functionStart)
		body, after, _ := strings.Cut(rest, "-- +goose StatementEnd")
		// What a function does is not done by the step; an anonymous block is.
		block := ""
		if strings.Contains(strings.ToUpper(body), "DO $$") {
			block = "DO block;"
		}
		up = before + block + after
	}
	for _, statement := range strings.Split(comment.ReplaceAllString(up, ""), ";") {
		if one := strings.Join(strings.Fields(statement), " "); one != "" {
			statements = append(statements, one)
		}
	}
	return statements, transaction
}

// faults names what a step does to tables that hold rows while replicas decide: rewriting or
// reading a table under a lock that they wait for.
func faults(text string) (found []string) {
	statements, transaction := statementsOf(text)
	made := map[string]bool{}
	locked, waits := false, false
	for _, s := range statements {
		fault := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)+": "+s) }
		if table := madeTable.FindStringSubmatch(s); table != nil {
			made[table[1]] = true
			continue
		}
		if timeout := lockTimeout.FindStringSubmatch(s); timeout != nil {
			waits = timeout[1] == "0"
			continue
		}
		if index := anyIndex.FindStringSubmatch(s); index != nil {
			table := indexedTable.FindStringSubmatch(s)
			if ofNew := table != nil && made[table[1]]; index[2] == "" && !ofNew {
				fault("an index that is not made or dropped CONCURRENTLY")
			} else if !ofNew && !waits {
				fault("an index that is given up behind a long read; SET lock_timeout = 0 before it")
			}
			continue
		}
		if waits && strongLock.MatchString(s) {
			fault("a lock that others queue behind without end; take it before SET lock_timeout = 0")
		}
		if wholeTable.MatchString(s) {
			fault("a statement that locks a whole table")
		}
		if s == "DO block" {
			fault("a block that cannot be judged")
		}
		if table := alteredTable.FindStringSubmatch(s); table != nil && !made[table[1]] {
			switch {
			case addedCheck.MatchString(s) && strings.Count(strings.ToUpper(s), "NOT VALID") < len(addedCheck.FindAllString(s, -1)):
				fault("a constraint that is checked under an exclusive lock; add it NOT VALID")
			case addedKey.MatchString(s) && !strings.Contains(strings.ToUpper(s), "USING INDEX"):
				fault("a key whose index is made under an exclusive lock; add it USING INDEX")
			case rewrites.MatchString(s):
				fault("a table that is rewritten or read under an exclusive lock")
			case validate.MatchString(s) && transaction:
				fault("a constraint that is checked in the transaction of other statements; use NO TRANSACTION")
			}
			for _, column := range addedColumn.FindAllStringSubmatch(s, -1) {
				definition := strings.ToUpper(column[1])
				constant := strings.Contains(definition, "DEFAULT") && !strings.Contains(definition, "(")
				switch {
				case strings.Contains(definition, "GENERATED"), strings.Contains(definition, "DEFAULT") && !constant:
					fault("a column for which the table is rewritten")
				case strings.Contains(definition, "NOT NULL") && !constant:
					fault("a column that no row has")
				}
			}
		}
		if table := changedRows.FindStringSubmatch(s); table != nil && !made[table[1]] && transaction && locked {
			fault("rows that are changed under the lock of an earlier statement; use NO TRANSACTION")
		}
		if table := alteredTable.FindStringSubmatch(s); strongLock.MatchString(s) && (table == nil || !made[table[1]]) {
			locked = true
		}
	}
	return found
}

// judge names the faults of the steps in a directory, by file, and how many steps it has read.
func judge(t *testing.T, steps fs.FS) (found map[string][]string, judged int) {
	t.Helper()
	found = map[string][]string{}
	names, err := fs.Glob(steps, "*.sql")
	require.NoError(t, err)
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.Atoi(number)
		require.NoError(t, err)
		if version < firstOnline {
			continue
		}
		judged++
		text, err := fs.ReadFile(steps, name)
		require.NoError(t, err)
		if faults := faults(string(text)); len(faults) > 0 {
			found[name] = faults
		}
	}
	return found, judged
}

// Every step of Postgres may be applied while replicas of the version before it decide.
func TestStepsRunBesideReplicasThatDecide(t *testing.T) {
	t.Parallel()
	all := withExample(t)
	steps, err := fs.Sub(all, "postgres")
	require.NoError(t, err)
	found, judged := judge(t, steps)
	require.Empty(t, found)
	require.Positive(t, judged)
	all["postgres/09999_blocks.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE INDEX i ON runs (kind);\n-- +goose Down\nDROP INDEX i;")}
	found, _ = judge(t, steps)
	require.Len(t, found, 1)
	require.Contains(t, found, "09999_blocks.sql")
}

func TestTheJudgeKnowsWhatBlocks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"CREATE INDEX i ON runs (a)",
		"create unique index i on runs (a)",
		"DROP INDEX i",
		"ALTER TABLE runs ADD CONSTRAINT c CHECK (a > 0)",
		"ALTER TABLE runs DROP CONSTRAINT c, ADD CONSTRAINT c CHECK (a > 0) NOT VALID, ADD CONSTRAINT d CHECK (b > 0)",
		"ALTER TABLE runs ADD CONSTRAINT u UNIQUE (a)",
		"ALTER TABLE runs ADD COLUMN a text NOT NULL",
		"ALTER TABLE runs ADD COLUMN a bigint DEFAULT random()",
		"ALTER TABLE runs ADD COLUMN a text GENERATED ALWAYS AS (b) STORED",
		"ALTER TABLE runs ALTER COLUMN a TYPE bigint",
		"ALTER TABLE runs ALTER COLUMN a SET NOT NULL",
		"ALTER TABLE runs ADD CONSTRAINT c CHECK (a > 0) NOT VALID; ALTER TABLE runs VALIDATE CONSTRAINT c",
		"ALTER TABLE runs ADD COLUMN a text; UPDATE runs SET a = 'x'",
		"CREATE TRIGGER t AFTER UPDATE ON rules EXECUTE FUNCTION f(); UPDATE rules SET a = 1",
		"VACUUM FULL runs",
		"-- +goose NO TRANSACTION\nCREATE INDEX CONCURRENTLY i ON runs (a)",
		"-- +goose NO TRANSACTION\nSET lock_timeout = 0; SET lock_timeout = '1s'; DROP INDEX CONCURRENTLY i",
		"-- +goose NO TRANSACTION\nSET lock_timeout = 0; ALTER TABLE runs ADD COLUMN a text",
		"LOCK TABLE runs",
		"-- +goose StatementBegin\nDO $$ BEGIN UPDATE runs SET a = 1; END $$;\n-- +goose StatementEnd",
	} {
		require.NotEmpty(t, faults("-- +goose Up\n"+text+";\n-- +goose Down\nSELECT 1;"), text)
	}
	for _, text := range []string{
		"CREATE TABLE new (a bigint); CREATE INDEX i ON new (a); ALTER TABLE new ADD CONSTRAINT c CHECK (a > 0); UPDATE new SET a = 1",
		"ALTER TABLE runs ADD COLUMN a text; ALTER TABLE runs ADD COLUMN b bigint NOT NULL DEFAULT 0",
		"ALTER TABLE runs DROP CONSTRAINT c, ADD CONSTRAINT c CHECK (a > 0) NOT VALID",
		"-- +goose NO TRANSACTION\nALTER TABLE runs ADD CONSTRAINT c CHECK (a > 0) NOT VALID; ALTER TABLE runs VALIDATE CONSTRAINT c",
		"-- +goose NO TRANSACTION\nALTER TABLE runs ADD COLUMN a text; UPDATE runs SET a = 'x'; SET lock_timeout = 0; CREATE INDEX CONCURRENTLY i ON runs (a)",
		"UPDATE rules SET a = 1",
		"-- CREATE INDEX i ON runs (a);\nSELECT 1",
		"-- +goose StatementBegin\nCREATE FUNCTION f() RETURNS trigger AS $$ BEGIN UPDATE runs SET a = 1; END $$;\n-- +goose StatementEnd",
	} {
		require.Empty(t, faults("-- +goose Up\n"+text+";\n-- +goose Down\nDROP INDEX i;"), text)
	}
}
