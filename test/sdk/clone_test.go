//go:build unix && agents

package sdk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// clone is a clone of this repository, made once in the life of the process, in which nothing was
// built before a page was followed.
var clone = sync.OnceValues(func() (string, error) {
	project, err := newProject()
	if err != nil {
		return "", err
	}
	// Pages name the directory of the clone.
	root := filepath.Join(project, "holdpoint")
	return root, copySources(root, ".")
})

func freshClone(t *testing.T) string {
	t.Helper()
	root, err := clone()
	require.NoError(t, err)
	return root
}

// page is what a page tells people to type, by its marks.
type page struct {
	*testing.T
	commands map[string]string
}

// pageOf reads a page. Its commands go to the service at url.
func pageOf(t *testing.T, name, url string) page {
	t.Helper()
	commands, err := commandsOf(name)
	require.NoError(t, err)
	for mark, text := range commands {
		commands[mark] = strings.ReplaceAll(text, "http://127.0.0.1:4000", url)
	}
	return page{t, commands}
}

// commandsOf returns the commands of a page by their marks. Each block has one.
func commandsOf(name string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(repository(), name))
	if err != nil {
		return nil, err
	}
	commands := map[string]string{}
	for _, block := range marked.FindAllStringSubmatch(string(text), -1) {
		if block[1] == "" || commands[block[1]] != "" {
			return nil, fmt.Errorf("a block of %s has no mark of its own:\n%s", name, block[2])
		}
		commands[block[1]] = block[2]
	}
	return commands, nil
}

// shell runs commands as a person types them.
func shell(directory, commands string) (string, error) {
	return run(directory, "bash", "-euo", "pipefail", "-c", commands)
}

// text returns the commands under a mark.
func (p page) text(mark string) string {
	p.Helper()
	require.Contains(p, p.commands, mark)
	return p.commands[mark]
}

// run types the commands under a mark and returns what they printed.
func (p page) run(directory, mark string) string {
	p.Helper()
	output, err := shell(directory, p.text(mark))
	require.NoError(p, err)
	return output
}

// start starts the commands under a mark, which end with the test.
func (p page) start(directory, mark string) *program {
	p.Helper()
	return start(p.T, directory, "bash", "-euo", "pipefail", "-c", p.text(mark))
}

// builtLibrary says that the TypeScript library of the clone was built as a page says.
var builtLibrary bool

// installOnce installs an example. The commands that build the library are the same on each page, and
// are typed once.
func (p page) installOnce(directory string) {
	p.Helper()
	var left []string
	for command := range strings.SplitSeq(p.text("install"), "\n") {
		if !builtLibrary || !strings.HasSuffix(command, "--prefix ../../sdk/typescript") {
			left = append(left, command)
		}
	}
	_, err := shell(directory, strings.Join(left, "\n"))
	require.NoError(p, err)
	builtLibrary = true
}

// TestGoExamplesStartFromTheirPages types the pages of the agents in Go.
func TestGoExamplesStartFromTheirPages(t *testing.T) {
	root := freshClone(t)
	for name, example := range map[string]struct {
		run, output string
		decide      func(t *testing.T, shown page, people *client.Client)
	}{
		"shellplan": {"plan-1", `mkdir build`, func(t *testing.T, shown page, _ *client.Client) {
			t.Helper()
			shown.run(root, "decide")
		}},
		"interview": {"interview-1", `would rather not say`, func(t *testing.T, _ page, people *client.Client) {
			t.Helper()
			for _, question := range []string{"shape", "replicas"} {
				_, err := people.AnswerRunQuestion(t.Context(), "interview-1", client.AnswerQuestionParams{
					Resolution: api.UserQuestionResolution{RequestID: question, Declined: true},
				})
				require.NoError(t, err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
			people := service.ConnectPatiently()
			t.Setenv("HOLDPOINT_SERVER", service.URL())
			t.Setenv("HOLDPOINT_CONFIG", filepath.Join(t.TempDir(), "none"))
			shown := pageOf(t, filepath.Join("examples", name, "README.md"), service.URL())
			shown.commands["worker"] = strings.ReplaceAll(shown.text("worker"), "/tmp/", t.TempDir()+"/")
			shown.start(root, "worker")
			shown.run(root, "create")
			rig.Await(t, func() bool {
				waiting, err := people.GetRun(t.Context(), example.run)
				require.NoError(t, err)
				return len(waiting.PendingApprovals)+len(waiting.PendingQuestions) > 0
			}, "the agent does not ask")
			example.decide(t, shown, people)
			result := shown.run(root, "result")
			require.Contains(t, result, `"status":"completed"`)
			require.Contains(t, result, example.output)
		})
	}
}
