//go:build unix && agents

package sdk

import (
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

var (
	// marked finds the commands of a page, with the mark that may stand before them.
	marked = regexp.MustCompile("(?m)(?:^<!-- test:([a-z]+) -->\n)?^```sh\n((?s:.*?))^```$")
	// typed is marked for the pages of TestPagesAreTyped: a mark may have arguments.
	typed = regexp.MustCompile("(?m)(?:^<!-- (?:(checked|serve):|test:([a-z]+)) ?([^\n]*) -->\n)?^```sh\n((?s:.*?))^```$")
	// byHandle finds the handle in a command that decides a request.
	byHandle = regexp.MustCompile(`(approvals (?:allow|deny)|questions answer) [0-9a-z]{8}\b`)
	// frameID is the id of a frame of a stream.
	frameID = regexp.MustCompile(`\b\d+\.[0-9a-f]{16}\b`)
)

// typist types the commands of a page, next to a service on holdpoint.db in the same directory.
type typist struct {
	*testing.T
	service             *rig.Process
	people              *client.Client
	directory, programs string
	page                string
	waiting             map[*program]int // with their exit codes
	lastID              string           // of a frame
}

// TestPagesAreTyped types every command of these pages, one block after the other. Marks:
//
//	elsewhere    not typed: the service, which runs already, or what another test types
//	waits CODE   started; it waits for a person, and ends with the code (0) by the end of the page
//	works        started in the tree, and killed at the end of the page
//	typing TEXT  typed, with the words of the text on the lines of its input
//	killed       not typed: the service is killed and started again
//	stopped      typed while the service is stopped
//	follows TEXT typed; it follows a stream, and is killed once that has shown the text
//	proxies      typed: it starts the proxy of docs/behind-a-proxy.md, which clients call then
//
// A block that decides a request by its handle gets the handle of the only pending request, and one that continues a stream
// the last id of the stream before.
func TestPagesAreTyped(t *testing.T) {
	for _, page := range []string{
		"start-coding-agent", "start-agent-builder", "start-decide", "start-operate", "recipes",
		"getting-started", "rules", "faces", "security", "back-up", "doctor", "behind-a-proxy", "codex", "relay", "timbal", "streams",
	} {
		t.Run(page, func(t *testing.T) {
			directory := t.TempDir()
			service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(directory, "holdpoint.db")})
			p := &typist{T: t, service: service, people: service.ConnectPatiently(), directory: directory, programs: t.TempDir(), waiting: map[*program]int{}}
			require.NoError(t, os.Symlink(rig.Program(t), filepath.Join(p.programs, "holdpoint")))
			t.Setenv("PATH", p.programs+":"+os.Getenv("PATH"))
			t.Setenv("HOLDPOINT_SERVER", service.URL())
			configuration := filepath.Join(p.programs, "holdpoint.json")
			require.NoError(t, os.WriteFile(configuration, []byte("{}"), 0o600))
			t.Setenv("HOLDPOINT_CONFIG", configuration)
			text, err := os.ReadFile(filepath.Join(repository(), "docs", page+".md"))
			require.NoError(t, err)
			p.page = string(text)
			blocks := typed.FindAllStringSubmatch(p.page, -1)
			require.NotEmpty(t, blocks)
			done := 0
			for _, block := range blocks {
				if block[1] == "" && p.do(block[2], block[3], block[4]) {
					done++
				}
			}
			require.Positive(t, done)
			for one, code := range p.waiting {
				<-one.ended
				require.Equal(t, code, one.command.ProcessState.ExitCode(), "%s", one.output)
			}
		})
	}
}

// do does a block and reports whether it was typed.
func (p *typist) do(mark, argument, block string) bool {
	p.Helper()
	commands := "set -euo pipefail\n" + strings.ReplaceAll(block, "http://127.0.0.1:4000", p.service.URL())
	if byHandle.MatchString(commands) {
		commands = byHandle.ReplaceAllString(commands, "$1 "+p.onlyHandle())
	}
	if p.lastID != "" {
		commands = frameID.ReplaceAllString(commands, p.lastID)
	}
	switch mark {
	case "elsewhere":
		return false
	case "killed":
		p.service.Kill()
		p.service.Resume()
		return false
	case "stopped":
		p.service.Kill()
		defer p.service.Resume()
	case "works":
		start(p.T, repository(), "bash", "-c", strings.ReplaceAll(commands, "/tmp/", p.TempDir()+"/"))
		return false
	case "waits":
		code := 0
		if argument != "" {
			var err error
			code, err = strconv.Atoi(argument)
			require.NoError(p, err)
		}
		before := len(p.handles())
		p.waiting[start(p.T, p.directory, "bash", "-c", commands)] = code
		rig.Await(p, func() bool { return len(p.handles()) > before }, "it does not wait: "+block)
		return false
	case "follows":
		p.follows(commands, argument)
		return true
	case "proxies":
		p.proxies(commands)
		return true
	case "", "typing":
	default:
		require.Fail(p, "no such mark", mark)
	}
	command := exec.CommandContext(p.Context(), "bash", "-c", commands)
	command.Dir = p.directory
	command.Stdin = strings.NewReader(strings.ReplaceAll(argument, " ", "\n") + "\n\n\n")
	output, err := command.CombinedOutput()
	require.NoError(p, err, "%s\n%s", block, output)
	p.Logf("%s", output)
	return true
}

// follows types commands that follow a stream, until it has shown a text.
func (p *typist) follows(commands, text string) {
	p.Helper()
	stream := start(p.T, p.directory, "bash", "-c", commands)
	rig.Await(p, func() bool {
		select {
		case <-stream.ended:
			require.FailNow(p, "the stream ended", "%s", stream.output)
		default:
		}
		return strings.Contains(stream.output.String(), text)
	}, "the stream does not show "+text)
	stream.kill()
	if ids := frameID.FindAllString(stream.output.String(), -1); len(ids) > 0 {
		p.lastID = ids[len(ids)-1]
	}
}

// handles are of all pending requests.
func (p *typist) handles() (all []string) {
	p.Helper()
	approvals, err := p.people.ListApprovals(p.Context(), client.PendingListParams{})
	require.NoError(p, err)
	for _, one := range approvals.Items {
		all = append(all, one.Request.Handle)
	}
	questions, err := p.people.ListQuestions(p.Context(), client.PendingListParams{})
	require.NoError(p, err)
	for _, one := range questions.Items {
		all = append(all, one.Request.Handle)
	}
	return all
}

func (p *typist) onlyHandle() string {
	p.Helper()
	all := p.handles()
	require.Len(p, all, 1, "the page decides one request")
	return all[0]
}
