package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAChurnOnSQLite(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	arguments := []string{"--database", "sqlite:" + filepath.Join(t.TempDir(), "churn.db"), "--runs", "30", "--callers", "3", "--every", "1h"}
	require.NoError(t, run(t.Context(), arguments, &out, t.Output()))
	require.Regexp(t, `^\| time \| done \| runs \| kept \| file \| log \|\n(\|---)+\|\n\| \d+ s \| 30 \| 0/s \| 30 \| \d+ MB \| \d+ MB \|\n$`, out.String())
	require.ErrorContains(t, run(t.Context(), arguments[2:], &out, t.Output()), "--database is needed")
	require.ErrorContains(t, run(t.Context(), arguments, &out, t.Output()), "the database must be empty; it has 30 runs")
}
