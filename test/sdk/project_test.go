//go:build unix && agents

package sdk

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// projects are the directories that [removeProjects] removes.
var projects []string

func removeProjects() {
	for _, directory := range projects {
		_ = os.RemoveAll(directory)
	}
}

// newProject makes an empty directory that lasts as long as the process.
func newProject() (string, error) {
	directory, err := os.MkdirTemp("", "holdpoint-sdk-*")
	projects = append(projects, directory)
	return directory, err
}

// repository is the root of this repository.
func repository() string {
	root, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return root
}

// copySources copies a directory of the repository without what builds leave in it.
func copySources(to, from string) error {
	listed := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	listed.Dir = filepath.Join(repository(), from)
	// The repository may belong to another user.
	listed.Env = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	names, err := listed.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(names), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(listed.Dir, name))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// run runs a program in a directory and returns what it printed.
func run(directory, program string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir = directory
	output, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", program, strings.Join(arguments, " "), err, output)
	}
	return string(output), nil
}

// blocks returns the code blocks of a language in a README of the repository.
func blocks(t *testing.T, readme, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository(), readme))
	require.NoError(t, err)
	var found []string
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		found = append(found, match[1])
	}
	require.NotEmpty(t, found)
	return found
}

// program is a process of an SDK. It is killed with the test.
type program struct {
	*testing.T
	command *exec.Cmd
	output  *spoken
	ended   chan struct{}
}

// spoken is what a program has printed so far.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *spoken) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// start starts a program in a directory.
func start(t *testing.T, directory, name string, arguments ...string) *program {
	t.Helper()
	p := &program{T: t, command: exec.Command(name, arguments...), output: new(spoken), ended: make(chan struct{})}
	p.command.Dir = directory
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, p.command.Start())
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // the exit code says it
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said: %s", name, p.output)
		}
	})
	return p
}

// kill ends the program and what it started at once.
func (p *program) kill() {
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	<-p.ended
}
