package docstest

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli"
)

// services are the marks of TestServicesOfPagesStart, each with the number of services of its block.
var services = map[string]int{"sqlite": 3, "retention": 1}

// greeted tells the URL that a service greets with once it answers.
type greeted struct {
	once sync.Once
	url  chan string
}

var greeting = regexp.MustCompile(`http://[^\s/]*\w`)

func (g *greeted) Write(p []byte) (int, error) {
	if url := greeting.Find(p); url != nil {
		g.once.Do(func() { g.url <- string(url) })
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
			startOnce(t, line, words[1:], func(string) {})
			started[name]++
		}
	}
	require.Equal(t, services, started)
}

// startOnce starts a service on a free port, uses it, and stops it.
func startOnce(t *testing.T, line string, words []string, use func(url string)) {
	t.Helper()
	folder := t.TempDir()
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "/var/lib/holdpoint", folder)
	}
	environment := map[string]string{
		"HOLDPOINT_LISTEN": "127.0.0.1:0", "HOLDPOINT_DATABASE": "sqlite:" + filepath.Join(folder, "holdpoint.db"),
	}
	ctx, stop := context.WithCancel(t.Context())
	stdout, ended := &greeted{url: make(chan string, 1)}, make(chan struct{})
	var code int
	var stderr string
	go func() {
		defer close(ended)
		code, stderr = runIn(ctx, environment, words, stdout)
	}()
	defer func() {
		stop()
		<-ended
		require.Zero(t, code, "%s: %s", line, stderr)
	}()
	select {
	case url := <-stdout.url:
		use(url)
	case <-ended:
		t.Fatalf("%s ended with %d: %s", line, code, stderr)
	}
}

// runIn runs a command with an environment.
func runIn(ctx context.Context, environment map[string]string, words []string, stdout io.Writer) (code int, stderr string) {
	var errs bytes.Buffer
	code = cli.Run(ctx, words, func(name string) (string, bool) {
		value, is := environment[name]
		return value, is
	}, strings.NewReader(""), stdout, &errs)
	return code, errs.String()
}
