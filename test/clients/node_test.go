//go:build unix

package clients

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

//go:embed node
var nodeFiles embed.FS

// nodeInstalled is what removeNode removes.
var nodeInstalled string

// nodeDirectory is where npm's clients are installed, once in the life of the process.
var nodeDirectory = sync.OnceValues(func() (string, error) {
	directory, err := os.MkdirTemp("", "holdpoint-node-*")
	if err != nil {
		return "", err
	}
	nodeInstalled = directory
	if err := os.CopyFS(directory, nodeFiles); err != nil {
		return "", err
	}
	directory = filepath.Join(directory, "node")
	command := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--silent")
	command.Dir = directory
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, output)
	}
	return directory, nil
})

// needNode returns where npm's clients are installed, and skips the test where there is no npm.
func needNode(t *testing.T) string {
	t.Helper()
	rig.Need(t, "node")
	rig.Need(t, "npm")
	directory, err := nodeDirectory()
	require.NoError(t, err)
	return directory
}

// inNode runs a script in Node and returns what it reports.
func inNode(t *testing.T, script string, arguments ...string) *reader {
	t.Helper()
	directory := needNode(t)
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, "node", append([]string{filepath.Join(directory, script)}, arguments...)...)
	var errors bytes.Buffer
	command.Stderr = &errors
	lines, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	r := newReader(t)
	read := make(chan struct{})
	go func() {
		defer close(read)
		scanner := bufio.NewScanner(lines)
		scanner.Buffer(nil, 16<<20)
		for scanner.Scan() {
			r.report(scanner.Bytes())
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-read
		_ = command.Wait() // it was killed
		if t.Failed() {
			t.Logf("node said: %s", errors.String())
		}
	})
	return r
}

// inEventSource opens a stream with npm's eventsource.
func inEventSource(t *testing.T, base, path string) *reader {
	t.Helper()
	types, err := json.Marshal(eventTypes)
	require.NoError(t, err)
	return inNode(t, "eventsource.mjs", base+path, string(types))
}

// removeNode removes what npm installed.
func removeNode() {
	if nodeInstalled != "" {
		_ = os.RemoveAll(nodeInstalled)
	}
}
