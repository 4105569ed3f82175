//go:build unix && agents

package sdk

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// marked finds the commands of a page, with the mark that may stand before them.
var marked = regexp.MustCompile("(?m)(?:^<!-- test:([a-z]+) -->\n)?^```sh\n((?s:.*?))^```$")

// TestQuickStartsWork types every command of the pages for beginners, one after the other. What is
// marked "waits" is started, and the rest is typed once it waits; what is marked "elsewhere" is the
// service, which runs already.
func TestQuickStartsWork(t *testing.T) {
	for _, page := range []string{"start-coding-agent", "start-agent-builder", "start-decide", "start-operate", "recipes"} {
		t.Run(page, func(t *testing.T) {
			service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
			people := service.ConnectPatiently()
			directory, programs := t.TempDir(), t.TempDir()
			require.NoError(t, os.Symlink(rig.Program(t), filepath.Join(programs, "holdpoint")))
			t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
			t.Setenv("HOLDPOINT_SERVER", service.URL())
			t.Setenv("HOLDPOINT_CONFIG", filepath.Join(directory, "none"))
			text, err := os.ReadFile(filepath.Join(repository(), "docs", page+".md"))
			require.NoError(t, err)
			blocks := marked.FindAllStringSubmatch(string(text), -1)
			require.NotEmpty(t, blocks)
			typed := 0
			var waiting []*program
			for _, block := range blocks {
				commands := "set -euo pipefail\n" + strings.ReplaceAll(block[2], "http://127.0.0.1:4000", service.URL())
				switch block[1] {
				case "elsewhere":
				case "waits":
					waiting = append(waiting, start(t, directory, "bash", "-c", commands))
					rig.Await(t, func() bool {
						approvals, err := people.ListApprovals(t.Context(), client.PendingListParams{})
						require.NoError(t, err)
						questions, err := people.ListQuestions(t.Context(), client.PendingListParams{})
						require.NoError(t, err)
						return len(approvals.Items)+len(questions.Items) > 0
					}, "it does not wait: "+block[2])
				case "":
					output, err := run(directory, "bash", "-c", commands)
					require.NoError(t, err)
					t.Log(output)
					typed++
				default:
					require.Fail(t, "no such mark", block[1])
				}
			}
			require.Positive(t, typed)
			for _, one := range waiting {
				<-one.ended
				require.True(t, one.command.ProcessState.Success(), "%s", one.output)
			}
		})
	}
}
