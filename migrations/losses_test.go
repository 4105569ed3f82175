package migrations

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLossesAreWhatTheStepDrops(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Loss{{Table: "tokens"}, {Table: "runs", Column: "a"}, {Table: "runs", Column: "b"}}, lossesOf(`
-- +goose Up
DROP TABLE never;
-- +goose Down
DROP TABLE tokens; -- DROP TABLE comment;
ALTER TABLE runs DROP COLUMN a, DROP COLUMN IF EXISTS b;
ALTER TABLE requests RENAME TO requests_before;
CREATE TABLE requests (a TEXT);
DROP TABLE requests_before;
DROP INDEX i;`))
	for _, engine := range []Engine{Postgres, SQLite} {
		text, err := fs.ReadFile(files, string(engine)+"/00001_baseline.sql")
		require.NoError(t, err)
		require.Contains(t, lossesOf(string(text)), Loss{Table: "tokens"})
	}
}
