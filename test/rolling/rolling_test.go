//go:build unix && faults

package rolling

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// previousVariable names the commit to come from; without it, it is the newest whose schema is an
// earlier one.
const previousVariable = "HOLDPOINT_PREVIOUS"

// example is the step that stands in for a later one.
const example = "migrations/testdata/next/postgres/example.sql"

func git(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", filepath.Join("..", "..")}, args...)...)
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	require.NoError(t, err, "git %v: %s", args, errs.String())
	return string(out)
}

// versions returns the programs of two successive versions, and how many steps of the schema are
// between them: the last version and today's, or today's and one with the example's step.
func versions(t *testing.T) (old, next string, steps int) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	today := stepsIn(t, root)
	if os.Getenv(previousVariable) == "" && len(today) == 1 {
		return rig.Program(t), withExample(t, root, today), 1
	}
	old, before := previous(t, slices.Max(today))
	require.Less(t, len(before), len(today), "the version before has fewer steps")
	return old, rig.Program(t), len(today) - len(before)
}

// withExample builds today's program with the example as the step after today's.
func withExample(t *testing.T, root string, today []string) string {
	t.Helper()
	number, _, _ := strings.Cut(slices.Max(today), "_")
	newest, err := strconv.Atoi(number)
	require.NoError(t, err)
	text, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(root, "migrations", "postgres", fmt.Sprintf("%05d_example.sql", newest+1)): filepath.Join(root, example),
	}})
	require.NoError(t, err)
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	return build(t, root, "-overlay", overlay)
}

// previous builds the program of an earlier version, and returns it with its steps. The version is
// the commit before the one that added a step; a step that was removed again does not count.
func previous(t *testing.T, newest string) (program string, steps []string) {
	t.Helper()
	commit := os.Getenv(previousVariable)
	if commit == "" {
		added := strings.TrimSpace(git(t, "log", "--diff-filter=A", "--format=%H", "-1", "--", "migrations/postgres/"+newest))
		require.NotEmpty(t, added, "the history of the repository is needed: a shallow clone has none")
		commit = added + "^"
	}
	source := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", source)
	unpack.Stdin = strings.NewReader(git(t, "archive", commit))
	out, err := unpack.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return build(t, source), stepsIn(t, source)
}

// build builds the program from its source and returns its path.
func build(t *testing.T, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "holdpoint")
	command := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", program}, flags...), "./cmd/holdpoint")...)
	command.Dir = source
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// stepsIn returns the names of the steps in a source tree.
func stepsIn(t *testing.T, source string) (steps []string) {
	t.Helper()
	files, err := fs.Glob(os.DirFS(source), "migrations/postgres/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		steps = append(steps, filepath.Base(file))
	}
	return steps
}

// decisions is how many are awaited in each state of the deployment.
const decisions = 40

// Replicas of the previous version continue while the next one migrates the schema, and are
// replaced one by one under load. Then the new program reverts its migrations, and the old
// replicas serve again.
func TestReplicasAreReplacedUnderLoadAndBack(t *testing.T) {
	t.Parallel()
	old, next, steps := versions(t)
	cluster := rig.NewCluster(t, rig.ClusterOptions{})
	require.NoError(t, cluster.Start())
	database, err := cluster.CreateDatabase("holdpoint")
	require.NoError(t, err)

	replicas, urls := rig.StartReplicas(t, 2, rig.Options{Database: database, Program: old})
	traffic := rig.StartTraffic(t, rig.TrafficOptions{Name: "forth", Services: urls})
	traffic.AwaitAcknowledged(t, decisions)

	code, stdout, stderr := rig.RunProgram(t, next, "migrate", "up", "--database", database)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "applied")
	traffic.AwaitAcknowledged(t, decisions) // the old ones, on the new schema
	replace := func(replica *rig.Process, program string) {
		replica.Stop()
		<-replica.Ended()
		require.NoError(t, replica.Replace(program))
		require.NoError(t, replica.AwaitReady())
	}
	replace(replicas[0], next)
	traffic.AwaitAcknowledged(t, decisions) // one of each
	replace(replicas[1], next)
	traffic.AwaitAcknowledged(t, decisions)
	require.NoError(t, traffic.Finish())
	history := traffic.History()
	history.RequireKept(t, replicas[1])
	code, stdout, stderr = rig.RunProgram(t, next, "doctor", "--database", database)
	require.Zero(t, code, "%s%s", stdout, stderr)

	// Back.
	code, _, stderr = rig.RunProgram(t, next, "migrate", "down", "--yes", "--database", database)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "stop them first")
	for _, replica := range replicas {
		replica.Stop()
		<-replica.Ended()
	}
	for range steps {
		code, stdout, stderr = rig.RunProgram(t, next, "migrate", "down", "--yes", "--database", database)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "reverted")
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

// Until the first new replica serves, a balancer has only the old ones.
func TestReplicasStayReadyWhileTheNextVersionMigrates(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	next := withExample(t, root, stepsIn(t, root))
	cluster := rig.NewCluster(t, rig.ClusterOptions{})
	require.NoError(t, cluster.Start())
	database, err := cluster.CreateDatabase("holdpoint")
	require.NoError(t, err)
	_, urls := rig.StartReplicas(t, 2, rig.Options{Database: database})

	code, stdout, stderr := rig.RunProgram(t, next, "migrate", "up", "--database", database)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "applied")
	for _, url := range urls {
		c, err := client.New(url)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		rig.Await(t, func() bool { return c.Ready(t.Context()) == nil }, url)
	}
}
