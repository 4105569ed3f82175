//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// TestMain runs the load of a subject if started as one, because the executable of a test
// is the test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == loadHTTP || os.Args[1] == loadEngine) {
		if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	rig.Main(m)
}

func TestARoundOnSQLite(t *testing.T) {
	runtime.LockOSThread() // see main
	defer runtime.UnlockOSThread()
	const waits = 20
	path := filepath.Join(t.TempDir(), "result.json")
	var out bytes.Buffer
	err := run(t.Context(), []string{
		"--database", "sqlite", "--binary", "holdpoint=" + rig.Program(t), "--engine", "--clients", "2", "--rounds", "1", "--warmup", "0s", "--for", "1m", "--waits", fmt.Sprint(waits), "--json", path,
	}, &out, t.Output())
	require.NoError(t, err, out.String())
	require.Contains(t, out.String(), "\n| holdpoint | ")
	require.Contains(t, out.String(), "\n| engine | ")

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var r report
	require.NoError(t, json.Unmarshal(text, &r))
	require.Equal(t, []string{"holdpoint", "engine"}, r.Conditions.Subjects)
	require.Len(t, r.Measurements, 2)
	for _, m := range r.Measurements {
		require.Equal(t, waits, m.Waits)
		require.Positive(t, m.PerSecond())
		require.Positive(t, m.Whole.P50)
		require.LessOrEqual(t, m.Whole.P50, m.Whole.Max)
		require.LessOrEqual(t, m.Delivery.P50, m.Whole.Max)
		require.NotEmpty(t, m.Whole.Histogram)
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{
		{"--binary", "path"},
		{"--clients", "0"},
		{"--clients", "1,x"},
		{"--database", "oracle"},
		{"--rounds", "0"},
		{"more"},
		{"--database", "sqlite", "--peer", "plsql"},
		{"--database", "sqlite", "--replicas", "3"},
		{"--rows", "-1"},
	} {
		_, err := parse(arguments, t.Output())
		require.Error(t, err, "%v", arguments)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2.0, median([]float64{3, 1, 2}), 0)
	require.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 0)
}
