package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var programs = struct {
	sync.Mutex
	directory string
	paths     map[string]string
}{paths: map[string]string{}}

// Program builds cmd/holdpoint with the given build tags, once in the life of the
// test process, and returns the path of the executable. [Main] removes it.
func Program(tb testing.TB, tags ...string) string {
	tb.Helper()
	joined := strings.Join(tags, ",")
	path, err := build(joined, "-tags", joined)
	require.NoError(tb, err)
	return path
}

// build builds the program with flags of "go build", unless one of that name is there.
func build(name string, flags ...string) (string, error) {
	programs.Lock()
	defer programs.Unlock()
	if path, built := programs.paths[name]; built {
		return path, nil
	}
	if programs.directory == "" {
		directory, err := os.MkdirTemp("", "holdpoint-rig-*")
		if err != nil {
			return "", err
		}
		programs.directory = directory
	}
	path := filepath.Join(programs.directory, fmt.Sprintf("holdpoint-%d", len(programs.paths)))
	arguments := append([]string{"build", "-o", path}, flags...)
	command := exec.CommandContext(context.Background(), "go", append(arguments, "github.com/holdpoint/holdpoint/cmd/holdpoint")...)
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %q: %w\n%s", flags, err, output)
	}
	programs.paths[name] = path
	return path, nil
}

// removePrograms removes what [Program] built.
func removePrograms() {
	programs.Lock()
	defer programs.Unlock()
	if programs.directory != "" {
		_ = os.RemoveAll(programs.directory)
	}
	programs.directory, programs.paths = "", map[string]string{}
}
