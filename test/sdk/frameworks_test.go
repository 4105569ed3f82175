//go:build unix && agents

package sdk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// frameworks are the examples that take their approvals from a framework for agents. The agent of
// each calls the tools deploy and mail at once, by a stub of a model that then repeats what they
// returned.
var frameworks = []struct {
	example string
	input   any
	output  string
	// withoutEdits says that the framework has no answer for an edited call.
	withoutEdits bool
}{
	{example: "openai-agents", input: "Release 1.4", output: `"deploy to staging is done; Not allowed: not now"`},
	{example: "vercel-ai", input: "Release 1.4", output: `"deploy to staging is done; Not allowed: not now"`},
	{example: "langgraph", input: map[string]string{}, output: `{"deploy":"deploy to staging is done","mail":"Not allowed: not now"}`},
	{example: "ag-ui", input: "Release 1.4", output: `"deploy to staging is done; Not allowed: not now; at noon"`},
	{example: "acp", input: "Release 1.4", output: `"deploy to production is done; Not allowed"`, withoutEdits: true},
}

// installExample installs an example with the library of this repository and what its
// package-lock.json pins, and returns its directory.
func installExample(t *testing.T, example string) string {
	t.Helper()
	_, built := needNode(t)
	root, err := newProject()
	require.NoError(t, err)
	directory := filepath.Join(root, "examples", example)
	require.NoError(t, copySources(directory, filepath.Join("examples", example)))
	require.NoError(t, os.Mkdir(filepath.Join(root, "sdk"), 0o755))
	require.NoError(t, os.Symlink(built, filepath.Join(root, "sdk", "typescript")))
	_, err = run(directory, "npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--silent")
	require.NoError(t, err)
	return directory
}

// TestFrameworksWaitWithoutAProcess: two calls of one turn wait; the process that asked and the
// service are killed; one call is edited and the other denied, in the other order; another process
// goes on, and each call has the decision about it, once.
func TestFrameworksWaitWithoutAProcess(t *testing.T) {
	for _, framework := range frameworks {
		t.Run(framework.example, func(t *testing.T) {
			directory := installExample(t, framework.example)
			service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
			ran := filepath.Join(t.TempDir(), "ran")
			t.Setenv("RAN", ran)
			t.Setenv("HOLDPOINT_URL", service.URL())
			people := service.ConnectPatiently()
			created, err := people.CreateRun(t.Context(), client.CreateRunParams{AgentID: "releaser", Input: framework.input})
			require.NoError(t, err)

			asked := start(t, directory, "node", "main.mjs")
			requests := map[string]string{} // by their tools
			var questions []api.UserQuestionRequest
			waits := func() bool {
				waiting, err := people.GetRun(t.Context(), created.RunID)
				require.NoError(t, err)
				for _, approval := range waiting.PendingApprovals {
					requests[approval.ToolName] = approval.ID
				}
				questions = waiting.PendingQuestions
				return len(waiting.PendingApprovals) == 2
			}
			rig.Await(t, waits, "the calls do not wait")
			asked.kill()
			service.Kill()
			service.Resume()
			require.True(t, waits())
			require.NoFileExists(t, ran)

			for _, question := range questions {
				_, err = people.AnswerRunQuestion(t.Context(), created.RunID, client.AnswerQuestionParams{
					Resolution: api.UserQuestionResolution{RequestID: question.ID, Value: api.JSON(`"noon"`)},
				})
				require.NoError(t, err)
			}
			_, err = people.ResolveRunApprovals(t.Context(), created.RunID, rig.Decide(api.ApprovalResolution{
				RequestID: requests["mail"], Behavior: api.BehaviorDeny, Reason: "not now",
			}))
			require.NoError(t, err)
			allow, to := api.ApprovalResolution{RequestID: requests["deploy"], Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"to":"staging"}`)}, "staging"
			if framework.withoutEdits {
				_, err = people.ResolveRunApprovals(t.Context(), created.RunID, rig.Decide(allow))
				require.ErrorIs(t, err, client.ErrInvalid, "an edit must not count as leave for the call as it was")
				allow.UpdatedInput, to = nil, "production"
			}
			_, err = people.ResolveRunApprovals(t.Context(), created.RunID, rig.Decide(allow))
			require.NoError(t, err)
			start(t, directory, "node", "main.mjs")
			done, err := people.WaitRun(rig.Soon(t), created.RunID, client.UntilTerminal)
			require.NoError(t, err)
			require.JSONEq(t, framework.output, string(done.Output), done.Error)
			text, err := os.ReadFile(ran)
			require.NoError(t, err)
			require.Equal(t, "deploy "+to+"\n", string(text))
		})
	}
}
