//go:build unix && agents

package sdk

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// TestGoModulesStartFromTheirPages: the programs of two pages run in a module of their own next to a clone, with the
// commands of docs/sdk.md: a worker of a service, and a service with its worker.
func TestGoModulesStartFromTheirPages(t *testing.T) {
	// "go mod tidy" reads the tests of all modules: it may ask the proxy for more than the clone needs, and no other
	// server.
	t.Setenv("GOSUMDB", "off")
	clone := freshClone(t)
	for page, follow := range map[string]func(t *testing.T, people *client.Client){
		"workers": func(t *testing.T, people *client.Client) {
			t.Helper()
			_, err := people.CreateRun(t.Context(), client.CreateRunParams{RunID: "deploy-1.4", AgentID: "deployer", Input: map[string]string{"version": "1.4", "to": "production"}})
			require.NoError(t, err)
		},
		"embed": func(*testing.T, *client.Client) {},
	} {
		t.Run(page, func(t *testing.T) {
			project := t.TempDir()
			require.NoError(t, os.Symlink(clone, filepath.Join(project, "holdpoint")))
			var address string
			var people *client.Client
			if page == "embed" {
				free, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				require.NoError(t, free.Close())
				address = free.Addr().String()
				people, err = client.New("http://"+address, client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
				require.NoError(t, err)
				t.Cleanup(people.Close)
			} else {
				service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
				people, address = service.ConnectPatiently(), service.Address()
			}
			shown := pageOf(t, "docs/sdk.md", "")
			shown.run(project, "module")
			directory := filepath.Join(project, "my-agent")
			program := ""
			for _, block := range blocks(t, filepath.Join("docs", page+".md"), "go") {
				if strings.Contains(block, "package main\n") {
					program = strings.ReplaceAll(block, "127.0.0.1:4000", address)
				}
			}
			require.NotEmpty(t, program)
			require.NoError(t, os.WriteFile(filepath.Join(directory, "main.go"), []byte(program), 0o600))
			_, err := shell(directory, "go mod tidy && go build -o /dev/null .") // whose end is not waited for below
			require.NoError(t, err)
			if page == "workers" {
				requirements, err := os.ReadFile(filepath.Join(directory, "go.mod"))
				require.NoError(t, err)
				require.Equal(t, 4, strings.Count(string(requirements), "// indirect"), "the client needs few modules, none of the service's:\n%s", requirements)
			}
			shown.start(directory, "run")
			follow(t, people)
			rig.Await(t, func() bool {
				open, err := people.ListApprovals(t.Context(), client.PendingListParams{}) // an error: it does not listen yet
				return err == nil && len(open.Items) == 1
			}, "the program does not ask")
			_, err = people.ResolveRunApprovals(t.Context(), "deploy-1.4", rig.Decide(api.ApprovalResolution{RequestID: "deploy", Behavior: api.BehaviorAllow}))
			require.NoError(t, err)
			done, err := people.WaitRun(rig.Soon(t), "deploy-1.4", client.UntilTerminal)
			require.NoError(t, err)
			require.Equal(t, api.StatusCompleted, done.Status, done.Error)
		})
	}
}
