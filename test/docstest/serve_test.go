package docstest

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli"
)

// services are the marks of TestServicesOfPagesStart, each with the number of services of its block.
var services = map[string]int{"sqlite": 3, "retention": 1}

// greeted tells when a service has greeted, which it does once it answers.
type greeted struct {
	once sync.Once
	at   chan struct{}
}

func (g *greeted) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("http://")) {
		g.once.Do(func() { close(g.at) })
	}
	return len(p), nil
}

// TestServicesOfPagesStart starts the service of each line of the blocks that are marked serve:NAME, on a free port and
// in a folder of its own, and stops it once it answers.
func TestServicesOfPagesStart(t *testing.T) {
	t.Parallel()
	started := map[string]int{}
	for _, b := range blocksOf(t) {
		name, is := strings.CutPrefix(b.mark, "serve:")
		if !is {
			continue
		}
		for line := range strings.Lines(b.text) {
			command, _, _ := strings.Cut(line, "#")
			words := strings.Fields(command)
			require.NotEmpty(t, words, "%v: %s", b, line)
			require.Equal(t, "holdpoint", words[0], "%v: %s", b, line)
			startOnce(t, line, words[1:])
			started[name]++
		}
	}
	require.Equal(t, services, started)
}

func startOnce(t *testing.T, line string, words []string) {
	t.Helper()
	folder := t.TempDir()
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "/var/lib/holdpoint", folder)
	}
	environment := map[string]string{
		"HOLDPOINT_LISTEN": "127.0.0.1:0", "HOLDPOINT_DATABASE": "sqlite:" + filepath.Join(folder, "holdpoint.db"),
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stdout := &greeted{at: make(chan struct{})}
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, words, func(name string) (string, bool) {
			value, is := environment[name]
			return value, is
		}, strings.NewReader(""), stdout, &stderr)
	}()
	select {
	case <-stdout.at:
	case code := <-ended:
		t.Fatalf("%s ended with %d: %s", line, code, &stderr)
	}
	stop()
	require.Zero(t, <-ended, "%s: %s", line, &stderr)
}
