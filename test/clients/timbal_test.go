//go:build unix

package clients

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// shown is one event of the pause-and-resume wire.
type shown struct {
	Type        string  `json:"type"`
	RunID       string  `json:"run_id"`
	ParentRunID *string `json:"parent_run_id"`
	Status      *struct {
		Code   string `json:"code"`
		Reason string `json:"reason"`
	} `json:"status"`
	Payload *struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	} `json:"payload"`
	Output json.RawMessage `json:"output"`
	Item   *struct {
		Type      string `json:"type"`
		TextDelta string `json:"text_delta"`
	} `json:"item"`
}

func types(events []shown) []string {
	list := make([]string, len(events))
	for i := range events {
		list[i] = events[i].Type
	}
	return list
}

// TestPauseAndResume plays the story of the system's own documents with its published
// client, against the service as it is run and a worker that is not of that system.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	directory := needNode(t)
	service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
	workBy(t, service, setUp)

	_, port, err := net.SplitHostPort(service.Address())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	command := exec.CommandContext(ctx, "node", filepath.Join(directory, "timbal.mjs"), port)
	output, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		require.Fail(t, "the client failed", "%s", failed.Stderr)
	}
	require.NoError(t, err)
	var told struct {
		First     []shown   `json:"first"`
		Second    []shown   `json:"second"`
		Paused    shown     `json:"paused"`
		Cancelled shown     `json:"cancelled"`
		Plain     [][]shown `json:"plain"`
	}
	require.NoError(t, json.Unmarshal(output, &told))

	require.Equal(t, []string{"START", "DELTA", "INTERACTION", "APPROVAL", "OUTPUT"}, types(told.First))
	require.Equal(t, "text_delta", told.First[1].Item.Type)
	require.Equal(t, "let me see", told.First[1].Item.TextDelta)
	require.Equal(t, "Which database should I use?", told.First[2].Payload.Question)
	require.Equal(t, []string{"postgres", "mysql", "sqlite"}, told.First[2].Payload.Options)
	require.Equal(t, "input_required", told.First[4].Status.Reason)
	end := told.Second[len(told.Second)-1]
	require.Equal(t, "success", end.Status.Code)
	require.Equal(t, told.First[0].RunID, *end.ParentRunID)
	require.NotEqual(t, told.First[0].RunID, end.RunID)
	require.JSONEq(t, `{"database":["pg"],"to":{"to":"fixed@example.com","subject":"hi"},"sent":true}`, string(end.Output))

	require.Equal(t, "input_required", told.Paused.Status.Reason)
	require.Equal(t, "cancelled", told.Cancelled.Status.Reason)
	require.JSONEq(t, `{"status":"cancelled","reason":"user closed the dialog"}`, string(told.Cancelled.Output))

	require.Equal(t, []string{"START", "INTERACTION", "OUTPUT"}, types(told.Plain[1]))
	end = told.Plain[2][len(told.Plain[2])-1]
	require.Equal(t, told.Plain[1][0].RunID, *end.ParentRunID)
	require.JSONEq(t, `{"database":["lite"],"to":{"to":"a@example.com","subject":"hi"},"sent":false}`, string(end.Output))
}

// workBy works on the runs of the agents "assistant" and "default" until the end of the test.
func workBy(t *testing.T, process *rig.Process, handle client.Handler) {
	t.Helper()
	service := process.Connect()
	worker, err := client.NewWorker(service, client.WorkerOptions{AgentIDs: []string{"assistant", "default"}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, handle) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// setUp asks which database, and whether it may tell somebody.
func setUp(ctx context.Context, task *client.Task) error {
	input := api.JSON(`{"to":"a@example.com","subject":"hi"}`)
	if task.Resume() == nil {
		if err := task.Emit(ctx, map[string]string{"type": "delta", "text": "let me see"}); err != nil {
			return err
		}
	}
	resume, err := task.Suspend(ctx, api.Suspension{
		Questions: []api.UserQuestionRequest{{ID: "database", ToolCallID: "toolu_01", Questions: []api.UserQuestion{{
			ID: "database", Question: "Which database should I use?", Options: []api.QuestionOption{
				{ID: "pg", Label: "postgres"}, {ID: "my", Label: "mysql"}, {ID: "lite", Label: "sqlite"},
			},
		}}}},
		Approvals: []api.ApprovalRequest{{ID: "mail", ToolCallID: "toolu_02", ToolName: "send_email", Input: input}},
	})
	if err != nil {
		return err
	}
	mail := resume.Approvals[0].Resolution
	if mail.UpdatedInput != nil {
		input = mail.UpdatedInput
	}
	return task.Complete(ctx, map[string]any{
		"database": resume.Questions[0].Resolution.Answers[0].SelectedOptionIDs, "to": input,
		"sent": mail.Outcome == api.OutcomeAllowed,
	})
}

// TestTheProgramOfThePage runs the program of docs/timbal.md with its command, next to a worker that asks which database.
func TestTheProgramOfThePage(t *testing.T) {
	t.Parallel()
	directory := needNode(t)
	page, err := os.ReadFile("../../docs/timbal.md")
	require.NoError(t, err)
	program := regexp.MustCompile("`app\\.mjs`:\n\n```js\n((?s:.*?))```").FindSubmatch(page)
	commands := regexp.MustCompile("<!-- test:sdk -->\n```bash\nnpm install @timbal-ai/timbal-sdk\n(.*)\n```").FindSubmatch(page)
	require.NotNil(t, program)
	require.NotNil(t, commands)
	// A folder of its own below the one in which npm has installed the package.
	mine := filepath.Join(directory, "page")
	require.NoError(t, os.Mkdir(mine, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(mine, "app.mjs"), program[1], 0o600))

	service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
	workBy(t, service, func(ctx context.Context, task *client.Task) error {
		resume, err := task.Suspend(ctx, api.Suspension{Questions: []api.UserQuestionRequest{{
			ID: "db", Kind: "ask_user", Payload: api.JSON(`{"question":"Which database?","options":["postgres","mysql"]}`),
		}}})
		if err != nil {
			return err
		}
		return task.Complete(ctx, map[string]any{"database": resume.Questions[0].Resolution})
	})
	_, port, err := net.SplitHostPort(service.Address())
	require.NoError(t, err)
	command := exec.CommandContext(rig.Soon(t), "bash", "-c", strings.ReplaceAll(string(commands[1]), ":4000", ":"+port))
	command.Dir = mine
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Regexp(t, `^success[^~]*postgres`, string(output))
}
