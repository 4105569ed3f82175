//go:build failpoints

package failpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	for query, name := range map[string]string{
		"BEGIN IMMEDIATE":                                         "BEGIN",
		"COMMIT":                                                  "COMMIT",
		"INSERT INTO events (a) VALUES (?)":                       "INSERT-INTO-events",
		"\nUPDATE runs SET\n a = ? WHERE b = ?":                   "UPDATE-runs",
		"DELETE FROM run_payloads WHERE run_id = ?":               "DELETE-FROM-run_payloads",
		"SELECT a, b\nFROM sessions AS s JOIN runs AS r ON a = b": "SELECT-sessions",
		"WITH due AS (SELECT a FROM requests) SELECT * FROM due":  "WITH",
	} {
		require.Equal(t, name, summary(query), query)
	}
}

func TestFirstMessage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		name string
		size int
	}{
		{"S\x00\x00\x00\x04E\x00", "Sync", 5},
		{"B\x00\x00\x00\x06abB", "Bind", 7},
		{"B\x00\x00\x00\x09ab", "Bind", 7},
		{"P\x00", "Parse", 2},
		{"\x00\x00\x00\x08abcdX", "Startup", 8},
		{"?!", "other", 2},
	} {
		name, size := firstMessage([]byte(test.text))
		require.Equal(t, test.name, name)
		require.Equal(t, test.size, size, test.name)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan")
	var p points
	p.hit("", "before")
	p.hit(path, "before")
	require.NoError(t, os.WriteFile(path, []byte("record\n"), 0o600))
	p.hit(path, "first")
	p.hit(path, "second")
	require.NoError(t, os.Remove(path))
	p.hit(path, "after")
	hits, err := os.ReadFile(path + ".hits")
	require.NoError(t, err)
	require.Equal(t, "first\nsecond\n", string(hits))
}
