package gallery

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
)

// process is a running "holdpoint serve".
type process struct {
	client  *client.Client
	command *exec.Cmd
	ended   chan error
	log     *bytes.Buffer // read it after ended
}

// serve starts the program on a database and waits until it takes calls.
func serve(t *testing.T, database string) *process {
	t.Helper()
	listenFile := filepath.Join(t.TempDir(), "url")
	p := &process{ended: make(chan error, 1), log: &bytes.Buffer{}}
	p.command = exec.Command(program(t), "serve", "--database", database,
		"--listen", "127.0.0.1:0", "--listen-file", listenFile, "--log-level", "warn")
	p.command.Stdout, p.command.Stderr = p.log, p.log
	p.command.SysProcAttr = endWithParent()
	require.NoError(t, p.command.Start())
	go func() {
		p.ended <- p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)

	var url []byte
	require.Eventually(t, func() bool {
		var err error
		url, err = os.ReadFile(listenFile)
		return err == nil || len(p.ended) > 0
	}, patience, 5*time.Millisecond)
	if len(url) == 0 {
		<-p.ended
		require.Fail(t, "the service ended", p.log.String())
	}
	// A call to a service that was killed fails at once instead of being repeated.
	p.client = connect(t, strings.TrimSpace(string(url)), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
	return p
}

// kill ends the process at once, as a power cut would, and waits until it is gone.
func (p *process) kill() {
	_ = p.command.Process.Kill() // it may be gone
	<-p.ended
}

// run runs another command of the program and returns its exit code and output.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, program(t), args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return command.ProcessState.ExitCode(), out.String(), errs.String()
}

// requireDoctorContent lets the doctor command walk all rows of a database.
func requireDoctorContent(t *testing.T, database string) {
	t.Helper()
	code, stdout, stderr := run(t, "doctor", "--database", database)
	require.Zero(t, code, "%s%s", stdout, stderr)
	require.Contains(t, stdout, "nothing is wrong")
}
