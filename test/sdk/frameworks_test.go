//go:build unix && agents

package sdk

import (
	"errors"
	"io/fs"
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
	output  string
	// withoutEdits says that the framework has no answer for an edited call.
	withoutEdits bool
	// expires is the deadline of its question, which nobody answers.
	expires string
	// python says that it is a virtual environment and not a package of npm.
	python bool
}{
	{example: "openai-agents", output: `"deploy to staging is done; Not allowed: not now"`},
	{example: "vercel-ai", output: `"deploy to staging is done; Not allowed: not now"`},
	{example: "langgraph", output: `{"deploy":"deploy to staging is done","mail":"Not allowed: not now"}`},
	{example: "langchain", output: `"deploy to staging is done; Not allowed: not now"`},
	{example: "pydantic-ai", output: `"deploy to staging is done; Not allowed: not now"`, python: true},
	{example: "ag-ui", output: `"deploy to staging is done; Not allowed: not now; at noon"`},
	{example: "ag-ui", output: `"deploy to staging is done; Not allowed: not now; at cancelled"`, expires: "2026-01-01T00:00:00Z"},
	{example: "acp", output: `"deploy to production is done; Not allowed"`, withoutEdits: true},
}

// TestFrameworksWaitWithoutAProcess: two calls of one turn wait; the process that asked and the
// service are killed; one call is edited and the other denied, in the other order; another process
// goes on, and each call has the decision about it, once. All is typed as the page of the example says,
// in a clone in which nothing was built.
func TestFrameworksWaitWithoutAProcess(t *testing.T) {
	for _, framework := range frameworks {
		name := framework.example
		if framework.expires != "" {
			name += "-expired"
		}
		t.Run(name, func(t *testing.T) {
			if framework.python {
				requirePython(t)
			} else {
				rig.Need(t, "node")
				rig.Need(t, "npm")
			}
			directory := filepath.Join(freshClone(t), "examples", framework.example)
			service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
			shown := pageOf(t, filepath.Join("examples", framework.example, "README.md"), service.URL())
			ran := filepath.Join(t.TempDir(), "ran")
			t.Setenv("RAN", ran)
			t.Setenv("EXPIRES_AT", framework.expires)
			t.Setenv("HOLDPOINT_SERVER", service.URL())
			people := service.ConnectPatiently()
			if framework.python {
				shown.commands["install"] = packages(t, framework.example) + shown.text("install")
				shown.run(directory, "install")
				holdBridge(t, directory, framework.example, ".py", filepath.Join(directory, ".venv", "bin", "python"))
			} else {
				shown.installOnce(directory)
				holdBridge(t, directory, framework.example, ".mjs", "node")
			}
			asked := shown.start(directory, "worker")
			shown.run(directory, "create")
			created, err := people.GetRun(t.Context(), "release-1")
			require.NoError(t, err)
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

			if framework.expires != "" {
				questions = nil
			}
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
			shown.start(directory, "worker")
			require.Contains(t, shown.run(directory, "result"), `"status":"completed"`)
			done, err := people.WaitRun(rig.Soon(t), created.RunID, client.UntilTerminal)
			require.NoError(t, err)
			require.JSONEq(t, framework.output, string(done.Output), done.Error)
			text, err := os.ReadFile(ran)
			require.NoError(t, err)
			require.Equal(t, "deploy "+to+"\n", string(text))
		})
	}
}

// holdBridge holds the bridge of an installed example to its page, if there is a script that does.
func holdBridge(t *testing.T, directory, example, extension, program string) {
	t.Helper()
	text, err := os.ReadFile("bridge_" + example + extension)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "hold"+extension), text, 0o600))
	_, err = run(directory, program, "hold"+extension)
	require.NoError(t, err)
}
