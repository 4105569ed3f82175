//go:build unix && faults

package rolling

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// previousVariable names the commit to come from; without it, it is the newest whose schema is an
// earlier one.
const previousVariable = "HOLDPOINT_PREVIOUS"

func git(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", filepath.Join("..", "..")}, args...)...)
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	require.NoError(t, err, "git %v: %s", args, errs.String())
	return string(out)
}

// previous builds the program of an earlier version, and returns it with its migrations.
func previous(t *testing.T) (program string, steps map[string]bool) {
	t.Helper()
	commit := os.Getenv(previousVariable)
	if commit == "" {
		// The commit that added the newest of today's steps: a step that was taken out again does not count.
		last := slices.Max(slices.Collect(maps.Keys(stepsIn(t, filepath.Join("..", "..")))))
		newest := strings.TrimSpace(git(t, "log", "--diff-filter=A", "--format=%H", "-1", "--", "migrations/postgres/"+last))
		require.NotEmpty(t, newest, "the history of the repository is needed: a shallow clone has none")
		commit = newest + "^"
	}
	source := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", source)
	unpack.Stdin = strings.NewReader(git(t, "archive", commit))
	out, err := unpack.CombinedOutput()
	require.NoError(t, err, "%s", out)
	program = filepath.Join(t.TempDir(), "holdpoint")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/holdpoint")
	build.Dir = source
	out, err = build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program, stepsIn(t, source)
}

func stepsIn(t *testing.T, source string) map[string]bool {
	t.Helper()
	files, err := fs.Glob(os.DirFS(source), "migrations/postgres/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	steps := map[string]bool{}
	for _, file := range files {
		steps[filepath.Base(file)] = true
	}
	return steps
}

// decisions is how many are awaited in each state of the deployment.
const decisions = 40

// Replicas of the version before go on while the next one migrates beside them, and are replaced
// one by one under load; then the new program takes its steps back, and the old ones serve again.
func TestReplicasAreReplacedUnderLoadAndBack(t *testing.T) {
	t.Parallel()
	old, oldSteps := previous(t)
	newSteps := stepsIn(t, filepath.Join("..", ".."))
	cluster := rig.NewCluster(t, rig.ClusterOptions{})
	require.NoError(t, cluster.Start())
	database, err := cluster.CreateDatabase("holdpoint")
	require.NoError(t, err)

	replicas, urls := rig.StartReplicas(t, 2, rig.Options{Database: database, Program: old})
	traffic := rig.StartTraffic(t, rig.TrafficOptions{Name: "forth", Services: urls})
	traffic.AwaitAcknowledged(t, decisions)

	code, stdout, stderr := rig.Run(t, "migrate", "up", "--database", database)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "applied")
	traffic.AwaitAcknowledged(t, decisions) // the old ones, on the new schema
	replace := func(replica *rig.Process, program string) {
		replica.Stop()
		<-replica.Ended()
		require.NoError(t, replica.Replace(program))
		require.NoError(t, replica.AwaitReady())
	}
	replace(replicas[0], rig.Program(t))
	traffic.AwaitAcknowledged(t, decisions) // one of each
	replace(replicas[1], rig.Program(t))
	traffic.AwaitAcknowledged(t, decisions)
	require.NoError(t, traffic.Finish())
	history := traffic.History()
	history.RequireKept(t, replicas[1])
	rig.RequireHealthy(t, database)

	// Back.
	code, _, stderr = rig.Run(t, "migrate", "down", "--yes", "--database", database)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "stop them first")
	for _, replica := range replicas {
		replica.Stop()
		<-replica.Ended()
	}
	for range len(newSteps) - len(oldSteps) {
		code, stdout, stderr = rig.Run(t, "migrate", "down", "--yes", "--database", database)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "took back")
	}
	for _, replica := range replicas {
		require.NoError(t, replica.Replace(old))
		require.NoError(t, replica.AwaitReady())
	}
	back := rig.StartTraffic(t, rig.TrafficOptions{Name: "back", Services: urls})
	back.AwaitAcknowledged(t, decisions)
	require.NoError(t, back.Finish())
	returned := back.History()
	returned.RequireKept(t, replicas[0])
	history.RequireKept(t, replicas[0], "what was decided on the way forth is there")
}
