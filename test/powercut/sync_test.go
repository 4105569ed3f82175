//go:build unix && faults

package powercut

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// The system calls of the service are watched while one caller makes one change after
// the other: no reply leaves while something of the log is written and not synced.
func TestNothingIsAcknowledgedBeforeItIsSynced(t *testing.T) {
	t.Parallel()
	const changes = 25
	rig.Need(t, "strace")
	file := newDatabase(t)
	service := rig.Start(t, rig.Options{Database: file.url()})
	caller := service.Connect()
	stop := watch(t, service.PID())
	for n := range changes {
		runID := fmt.Sprintf("run-%d", n)
		_, err := caller.CreateRun(t.Context(), client.CreateRunParams{RunID: runID, Input: "work", Suspend: rig.Approvals("deploy")})
		require.NoError(t, err)
		_, err = caller.ResolveRunApprovals(t.Context(), runID, rig.Decide(rig.Allow("deploy")))
		require.NoError(t, err)
	}
	seen := readTrace(stop())
	require.Empty(t, seen.tooEarly)
	require.Equal(t, 2*changes, seen.replies)
	require.GreaterOrEqual(t, seen.syncs, 2*changes)
}

// A trace in which a reply leaves too early is one that readTrace finds fault with.
func TestReadTraceNoticesAnEarlyReply(t *testing.T) {
	t.Parallel()
	const (
		write  = `11 pwrite64(8</db/holdpoint.db-wal>, "\1\2"..., 4096, 32) = 4096` + "\n"
		sync   = `11 fdatasync(8</db/holdpoint.db-wal>) = 0` + "\n"
		begun  = `11 fsync(8</db/holdpoint.db-wal> <unfinished ...>` + "\n"
		ended  = `11 <... fsync resumed>)            = 0` + "\n"
		reply  = `12 write(9<socket:[77]>, "HTTP/1.1 201 Cre"..., 512 <unfinished ...>` + "\n"
		broken = `11 fsync(8</db/holdpoint.db-wal>) = -1 EIO (Input/output error)` + "\n"
	)
	for name, test := range map[string]struct {
		trace    string
		tooEarly int
	}{
		"in order":                        {write + write + sync + reply, 0},
		"the sync takes long":             {write + begun + ended + reply, 0},
		"without a sync":                  {write + sync + reply + write + reply, 1},
		"before the sync has ended":       {write + begun + reply + ended, 1},
		"written while the sync went on":  {write + begun + write + ended + reply, 1},
		"the sync failed":                 {write + broken + reply, 1},
		"the file itself is synced later": {write + sync + strings.ReplaceAll(write, "-wal", "") + reply, 0},
	} {
		require.Len(t, readTrace([]byte(test.trace)).tooEarly, test.tooEarly, name)
	}
}

// watch begins to trace a process, and returns what ends that and returns the trace.
func watch(t *testing.T, pid int) (stop func() []byte) {
	t.Helper()
	strace := rig.Need(t, "strace")
	trace := filepath.Join(t.TempDir(), "trace")
	command := exec.CommandContext(t.Context(), strace, "-f", "-y", "-s", "16",
		"-e", "trace=pwrite64,write,fsync,fdatasync", "-o", trace, "-p", strconv.Itoa(pid))
	said, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines := bufio.NewReader(said)
	for line := ""; !strings.Contains(line, "attached"); {
		line, err = lines.ReadString('\n')
		require.NoError(t, err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines) // until the process ends
	}()
	return func() []byte {
		require.NoError(t, command.Process.Signal(os.Interrupt))
		<-drained
		_ = command.Wait() // it ends by that signal
		text, err := os.ReadFile(trace)
		require.NoError(t, err)
		return text
	}
}

// traced is what of a trace matters.
type traced struct {
	replies, syncs int
	// tooEarly are the replies that left while the log was not synced.
	tooEarly []string
}

var (
	callBegins  = regexp.MustCompile(`^(\d+) +(\w+)\(\d+<([^>]*)>(.*)$`)
	callResumes = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>.*= (-?\d+)`)
	callResult  = regexp.MustCompile(`= (-?\d+)[^"]*$`)
)

func readTrace(text []byte) traced {
	var seen traced
	written := 0                // writes to the log so far
	synced := 0                 // how many of them are known to be on the disk
	syncing := map[string]int{} // writes so far when a thread began to sync
	endSync := func(thread, result string) {
		if result == "0" {
			synced = max(synced, syncing[thread])
			seen.syncs++
		}
		delete(syncing, thread)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if resumed := callResumes.FindStringSubmatch(line); resumed != nil {
			if _, is := syncing[resumed[1]]; is && strings.HasSuffix(resumed[2], "sync") {
				endSync(resumed[1], resumed[3])
			}
			continue
		}
		call := callBegins.FindStringSubmatch(line)
		if call == nil {
			continue
		}
		thread, name, target, rest := call[1], call[2], call[3], call[4]
		log := strings.HasSuffix(target, "-wal")
		switch {
		case name == "pwrite64" && log:
			written++
		case strings.HasSuffix(name, "sync") && log:
			syncing[thread] = written
			if result := callResult.FindStringSubmatch(rest); result != nil {
				endSync(thread, result[1])
			}
		case name == "write" && strings.Contains(rest, `"HTTP/1.1 2`):
			seen.replies++
			if synced < written {
				seen.tooEarly = append(seen.tooEarly, line)
			}
		}
	}
	return seen
}
