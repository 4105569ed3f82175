package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wrongClockVariable holds by how many seconds the clock of a program of
// [ProgramWithWrongClock] is wrong.
const wrongClockVariable = "HOLDPOINT_RIG_CLOCK_AHEAD"

// ProgramWithWrongClock builds cmd/holdpoint so that the environment of [ClockAhead]
// makes every clock wrong that it and its libraries read: time.Now of the standard
// library is replaced for this build. Nothing that other tools do works for a Go
// program, which asks the kernel without a library in between. Timers stay right, as
// they do on a machine whose time of day is wrong.
//
// The first build takes the time that the whole standard library takes.
func ProgramWithWrongClock(tb testing.TB, tags ...string) string {
	tb.Helper()
	replacing, err := wrongClock(tb.TempDir())
	require.NoError(tb, err)
	joined := strings.Join(tags, ",")
	path, err := build("wrong clock,"+joined, "-tags", joined, "-overlay", replacing)
	require.NoError(tb, err)
	return path
}

// ClockAhead is the environment in which the clock of a [ProgramWithWrongClock] is so
// much ahead, or behind when it is negative. Only whole seconds count.
func ClockAhead(by time.Duration) string {
	return wrongClockVariable + "=" + strconv.FormatInt(int64(by/time.Second), 10)
}

// The place in the standard library where the time of day is read, and what comes
// after it.
const (
	clockIsRead   = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	clockIsWrong  = clockIsRead + "\tsec += secondsAhead\n"
	readFromStart = `
var secondsAhead = func() int64 {
	text, _ := syscall.Getenv("` + wrongClockVariable + `")
	seconds, _ := atoi(text)
	return int64(seconds)
}()
`
)

// wrongClock writes an overlay for "go build" and returns its path.
func wrongClock(directory string) (string, error) {
	root, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	source := string(text)
	if strings.Count(source, clockIsRead) != 1 {
		return "", fmt.Errorf("%s reads the clock in another way than this test knows", original)
	}
	source = strings.Replace(source, clockIsRead, clockIsWrong, 1) + readFromStart
	source = strings.Replace(source, "import (\n", "import (\n\t\"syscall\"\n", 1)
	return overlay(directory, original, source)
}

// overlay writes what "go build -overlay" needs to build with another source in place of
// a file, and returns its path.
func overlay(directory, original, source string) (string, error) {
	replaced := filepath.Join(directory, "replaced.go")
	if err := os.WriteFile(replaced, []byte(source), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: replaced}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(directory, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// ProgramWithFault builds cmd/holdpoint with another text in one place of one file, whose
// path is below the module. It fails when the text is not there exactly once.
func ProgramWithFault(tb testing.TB, file, right, wrong string) string {
	tb.Helper()
	root, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	require.NoError(tb, err)
	original := filepath.Join(strings.TrimSpace(string(root)), filepath.FromSlash(file))
	text, err := os.ReadFile(original)
	require.NoError(tb, err)
	require.Equal(tb, 1, strings.Count(string(text), right), "%s must have %q once", file, right)
	replacing, err := overlay(tb.TempDir(), original, strings.Replace(string(text), right, wrong, 1))
	require.NoError(tb, err)
	path, err := build("fault in "+file, "-overlay", replacing)
	require.NoError(tb, err)
	return path
}
